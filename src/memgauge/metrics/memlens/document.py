"""The part `memlens` of the report's document, described key by key. Plain JSON, as `memgauge.metrics.document`.

Proportions are in [0, 1], intervals are 95 % intervals over questions (`memgauge.metrics.memlens.estimates`). An
`ability` or `group` called `all` stands for every question of the setting.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from memgauge.metrics.parts import AgeBin, ConfidencePoint, Estimate

Grouping = Literal["all", "answerable", "ability", "subtype", "visual_need", "kind"]


class Where(TypedDict):
    """A setting: one system under one arm at one length (in tokens)."""

    system: str
    arm: str
    length: int


class Score(Where):
    """Accuracy, coverage and outcomes of one group of questions."""

    grouping: Grouping
    group: str
    n: int
    """Questions asked, whatever became of them."""
    scored: int
    """Answered or abstained."""
    outcomes: dict[str, int]
    accuracy: Estimate
    """Right over scored; declining is right where the conversation does not hold the answer, else wrong."""
    accuracy_worst: float | None
    """All errors counted as wrong."""
    accuracy_best: float | None
    """All errors counted as right."""
    coverage: Estimate
    """Attempted over scored."""
    accuracy_answered: Estimate
    """Right among the attempted: per-answer accuracy."""


class Overall(TypedDict):
    """Accuracy over all questions."""

    system: str
    arm: str
    length: int | None
    """Null: all lengths together; each question is then redrawn with all of its lengths."""
    n: int
    scored: int
    micro: Estimate
    """Every question weighs the same: the paper's overall accuracy."""
    macro: Estimate
    """The mean of the abilities' accuracies."""
    abilities: list[str]
    """Those that the macro mean is over."""


class Abstention(Where):
    """Declining where the answer is missing, against declining where it is not."""

    unanswerable: int
    """Scored questions whose answer the conversation does not hold."""
    answerable: int
    abstention: Estimate
    """Share of the unanswerable that is declined, as graded."""
    over_refusal: Estimate
    """Share of the answerable that is declined in words; empty and unfinished outputs are not among them."""
    no_answer: Estimate
    """Share of all scored questions whose output commits to nothing."""
    discrimination: Estimate
    """`abstention` minus `over_refusal`: 0 for whoever declines without looking, 1 for a perfect judge of evidence."""


class Transition(TypedDict):
    """The same questions at two lengths."""

    system: str
    arm: str
    ability: str
    length_from: int
    length_to: int
    n: int
    """Questions scored at both."""
    unpaired: int
    """Questions asked or scored at one only; they are left out."""
    accuracy_from: float
    accuracy_to: float
    difference: Estimate
    """To minus from."""
    lost: int
    """Right at the first length alone."""
    gained: int
    """Right at the second length alone."""
    p: float
    """Exact two-sided McNemar test."""
    p_mid: float
    p_bonferroni: float
    """Times the size of the family, at most 1."""
    significant: bool


class Family(TypedDict):
    """Tests that are corrected together."""

    alpha: float
    m: int
    threshold: float | None
    """alpha / m: what p must stay below; null without tests."""
    significant: int
    tests: list[Transition]


class Degradation(TypedDict):
    """What longer histories cost."""

    by_ability: Family
    """Every (system, arm, ability, adjacent lengths) that is tested."""
    overall: Family
    """The same over all abilities together: a family of its own."""
    increases: Family
    """Those of `by_ability` in which accuracy rises, corrected by their own number."""


class Churn(TypedDict):
    """How many verdicts change between adjacent lengths."""

    system: str
    arm: str
    length_from: int
    length_to: int
    n: int
    both_right: int
    both_wrong: int
    lost: int
    gained: int
    net: int
    """Gained minus lost."""
    churn: Estimate
    """Share of the questions that change."""


class FlipBack(TypedDict):
    """Of the questions whose verdict changes between two lengths, those that change back at the third."""

    system: str
    arm: str
    lengths: list[int]
    """Three lengths in order; more when all runs of three are taken together."""
    n: int
    """Questions scored at all three."""
    flipped: int
    back: int
    share: Estimate
    lost: int
    lost_back: int
    """Of the lost ones, regained."""
    gained: int
    gained_back: int
    """Of the gained ones, lost again."""


class Overlap(TypedDict):
    """Whether the right answers at two lengths are the same questions."""

    system: str
    arm: str
    ability: str
    length_from: int
    length_to: int
    n: int
    right_from: int
    right_to: int
    both: int
    jaccard: Estimate
    """both / either."""
    expected: float | None
    """Its exact mean when sets of these sizes are drawn from the n questions at random."""
    ratio: float | None
    """jaccard / expected."""
    p: float | None
    """One-sided exact (hypergeometric) test that the sets overlap more than random ones."""
    note: str | None


class Retention(TypedDict):
    """Accuracy at a longer length relative to the shortest one, over the questions scored at both."""

    system: str
    arm: str
    ability: str
    length_from: int
    length_to: int
    n: int
    accuracy_from: float | None
    accuracy_to: float | None
    ratio: Estimate
    size: float | None
    """The model's size, where it was given."""


class Correlation(TypedDict):
    """A rank correlation over systems."""

    arm: str
    length: int
    of: Literal["ability", "subtype", "retention and size"]
    a: str
    b: str
    n: int
    """Systems."""
    rho: float | None
    """Spearman's; null below four systems, or without spread."""
    p: float | None
    """Two-sided: exact over all orders up to eight systems, else by Student's t. Corrected for nothing."""
    note: str | None


class HardAbility(TypedDict):
    """How many of an ability's questions are hard."""

    ability: str
    n: int
    hard: int


class StillHard(TypedDict):
    """The hard questions of one length at another."""

    length: int
    n: int
    """Of them, asked there and scored for some system."""
    still_hard: int
    accuracy: Estimate
    """Over systems and questions."""


class Hard(TypedDict):
    """Questions that fewer than `below` of the systems solve."""

    arm: str
    length: int
    systems: int
    below: float
    n: int
    """Questions scored for at least one system."""
    hard: int
    abilities: list[HardAbility]
    elsewhere: list[StillHard]
    """Every length, this one included: there the same answers chose the questions, so it is too low."""
    questions: list[str]
    """At most 1,000 of them."""
    note: str | None


class AblationTest(TypedDict):
    """The same questions under two arms that differ in one option."""

    system: str
    arm: str
    other_arm: str
    changed: str
    """The option that the other arm adds."""
    length: int
    other_length: int
    """Differs from `length` only where an arm that shows the same at every length was run at another."""
    grouping: Grouping
    group: str
    n: int
    unpaired: int
    accuracy: float
    accuracy_other: float
    difference: Estimate
    """The other arm minus the arm."""
    lost: int
    gained: int
    p: float
    p_bonferroni: float
    significant: bool


class Ablations(TypedDict):
    """Arms against each other; the family is every line."""

    alpha: float
    m: int
    threshold: float | None
    tests: list[AblationTest]


class SubsetScore(TypedDict):
    """One system on the subset, on the rest and on everything."""

    system: str
    subset: float
    rest: float | None
    full: float


class Ranking(TypedDict):
    """Whether a subset of the questions ranks systems as all questions do."""

    arm: str
    length: int
    n: int
    """Systems."""
    subset: int
    """Questions of the subset that were asked."""
    rest: int
    spearman: float | None
    """Subset against all: the subset is part of all, so some agreement is arithmetic."""
    kendall: float | None
    """tau-b."""
    spearman_rest: float | None
    """Subset against the questions outside of it."""
    kendall_rest: float | None
    scores: list[SubsetScore]
    note: str | None


class Outputs(Where):
    """Outputs that went wrong before they could be right or wrong."""

    n: int
    outputs: int
    """Questions whose output is known."""
    capped: Estimate
    """Stopped by the token budget."""
    long: int
    """Answers of more than 500 words, reasoning left out."""
    repeating: int
    """Answers of at least 50 words of which fewer than a fifth are distinct."""
    degenerate: Estimate
    """Share of outputs that are long or repeat themselves."""
    no_answer: Estimate
    """Share of outputs that commit to nothing, and count as wrong."""
    words: float | None
    """Median words of an answer."""


class Mean(TypedDict):
    """A mean over the questions that have the number."""

    mean: float | None
    n: int


class Cost(Where):
    """What a question costs."""

    n: int
    tokens_in: Mean
    tokens_out: Mean
    images_in: Mean
    flops_write: Mean
    flops_read: Mean
    flops_total: Mean
    seconds_write: Mean
    seconds_read: Mean
    flops_per_right: float | None
    """All FLOPs over the number of right answers, of the questions whose FLOPs are known."""


class Ages(Where):
    """Recall of answerable questions by the age of the oldest evidence they need."""

    unit: Literal["sessions", "days"]
    n: int
    without_age: int
    """Scored answerable questions whose evidence has no known age."""
    bins: list[AgeBin]
    half_life: dict[str, Any] | None
    """The fit to the bins' means, as `memgauge.metrics.half_life` gives it."""
    note: str | None


class HalfLife(TypedDict):
    """The half-life over all lengths of a system: each question is seen at several ages."""

    system: str
    arm: str
    unit: Literal["sessions", "days"]
    lengths: list[int]
    rows: int
    questions: int
    half_life: dict[str, Any] | None
    """The fit to the rows (`memgauge.metrics.half_life_rows`)."""
    note: str | None


class Sure(Where):
    """What a system's own confidence is worth."""

    n: int
    """Answered questions with a confidence."""
    missing: int
    abstained: int
    aurc: Estimate
    """Area under the risk-coverage curve."""
    brier: Estimate
    ece: Estimate
    points: list[ConfidencePoint]
    """Accuracy as the threshold falls; risk is 1 minus it."""


class Memlens(TypedDict):
    """Everything about the task `memlens`."""

    systems: list[str]
    arms: list[str]
    lengths: list[int]
    questions: int
    """Distinct questions, whatever the length."""
    overall: list[Overall]
    scores: list[Score]
    abstention: list[Abstention]
    degradation: Degradation
    churn: list[Churn]
    flip_back: list[FlipBack]
    overlap: list[Overlap]
    retention: list[Retention]
    correlations: list[Correlation]
    hard: list[Hard]
    ablations: Ablations
    rankings: list[Ranking]
    outputs: list[Outputs]
    costs: list[Cost]
    ages: list[Ages]
    half_lives: list[HalfLife]
    confidence: list[Sure]
    notes: list[str]
