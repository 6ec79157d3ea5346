"""Statistical gates fail on synthetic folders' worth of data that leak, and hold on data that do not.

The data of a gate are made here directly, so that every gate is shown to fail in a second; `test_leaking_builds` does
the same with whole builds.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from memgauge.histories.building.checking import inference
from memgauge.histories.building.checking.classifiers import balanced, carrier_gate, shape_gates, text_gates
from memgauge.histories.building.checking.gates import Structural, statistical
from memgauge.histories.building.checking.guessing import guess_gates
from memgauge.histories.building.checking.sample import Pictured, Place, Riddle, Sample
from memgauge.histories.building.checking.shares import Shares
from memgauge.histories.building.checking.whole import Detector, Retrieval, bm25, likeness, place_gates
from memgauge.histories.building.ontology import built_in

WORDS = [f"w{i:03d}" for i in range(300)]
QUESTIONS, PER = 100, 8


def make_sample(seed=0, *, positions="uniform", kinds="alike", shape="alike", density="alike") -> Sample:
    """100 questions of 8 sessions with pictures among 16, of which 3 or 4 are evidence."""
    draw = random.Random(seed)
    sample = Sample(seed, {"32k": 3})
    rows = sample.places.setdefault("32k", [])
    for question in range(QUESTIONS):
        number = 3 + question % 2
        spots = sorted(draw.sample(range(16), PER))
        chosen = set(spots[:number] if positions == "early" else draw.sample(spots, number))
        sample.ids.append(f"q_{question}")
        sample.evidence.append(number)
        for spot in spots:
            evidence = spot in chosen
            kind = draw.choice(["receipt", "clock", "chat"])
            if kinds == "told" and evidence:
                kind = draw.choice(["receipt", "ticket", "ticket"])
            form = [draw.gauss(500, 50), float(draw.randrange(10, 15))]
            if shape == "longer" and evidence:
                form[0] += 60
            rows.append(
                Place(len(sample.sessions), spot, 16, draw.random() + (0.3 if density == "crowded" and evidence else 0))
            )
            sample.sessions.append(Pictured(question, f"s_{question}_{spot}", evidence, (kind,), tuple(form)))
    return sample


def session_text(draw, mark=""):
    return " ".join([*draw.choices(WORDS, k=60), mark])


def verdicts(gates):
    return {gate.name: gate.verdict for gate in gates}


@pytest.mark.parametrize("leak", [False, True])
def test_session_classifier(leak):
    draw, sample = random.Random(1), make_sample()
    rows = balanced(sample, "32k")
    marks = ["look at my photo" if leak and not sample.sessions[i].evidence else "" for i in rows]
    gates = text_gates(sample, "32k", rows, [session_text(draw, mark) for mark in marks], enough=True, ablate=True)
    found = verdicts(gates)
    assert found["session_accuracy_32k"] == found["session_auc_32k"] == ("fails" if leak else "holds")
    texts = [session_text(draw, mark) for mark in marks]
    assert verdicts(carrier_gate(sample, "32k", rows, texts, enough=True)) == {
        "carrier_auc_32k": "fails" if leak else "holds"
    }
    sweep = next(g for g in gates if g.name == "vocabulary_ablation_32k").details["accuracy_without"]
    assert list(sweep) == ["0", "20", "50", "100", "200", "500", "1000"]
    if leak:  # a few marks carry all of it: without them nothing is left
        assert sweep["0"] > 0.95
        assert sweep["50"] < 0.65


def test_rows_are_balanced_and_repeatable():
    sample = make_sample()
    rows = balanced(sample, "32k")
    assert sum(sample.sessions[i].evidence for i in rows) * 2 == rows.size == 700
    assert (rows == balanced(sample, "32k")).all()


@pytest.mark.parametrize(
    ("change", "gate"), [({"shape": "longer"}, "shape_auc_32k"), ({"kinds": "told"}, "picture_kinds_auc_32k")]
)
def test_shape_and_kinds(change, gate):
    for leak in (False, True):
        sample = make_sample(3, **(change if leak else {}))
        found = verdicts(shape_gates(sample, "32k", balanced(sample, "32k"), enough=True))
        assert found[gate] == ("fails" if leak else "holds")


@pytest.mark.parametrize(
    ("change", "gate"), [({"positions": "early"}, "positions_32k"), ({"density": "crowded"}, "picture_density_32k")]
)
def test_places(change, gate):
    for leak in (False, True):
        found = verdicts(place_gates(make_sample(5, **(change if leak else {})), enough=True))
        assert found[gate] == ("fails" if leak else "holds")


@pytest.mark.parametrize("leak", [False, True])
def test_detector(leak):
    """Chains of three among single facts are found; among other chains of three they are not."""
    draw, detector = random.Random(2), Detector()
    for question in range(60):
        topics = [f"chain{question}_{i} " * 8 for i in range(4)]
        chains = [topics[0]] * 3 + ([""] * 9 if leak else [t for t in topics[1:] for _ in range(3)])
        texts = [f"{chain} {session_text(draw)}" for chain in chains]
        detector.add(question, texts, [i < 3 for i in range(12)])
    found = verdicts(detector.gates("32k", enough=True))
    assert found == dict.fromkeys(("detector_32k", "detector_multi_32k"), "fails" if leak else "holds")


def test_likeness_is_within_groups():
    """Three equal texts of one history are alike; those of another history do not count."""
    texts = ["aa bb cc", "aa bb cc", "aa bb cc", "dd ee ff", "gg hh ii", "aa bb cc", "jj kk ll", "mm nn oo", "pp qq rr"]
    scores = likeness(texts, np.array([0] * 5 + [1] * 4))
    assert scores[0] == pytest.approx(scores[2])
    assert scores[3] == pytest.approx(scores[4])
    assert scores[0] > scores[3]
    assert scores[:5].mean() == pytest.approx(0)
    assert scores[5:] == pytest.approx(np.zeros(4))


def test_likeness_is_that_of_plain_tf_idf():
    """The obvious version: whole vocabulary, dense matrices."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    draw = random.Random(9)
    texts = [" ".join(draw.choices(WORDS[:60], k=15)) for _ in range(24)]
    groups = np.repeat([0, 1], 12)
    dense = TfidfVectorizer(ngram_range=(1, 3), sublinear_tf=True).fit_transform(texts).toarray()
    for group in (0, 1):
        rows = dense[groups == group]
        two = [sum(sorted(rows[i] @ rows[j] for j in range(12) if j != i)[-2:]) for i in range(12)]
        plain = (np.array(two) - np.mean(two)) / np.std(two)
        assert np.corrcoef(likeness(texts, groups)[groups == group], plain)[0, 1] > 0.99  # an n-gram or two may collide


@pytest.mark.parametrize(("shared", "verdict"), [(20, "warns"), (2, "holds"), (0, "warns")])
def test_retrieval(shared, verdict):
    """The question's words stand in the evidence `shared` times; with none, recall at 5 of 80 sessions is 1/16."""
    draw, retrieval = random.Random(4), Retrieval()
    for question in range(120):
        said = shared and (shared > 2 or question % 2)
        texts = [session_text(draw, "fair with ann" if said and i == 40 else "") for i in range(80)]
        retrieval.add(question, "the fair with ann", texts, [i == 40 for i in range(80)])
    assert verdicts(retrieval.gates("128k", enough=True)) == {"bm25_recall_128k": verdict}
    assert verdicts(retrieval.gates("64k", enough=True)) == {"bm25_recall_64k": "shown"}


def test_bm25_is_that_of_bm25s():
    """An independent implementation: bm25s with Lucene's idf, which leaves out the constant factor k1 + 1."""
    import bm25s

    draw = random.Random(7)
    texts = [" ".join(draw.choices(WORDS[:40], k=draw.randrange(5, 60))) for _ in range(30)]
    query = " ".join(draw.sample(WORDS[:40], 6))
    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    retriever.index([text.split() for text in texts], show_progress=False)
    other = retriever.get_scores(query.split())
    assert np.allclose(np.array(bm25(query, texts)) / 2.2, other, rtol=1e-4)


def riddle(number, answer, *, text="", builder="msr_counting", space=("1", "2", "3", "4"), facts=()):
    floor = float(Fraction(1, len(space))) if space else 0.0
    return Riddle(
        number,
        builder,
        f"How many? {text}",
        facts or ("I saw it.",),
        ("2023/05/01",),
        ("",),
        ("",),
        (),
        space,
        answer,
        floor,
    )


def riddles(seed=0, leak=""):
    draw, found = random.Random(seed), []
    for number in range(120):
        answer = str(number % 4 + 1)
        if leak == "constant":
            answer = "1" if number % 2 else answer
        said = ""
        if leak == "wording":
            said = "please tell" if answer in "12" else "kindly say"
        facts = (f"There were {answer} of them.",) if leak == "said" and number % 2 else ()
        found.append(riddle(number, answer, text=f"{said} {' '.join(draw.choices(WORDS, k=12))}", facts=facts))
    draw.shuffle(found)
    return found


@pytest.mark.parametrize(
    ("leak", "gates"),
    [
        ("", ()),
        ("constant", ("text_only_heuristics", "answer_histogram")),
        ("said", ("text_only_heuristics",)),
        ("wording", ("text_only_learned",)),
    ],
)
def test_guessers(leak, gates):
    found = {gate.name: gate for gate in guess_gates(riddles(leak=leak), enough=True)}
    assert {name for name, gate in found.items() if gate.verdict == "fails"} >= set(gates)
    if not leak:
        assert set(verdicts(found.values()).values()) == {"holds"}
    for name in gates:
        assert found[name].problems


def test_an_amount_that_the_text_says_is_found():
    found = []
    for number in range(40):
        facts = (f"It was ${number}.50 for one and $2.25 for the other.",)
        answer = f"${number + 2}.75" if number % 3 == 0 else f"${number * 7}.01"
        found.append(riddle(number, answer, builder="msr_arithmetic", space=(), facts=facts))
    gate = next(g for g in guess_gates(found, enough=True) if g.name == "text_only_heuristics")
    assert gate.verdict == "fails"
    assert "sum of the amounts said" in gate.problems[0]


@pytest.mark.parametrize("leak", [False, True])
def test_shares_of_the_ontology(leak):
    draw, shares, ontology = random.Random(3), Shares(own_ontology=False), built_in()
    for _ in range(400):
        leaf = ontology.sample(draw)
        while leak and leaf.track == "document":
            leaf = ontology.sample(draw)
        shares.add([f"I think about {leaf.topic.say}.", f"With {leaf.topic.alt} and {leaf.subtopic} it helps to wait."])
    assert verdicts(shares.gates(enough=True))["ontology_shares"] == ("fails" if leak else "holds")
    assert shares.untold == 0


def test_topics_of_ones_own_are_not_checked():
    shares = Shares(own_ontology=True)
    shares.add(["some text here"])
    assert verdicts(shares.gates(enough=True))["ontology_shares"] == "not checked"


def test_the_rule_of_the_bounds():
    common = {"what": "w", "n": 10, "unit": "u", "advice": "a", "threshold": 0.6}
    assert statistical("g", measured=0.65, bound=0.59, enough=True, **common).verdict == "holds"
    assert statistical("g", measured=0.65, bound=0.61, enough=True, **common).verdict == "fails"
    assert statistical("g", measured=0.65, bound=0.61, enough=False, **common).verdict == "too few"
    assert statistical("g", measured=0.65, bound=0.61, enough=True, warn=True, **common).verdict == "warns"
    assert statistical("g", measured=0.65, bound=math.nan, enough=True, **common).verdict == "not checked"
    assert statistical("g", measured=0.1, bound=0.5, enough=True, below=True, **common).verdict == "fails"
    assert Structural("g", "w", "u", "a").gate().verdict == "not checked"


def test_figures_are_json():
    gate = statistical(
        "g", "w", measured=math.nan, bound=math.inf, threshold=0.5, n=1, unit="u", enough=True, advice="a",
        details={"x": [math.nan, {"y": 0.5}]},
    )  # fmt: skip
    found = gate.to_dict()
    assert (found["measured"], found["bound"], found["details"]) == (None, None, {"x": [None, {"y": 0.5}]})


def test_area_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    draw = np.random.default_rng(0)
    labels = draw.random(300) < 0.3
    scores = np.round(draw.normal(size=300) + labels, 1)  # with ties
    found = inference.auc(scores, labels, np.arange(300))
    assert found.value == pytest.approx(roc_auc_score(labels, scores))


def test_the_error_of_an_area_grows_with_clusters():
    """Rows copied four times within their group carry no more information: the error must not shrink."""
    draw = np.random.default_rng(1)
    labels, scores = draw.random(200) < 0.5, draw.normal(size=200)
    once = inference.auc(scores, labels, np.arange(200))
    four = inference.auc(np.repeat(scores, 4), np.repeat(labels, 4), np.repeat(np.arange(200), 4))
    assert four.error == pytest.approx(once.error, rel=0.25)


def test_the_lower_bound_covers():
    """Of 200 simulated areas of 0.5 the bound lies above 0.5 in about 1 %: at most 9 (p < 0.0001 for more)."""
    above = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        groups = np.repeat(np.arange(60), 6)
        scores = draw.normal(size=360) + 0.5 * draw.normal(size=60)[groups]
        labels = draw.random(360) < 0.4
        above += inference.auc(scores, labels, groups, seed).lower > 0.5
    assert above <= 9


def test_tails_against_scipy():
    from scipy.stats import binom

    assert inference.tail(7, [0.3] * 20) == pytest.approx(binom.sf(6, 20, 0.3))
    assert inference.tail(0, [0.3]) == 1.0
    assert inference.tail(2, [0.5, 0.25]) == pytest.approx(0.125)


def test_chi_square_against_scipy():
    from scipy.stats import chisquare

    counts, expected = np.array([12.0, 8, 20, 10]), np.array([12.5] * 4)
    assert inference.uniform_p(counts, expected) == pytest.approx(chisquare(counts, expected).pvalue)
    assert math.isnan(inference.uniform_p(np.array([3.0]), np.array([3.0])))
