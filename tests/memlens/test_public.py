"""`memgauge memlens compare-public`: reading, regrading, differences and their reasons, hostile files, the run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.histories.reading import Faults
from memgauge.importers.public import PublicResults, PublicVerdicts, read_public
from memgauge.public_comparison import compare
from memgauge.public_differences import REASONS
from memgauge.responses import load_responses

COUNT = ("multi_session_reasoning", "counting", "How many lamps do I have?", "3", "MSR_Counting")
REFUSE = ("answer_refusal", "", "What is my cat called?", "NOT_MENTIONED", "AR_AnswerRefusal")
FREE = ("information_extraction", "entity", "Which dog do I have?", "beagle", "IE_Entity")
ANSWERS = {
    # name: (kind of question, output, their score, flags, reason; None: the verdicts agree)
    "q_same": (COUNT, "3", 1, {}, None),
    "q_alike": (COUNT, "4", 0, {}, None),
    "q_lenient": (COUNT, "There are 4.", 1, {}, "credited_other"),
    "q_range": (COUNT, "3 or 4", 1, {}, "credited_two"),
    "q_open": (COUNT, "<think>3", 1, {}, "credited_nothing"),
    "q_declined": (COUNT, "Insufficient information", 1, {}, "credited_refusal"),
    "q_strict": (COUNT, "three lamps", 0, {}, "rejected_right"),
    "q_zeroed": (COUNT, "3", 0, {"auto_zero": True, "parsed_words": 612}, "auto_zero"),
    "q_tail": (
        COUNT, "The answer is 3. " + "lamp" * 2000, 0, {"was_truncated": True}, "cut_off",
    ),
    "q_task": ((*COUNT[:4], "IE_Entity"), "three lamps", 0, {}, "other_task"),
    "q_guess": (REFUSE, "Perhaps Minka.", 1, {}, "credited_guess"),
    "q_refused": (REFUSE, "That was never mentioned.", 0, {}, "missed_refusal"),
    "q_words": (FREE, "A small hound.", 1, {}, "wording"),
    "q_free": (FREE, "beagle", 1, {}, None),
    "q_null": (COUNT, None, 0, {}, None),
    "q_unjudged": (COUNT, "3", None, {}, None),
}  # fmt: skip


def record(name, kind=COUNT, said="3", **more):
    return {
        "question_id": name, "question": kind[2], "question_type": kind[0], "question_subtype": kind[1],
        "reference_answer": kind[3], "raw_prediction": said, "prediction": said, "parsed_output": said,
        "input_len": 30000, "output_len": 12, **more,
    }  # fmt: skip


def verdict(name, score=1, task="MSR_Counting", **more):
    flags = {"auto_zero": False, "was_truncated": False, "is_degenerate": False, "parsed_words": 3}
    return {"question_id": name, "task_key": task, "judge_score": score, **flags, **more}


def write(path, document):
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def files(tmp_path):
    data = [record(name, kind, said) for name, (kind, said, *_) in ANSWERS.items()]
    judge = [verdict(name, score, kind[4], **flags) for name, (kind, _, score, flags, _) in ANSWERS.items()]
    args = {"model_name_or_path": "/data/models/Qwen3-VL-8B", "api_key": "sk-secret", "temperature": 0.0}
    results = write(tmp_path / "qwen_32k.json", {"args": args, "data": data})
    return results, write(tmp_path / "qwen_32k_judge.json", judge)


def test_every_difference_has_its_reason(files):
    found = compare(files)
    reasons = {d.question_id: d.reason for d in found.differences}
    assert reasons == {name: reason for name, (*_, reason) in ANSWERS.items() if reason is not None}
    assert set(reasons.values()) == set(REASONS)
    by_id = {d.question_id: d for d in found.differences}
    tail = by_id["q_tail"]
    assert (tail.committed, tail.theirs, tail.ours) == ("3", 0, 1)
    assert ANSWERS["q_tail"][1][slice(*tail.span)] == "3"
    assert (by_id["q_words"].decided, by_id["q_lenient"].decided) == (False, True)
    document = found.document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    decided = document["decided"]
    assert decided["overall"]["n"] == decided["overall"]["both_right"] + decided["overall"]["both_wrong"] + 10
    assert set(decided["by_ability"]) == {"MSR", "AR", "IE"}
    assert document["first_reading"]["overall"]["n"] == 1
    assert document["without_verdict"] == {"theirs": 1, "ours": 1, "no_record": 0}
    assert sum(one["n"] for one in document["reasons"]) == len(found.differences)


def test_the_run_can_be_reported_and_judged(files, tmp_path, capsys):
    out = tmp_path / "run"
    assert run(["memlens", "compare-public", *map(str, files), "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["files"][0]["system"] == "Qwen3-VL-8B"
    assert (document["files"][0]["length"], document["files"][0]["length_from"]) == (32768, "the file's name")
    assert "sk-secret" not in json.dumps(document) + (out / "run.json").read_text()
    assert "/data" not in document["files"][0]["system"]
    rows = {row["episode"]: row for row in load_responses(out).to_dicts()}
    assert len(rows) == len(ANSWERS)
    assert (rows["q_null"]["outcome"], rows["q_null"]["correct"]) == ("model_error", None)
    words = rows["q_words"]  # rules cannot decide: the public judge has
    assert (words["outcome"], words["correct"], words["judge"]) == (
        "answered", True, "public evaluator (qwen_32k_judge.json)",
    )  # fmt: skip
    assert json.loads((out / "run.json").read_text())["judges"] == ["public evaluator (qwen_32k_judge.json)"]
    assert rows["q_lenient"]["correct"] is False  # rules decide, whatever the judge said
    assert rows["q_lenient"]["judge"] is None
    assert run(["report", str(out), "--json", "--redraws", "200"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] is not None
    assert run(["memlens", "errors", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labelled"]["wrong"] > 0
    assert run(["memlens", "compare-public", str(files[0]), "--out", str(out)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_official_grading_reproduces_their_verdicts(files):
    found = compare(files, mode="official")
    rows = {row["episode"]: row for row in found.rows.to_dicts()}
    for name, (_, said, score, flags, _) in ANSWERS.items():
        waits = score is None or said is None or name == "q_open"
        if not waits and not flags:
            assert rows[name]["correct"] is bool(score), name
    assert {d.question_id for d in found.differences} == {d.question_id for d in compare(files).differences}


def test_without_a_judge_answers_wait_or_are_decided(files, capsys):
    assert run(["memlens", "compare-public", str(files[0])]) == 0
    assert "Qwen3-VL-8B" in capsys.readouterr().out
    found = compare(files[:1])
    assert {row["episode"] for row in found.rows.to_dicts() if row["outcome"] == "pending"} == {"q_words"}
    assert found.differences == []
    assert found.document()["without_verdict"] == {"theirs": 0, "ours": 0, "no_record": 0}
    with pytest.raises(InputError, match="no result file"):
        compare(files[1:])


def test_files_are_paired(tmp_path):
    def results(name, model="m"):
        return write(
            tmp_path / f"{name}.json", {"args": {"model": model}, "data": [record("q1"), record("q2", said="4")]}
        )

    a, b = results("a_32k"), results("b_32k", "n")
    ja = write(tmp_path / "a_32k_judged.json", [verdict("q1"), verdict("q2")])
    jb = write(tmp_path / "b_32k_judged.json", [verdict("q1", 0), verdict("q2", 0)])
    found = compare([jb, a, ja, b])
    assert [(f["system"], f["judge"]) for f in found.files] == [("m", "a_32k_judged.json"), ("n", "b_32k_judged.json")]
    assert {(d.system, d.question_id) for d in found.differences} == {("m", "q2"), ("n", "q1")}
    # Two files of one system at one length are told apart by their names.
    again = results("c_32k")
    assert {f["system"] for f in compare([a, again]).files} == {"m (a_32k)", "m (c_32k)"}
    other = write(tmp_path / "other.json", [verdict("q9")])
    with pytest.raises(InputError, match="judges no question of"):
        compare([a, other])
    lost = write(tmp_path / "lost.json", [verdict("q1")])
    with pytest.raises(InputError, match="by its name"):
        compare([lost, a, b])
    with pytest.raises(InputError, match=r"has the verdicts of a_32k_judged\.json already"):
        compare([a, ja, lost])


def test_the_data_check_names_what_is_not_its_own(files, tmp_path):
    data = tmp_path / "H"
    data.mkdir()
    session = [{"role": "user", "content": "I have a lamp."}]
    lines = [
        {
            "question_id": name, "question_type": kind[0], "question": kind[2],
            "answer": "5" if name == "q_alike" else kind[3], "question_date": "2024/05/31 (Fri) 07:58",
            "haystack_dates": ["2024/05/01 (Wed) 10:00"], "haystack_session_ids": ["s"], "haystack_sessions": [session],
            "answer_session_ids": [],
        }
        for name, (kind, *_) in ANSWERS.items()
        if name != "q_same"
    ]  # fmt: skip
    (data / "dataset_32k.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = compare(files, data=data)
    assert {row["episode"] for row in found.rows.to_dicts()} == set(ANSWERS) - {"q_same", "q_alike"}
    (note,) = found.notes
    assert note.startswith("2 records left out (not in data)")
    assert "q_same" in note
    assert "its reference_answer is '3', the dataset has '5'" in note
    with pytest.raises(InputError, match="q_same"):
        compare(files, data=data, strict=True)
    stranger = write(tmp_path / "x_32k.json", {"data": [record("z1")]})
    with pytest.raises(InputError, match="another dataset"):
        compare([stranger], data=data)


BAD_RECORDS = [
    (7, "int, not an object"),
    ({}, "question_id is missing"),
    (record(""), "question_id is missing"),
    (record("q\x00"), "is no name"),
    (record(["q"]), "is no name"),
    (record("q1"), "occurs before"),
    (record("q2", question=None), "question is missing"),
    (record("q2", question={}), "question is {}"),
    (record("q2", question_type="poetry"), "unknown question type"),
    (record("q2", reference_answer=None), "reference_answer is missing"),
    (record("q2", reference_answer=True), "reference_answer is True"),
    (record("q2", raw_prediction=["3"]), "raw_prediction is list"),
    (record("q2", question_subtype=4), "question_subtype is 4"),
    (record("q2", input_len=-1), "input_len is -1"),
    (record("q2", input_len=float("nan")), "input_len is nan"),
    (record("q2", output_len=1e300), "output_len is 1e"),
]


@pytest.mark.parametrize(("bad", "says"), BAD_RECORDS)
def test_a_bad_record_is_named_and_the_rest_goes_on(tmp_path, bad, says):
    file = write(tmp_path / "r_32k.json", {"args": {}, "data": [record("q1"), bad, record("q3")]})
    found = compare([file])
    assert {row["episode"] for row in found.rows.to_dicts()} == {"q1", "q3"}
    (note,) = found.notes
    assert says in note
    assert "record 2" in note
    with pytest.raises(InputError, match="record 2"):
        compare([file], strict=True)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (verdict("q2", 2), "judge_score is 2"),
        (verdict("q2", 0.5), "judge_score is 0.5"),
        (verdict("q2", float("nan")), "judge_score is nan"),
        (verdict("q2", "maybe"), "judge_score is 'maybe'"),
        (verdict("q2", [1]), "judge_score is"),
        (verdict("q2", auto_zero="yes"), "auto_zero is 'yes'"),
        (verdict("q2", parsed_words="many"), "parsed_words is 'many'"),
        (verdict("q2", task_key=3), "task_key is 3"),
        ({"question_id": "q2"}, "judge_score is missing"),
        (verdict("q1"), "occurs before"),
        (None, "not an object"),
    ],
)
def test_a_bad_verdict_is_named_and_never_becomes_zero(tmp_path, bad, says):
    results = write(tmp_path / "r_32k.json", {"args": {}, "data": [record("q1"), record("q2")]})
    judge = write(tmp_path / "r_32k_judge.json", [verdict("q1"), bad])
    found = compare([results, judge])
    assert any(says in note for note in found.notes)
    assert found.document()["decided"]["overall"]["n"] == 1
    assert found.document()["without_verdict"]["no_record"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("7", "neither a result file"),
        ("[]", "no judge_score"),
        ('[{"question_id": "q"}]', "no judge_score"),
        ("{}", "without a list 'data'"),
        ('{"data": {}}', "without a list 'data'"),
        ('{"data": []}', "no record can be used"),
        ('{"data": [1, 2]}', "no record can be used"),
        ('[{"judge_score": 1}]', "no record can be used"),
    ],
)
def test_a_file_of_another_kind_is_said_to_be_one(tmp_path, text, says, capsys):
    file = tmp_path / "f_32k.json"
    file.write_text(text)
    assert run(["memlens", "compare-public", str(file)]) == 2
    assert says in capsys.readouterr().err
    assert run(["memlens", "compare-public", str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_odd_texts_survive(tmp_path, capsys):
    odd = "\u202e3\ud800 \x1b[31m</script>"
    file = write(tmp_path / "r_32k.json", {"args": {"model": "\x1b[31mred"}, "data": [record("q1", said=odd)]})
    judge = write(tmp_path / "r_32k_judge.json", [verdict("q1", 0)])
    assert run(["memlens", "compare-public", str(file), str(judge), "--out", str(tmp_path / "run")]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert load_responses(tmp_path / "run")["system"].to_list() == ["r_32k"]


@pytest.mark.parametrize(
    ("name", "args", "size", "told"),
    [
        ("a_64k", {}, 65536, "the file's name"),
        ("a", {"test_files": "data/dataset_128k.json"}, 131072, "args.test_files"),
        ("a", {"input_max_length": 131072}, 131072, "args.input_max_length"),
        ("a", {"input_max_length": True, "length": "x"}, 32768, "the median of input_len, up to a power of two"),
        ("a_32k_64k", {}, 32768, "the median of input_len, up to a power of two"),
    ],
)
def test_lengths(tmp_path, name, args, size, told):
    file = write(tmp_path / f"{name}.json", {"args": args, "data": [record("q1")]})
    found = read_public(file, Faults(strict=True))
    assert isinstance(found, PublicResults)
    assert (found.length, found.length_from) == (size, told)
    assert read_public(file, Faults(), "256k").length == 262144
    bare = write(tmp_path / "bare.json", {"data": [record("q1", input_len=None)]})
    with pytest.raises(InputError, match="give --length"):
        read_public(bare, Faults())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*record("q"), *verdict("q"), "args"]), JSON, st.booleans())
def test_no_value_of_any_field_breaks_the_reader(tmp_path_factory, name, value, judge):
    """Whatever stands in a field: the record is used, or named; never another exception."""
    path = tmp_path_factory.mktemp("any") / "f_32k.json"
    if judge:
        document = [verdict("q0"), verdict("q1") | {name: value}]
    else:
        document = {"args": value if name == "args" else {}, "data": [record("q0"), record("q1") | {name: value}]}
    write(path, document)
    faults = Faults()
    found = read_public(path, faults)
    kept = found.verdicts if isinstance(found, PublicVerdicts) else [answer.id for answer in found.answers]
    assert len(kept) + faults.left_out == 2
