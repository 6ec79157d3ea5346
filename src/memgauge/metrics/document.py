"""The document that `summarise` returns and `memgauge report --json` prints, described key by key.

Plain JSON: no NaN, no infinity; null where a number is undefined, and then a `note` says why. Every list is there even
when it is empty. FLOPs are integers where they are those of one response, and means (floats) where they are averages.
Proportions are in [0, 1]; intervals are 95 % intervals (docs/metrics.md says how they are made).
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from memgauge.metrics.memlens.document import Memlens
from memgauge.metrics.parts import AgeBin as AgeBin
from memgauge.metrics.parts import ConfidencePoint as ConfidencePoint
from memgauge.metrics.parts import Estimate as Estimate

SCHEMA = 1


class Key(TypedDict):
    """What a cell is: all its rows agree in these."""

    system: str
    task: str
    split: str
    subtype: str | None
    length: int
    arm: str
    negatives: str | None


class Cell(Key):
    """The numbers of one system on one cell of questions."""

    n: int
    """Questions asked, whatever became of them."""
    scored: int
    """Answered or abstained: what accuracy and coverage are taken over."""
    episodes: int
    variants: list[str]
    """Pooled with equal weight; empty where the task has none."""
    outcomes: dict[str, int]
    """Count of each outcome of `memgauge.responses.OUTCOMES`."""
    abstain_kinds: dict[str, int]
    refused_kinds: dict[str, int]
    accuracy: Estimate
    """Correct over scored; an abstention is not correct."""
    accuracy_worst: float | None
    """All errors counted as wrong."""
    accuracy_best: float | None
    """All errors counted as right."""
    balanced_accuracy: Estimate
    accuracy_yes: Estimate
    """Over questions whose answer is yes."""
    accuracy_no: Estimate
    coverage: Estimate
    """R: answered over scored."""
    accuracy_answered: Estimate
    """C/R."""
    score: Estimate
    """Mean score, where scores other than 0 and 1 occur; null otherwise."""
    flops_write: float | None
    """Mean per question, each question charged its episode's whole write (one query per stream)."""
    flops_read: float | None
    flops_total: float | None
    flops_write_shared: float | None
    """The write counted once per episode and divided by its questions; null unless one write serves all of them."""
    flops_total_shared: float | None
    tokens_in: float | None
    tokens_out: float | None
    images_in: float | None
    t_ans: float | None
    seconds_write: float | None
    """Mean over rows, as recorded."""
    seconds_read: float | None
    state_bits: float | None
    state_bytes: float | None
    brier: Estimate
    ece: Estimate
    aurc: Estimate
    notes: list[str]


class CurvePoint(TypedDict):
    """A step of accuracy against FLOPs: the value holds from `flops` up to the next point."""

    flops: int
    value: float
    low: float | None
    high: float | None


class Curve(Key):
    """Accuracy against FLOPs of one cell, at most 100 points, the last at the dearest response."""

    scored: int
    unpriced: int
    """Scored questions without FLOPs: counted in the denominator, never bought."""
    points: list[CurvePoint]
    note: str | None


class Budget(TypedDict):
    """Accuracy when no response may cost more than `flops`; null: no limit."""

    flops: int | None
    value: float | None
    low: float | None
    high: float | None


class Capacity(Key):
    """Accuracy on incompressible input (split `max` or `high`) at FLOPs budgets, the last without limit."""

    budgets: list[Budget]
    note: str | None


class Efficiency(Key):
    """The smallest FLOPs at which the curve of a cell reaches the target accuracy."""

    target: float
    flops: int | None
    """Null when never, or when FLOPs are unknown (`note`)."""
    low: int | None
    """Where the upper edge of the curve's band reaches the target."""
    high: int | None
    """Where its lower edge does; null: it may never be reached."""
    never: bool
    note: str | None


class FlopsSaved(TypedDict):
    """FLOPs saved on regular input when reaching the same accuracy (extension)."""

    target: float | None
    """The highest accuracy that both curves reach."""
    flops: int | None
    flops_against: int | None
    saved: int | None
    """`flops_against - flops`; negative when regular input is dearer."""
    ratio: float | None
    """`flops_against / flops`."""
    note: str | None


class Window(TypedDict):
    """The plain window whose accuracy on incompressible input equals the system's (extension)."""

    symbols: float | None
    """Its size W, interpolated between sizes."""
    comp: float | None
    """What that window alone gains on the same regular questions."""
    excess: Estimate
    """The system's compression minus the window's."""
    note: str | None


class Compression(Key):
    """Comp(L, F): accuracy on regular input (`split`) minus accuracy on incompressible input (`against`)."""

    against: str
    comp: Estimate
    """At the largest budget."""
    comp_balanced: Estimate
    """The same of balanced accuracies."""
    curve: list[CurvePoint]
    flops_saved: FlopsSaved
    window: Window
    note: str | None


class RightWrong(TypedDict):
    """Arm A's right and wrong answers in a group of questions."""

    right: int
    wrong: int


class Payoffs(TypedDict):
    """Mean points a question, by (arm whose responses are scored, arm whose payoff scores them)."""

    responses: str
    scoring: str
    points: Estimate


class Calibration(TypedDict):
    """One line of the paper's Table 10: the same questions under two payoff arms."""

    system: str
    task: str
    subtype: str | None
    negatives: str | None
    pooled: Literal["none", "splits", "all"]
    """What is pooled: nothing; the splits of one length; all splits and lengths (as the paper's synthetic rows)."""
    splits: list[str]
    lengths: list[int]
    arm_a: str
    """The arm with the lower break-even confidence."""
    arm_b: str
    n: int
    """Questions scored under both arms."""
    episodes: int
    unpaired: int
    """Questions scored under one arm only; they are left out."""
    coverage_a: Estimate
    coverage_b: Estimate
    abstained_a: dict[str, int]
    """The declined questions by kind: `explicit`, `format`, `overflow` (ECCBench, B.8)."""
    abstained_b: dict[str, int]
    accuracy_answered_a: Estimate
    accuracy_answered_b: Estimate
    responsiveness: Estimate
    """R_A - R_B."""
    kept: RightWrong
    """Answered under A and answered under B."""
    declined: RightWrong
    """Answered under A, declined under B."""
    taken_up: int
    """Declined under A, answered under B."""
    gap: Estimate
    """Arm A's accuracy on the kept minus on the declined; null below five declined."""
    fisher_p: float | None
    """One-sided Fisher exact test of the gap, questions taken as independent."""
    stream_p: float | None
    """Share of redraws of whole streams whose gap is zero or less."""
    payoffs: list[Payoffs]
    payoff_gain: Estimate
    """Under arm B's payoff: responses of arm B minus responses of arm A."""
    note: str | None


class VariantCheck(TypedDict):
    """One variant of the questions in a perception check."""

    variant: str
    short: float | None
    accuracy: float | None


class Perception(Key):
    """A cell of a model that is shown its stream in a prompt, beside the same at L = 8 (ECCBench, B.5).

    At eight symbols or frames hardly any memory is needed: what is lost from there to `length` is memory, what is
    missing there already is perception, or the format of the answer.
    """

    short_length: int
    accuracy: Estimate
    short: Estimate
    """Accuracy at L = 8; null where it was not run."""
    short_n: int
    short_arm: str | None
    """The arm of the check: the cell's own, else none; null where it was not run."""
    drop: Estimate
    """`short` minus `accuracy`."""
    variants: list[VariantCheck]
    """Where the task asks its questions in several variants."""
    note: str | None


class Markers(TypedDict):
    """Whether a model seems to write its yes and no markers swapped, from its answers at L = 8, splits pooled."""

    system: str
    task: str
    subtype: str | None
    negatives: str | None
    arm: str
    length: int
    n: int
    """Answered questions."""
    episodes: int
    accuracy_answered: float | None
    balanced_answered: Estimate
    """Mean of the accuracies of answers to yes and to no questions: 50 % for whoever answers without looking."""
    p: float | None
    """One-sided Fisher test that `yes` is said more often where `no` is right; questions taken as independent."""
    swapped: bool
    """Below chance by that test and by the interval over streams. Nothing is corrected for it."""
    note: str | None


class RetrievalRow(Key):
    """One cell of a retrieval system: the columns of ECCBench, Table 9.

    FLOPs are means over its questions, None where nothing has a price. Cells are those of the report: subtypes stand
    apart, variants of the questions have equal weight.
    """

    direct: str | None
    """The system that reads the whole stream for each question, whose costs are taken over the same questions."""
    n: int
    """Scored questions."""
    episodes: int
    errors: int
    """Questions that cannot be scored."""
    accuracy: Estimate
    accuracy_yes: Estimate
    accuracy_no: Estimate
    accuracy_direct: Estimate
    hit_rate: Estimate
    """Over yes-questions for which the system told what it retrieved."""
    flops_answer: float | None
    """Reading what was retrieved, and answering."""
    flops_index: float | None
    """Embedding a stream, once."""
    flops_one_query: float | None
    """The whole index charged to one question."""
    flops_direct: float | None
    """The other system's answer to the same questions, its write included."""
    saving: float | None
    """flops_direct / flops_answer."""
    break_even: float | None
    """Questions a stream must serve before index and answers cost less than reading it for each; None: never."""


class Threshold(TypedDict):
    """Answering only above tau = lambda / (1 + lambda), the confidence at which a wrong answer costs lambda."""

    wrong_cost: float
    """lambda: what a wrong answer costs when a right one earns 1."""
    tau: float
    coverage: Estimate
    accuracy: Estimate
    points: Estimate
    """Mean payoff a question, in units of a right answer."""


class ReliabilityBin(TypedDict):
    """Answers whose confidence lies in (low, high], the first bin with its lower end."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


class ConfidenceBudget(TypedDict):
    """The coverage-accuracy curve when dearer responses are declined; `flops` null: no limit."""

    flops: int | None
    points: list[ConfidencePoint]


class Confidence(Key):
    """What a system's own confidence is worth."""

    n: int
    """Answered questions with a confidence."""
    missing: int
    """Answered questions without one; they are left out."""
    abstained: int
    """Never answered at any threshold; they lower coverage."""
    curves: list[ConfidenceBudget]
    """Without limit first, then one for each budget that was asked for."""
    thresholds: list[Threshold]
    aurc: Estimate
    brier: Estimate
    ece: Estimate
    bins: list[ReliabilityBin]
    note: str | None


class Forgetting(Key):
    """Recall by age of the evidence."""

    unit: str | None
    binning: str
    """`quantile` or `log`."""
    positives: int
    bins: list[AgeBin]
    recall: Estimate
    """Over all ages."""
    false_alarm: Estimate
    """Share of negatives answered yes: recall alone may be a bias towards yes."""
    half_life_over: str | None
    """What was fitted: `bins` (recall of age bins) or `rows` (scores that are more than right and wrong)."""
    half_life: dict[str, Any] | None
    """The fit of `memgauge.metrics.half_life`, as its `to_dict` gives it."""
    note: str | None


class McNemar(TypedDict):
    """Questions that only one of two systems got right, and the exact test of their balance."""

    a_only: int
    b_only: int
    p: float
    p_mid: float


class Comparison(TypedDict):
    """Two systems on the same questions; a part of the key is null where several cells are taken together."""

    system_a: str
    system_b: str
    task: str | None
    split: str | None
    subtype: str | None
    length: int | None
    arm: str | None
    negatives: str | None
    n: int
    """Questions scored for both."""
    episodes: int
    unpaired: int
    """Questions asked of one system only, or scored for one only; they are left out."""
    accuracy_a: float | None
    accuracy_b: float | None
    difference: Estimate
    """Accuracy of A minus accuracy of B."""
    mcnemar: McNemar
    p_holm: float
    """McNemar's p, corrected by Holm over the `m` comparisons of the `family`."""
    p_stream: float | None
    """Sign-flip test over whole streams (extension): holds when questions of a stream succeed and fail together."""
    p_stream_holm: float | None
    m: int
    """The size of the family: with `against the best` all k (k - 1) / 2 pairs, since the data chose the best."""
    family: Literal["cell", "printed"]
    """What the correction is over: the pairs within this cell (report), or all that `memgauge compare` prints (there
    the lines over several cells are a family of their own). The two give one pair different corrected values."""
    pairs: Literal["all pairs", "against the best", "given pair"]
    """Which pairs of the cell are compared."""
    note: str | None


class Summary(TypedDict):
    """Everything."""

    schema: int
    redraws: int
    seed: int
    level: float
    target: float
    episodes: int
    """Distinct streams, whoever was asked about them, with whatever negatives and under whatever arm."""
    cells: list[Cell]
    curves: list[Curve]
    capacity: list[Capacity]
    efficiency: list[Efficiency]
    compression: list[Compression]
    calibration: list[Calibration]
    perception: list[Perception]
    markers: list[Markers]
    retrieval: list[RetrievalRow]
    confidence: list[Confidence]
    forgetting: list[Forgetting]
    comparisons: list[Comparison]
    memlens: Memlens | None
    """The numbers of the task `memlens`; null where nothing of it was asked."""
    notes: list[str]
