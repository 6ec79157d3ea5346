"""`memgauge memlens errors`: evidence from a sidecar, rules, a judge, labels in the run, the numbers, the report."""

from __future__ import annotations

import json

import polars as pl
import pytest
from runs import answered, write_run
from scripted_server import Response, Server, completion

from memgauge.cli.app import run
from memgauge.histories.evidence import read_evidence
from memgauge.metrics.inference import Resampler
from memgauge.metrics.wrong_answers import LABELS, wrong_answers
from memgauge.responses import load_responses

DAYS = ["2024/05/01 (Wed) 10:00", "2024/05/03 (Fri) 11:00", "2024/05/07 (Tue) 12:00"]


def fact(text, role="evidence", mentions=None, **truth):
    pictures = [{"file": "a.png", "kind": "x", "truth": truth, "seed": 1}] if truth else []
    return {"role": role, "text": text, "mentions": mentions or {}, "pictures": pictures}


QUESTIONS = {
    "q_sum": (
        "multi_session_reasoning", "How much did the lamps cost in all?", "$9.50", "msr_arithmetic",
        {"gold": {"cents": [300, 450, 200]}},
        [
            fact("tag", item="Lamp", cents=300),
            fact("tag", item="Shade", cents=450),
            fact("it was $2.00", mentions={"cents": 200}),
        ],
    ),
    "q_code": (
        "information_extraction", "What is the code of the door?", "9386", "ie_chat", {},
        [fact("chat", messages=[{"sender": "them", "text": "The door code is 9386, be there.", "time": "15:46"}])],
    ),
    "q_ku": (
        "knowledge_update", "Which tea do I drink now?", "oolong", "ku_update",
        {"gold": {"chain": ["assam", "oolong"]}},
        [fact("this one", entity="assam"), fact("this one", entity="oolong")],
    ),
    "q_date": (
        "temporal_reasoning", "When did the candle become part of it?", "2024/04/29", "tr_date_d",
        {"answer_space": ["2024/04/29", "2024/05/02"]},
        [fact("two days ago", mentions={"when": "two days ago"}, entity="candle")],
    ),
    "q_two": (
        "temporal_reasoning", "Which was longer? A. the course. B. the trip.", "A", "tr_duration", {},
        [fact("course", mentions={"begins": "2023-01-16"}, year=2023, month=3, day=6)],
    ),
    "q_ar": ("answer_refusal", "How many cats are there?", "NOT_MENTIONED", "msr_counting", {"refusal": True}, []),
    "q_menu": (
        "information_extraction", "How much are four cocoas?", "$12.00", "ie_arithmetic",
        {"gold": {"cents": 1200}, "ask": {"times": 4}},
        [fact("menu", rows=[{"item": "Cocoa", "cents": 300}, {"item": "Cider", "cents": 500}])],
    ),
}  # fmt: skip
DECOYS = [fact("code", role="decoy", text_shown="The code is 4711, thank you.", entity="mint")]


def write_data(folder, *, meta=True):
    folder.mkdir(parents=True)
    lines, gold = [], []
    for name, (kind, question, answer, builder, more, facts) in QUESTIONS.items():
        ids = [f"{name}_{i}" for i in range(3)]
        sessions = [
            [{"role": "user", "content": f"Told {i} <image>", "images": [{"file": "a.png", "blip_caption": "a tag"}],
              "has_answer": i == 1 and answer != "NOT_MENTIONED"}, {"role": "assistant", "content": "Fine."}]
            for i in range(3)
        ]  # fmt: skip
        record = {
            "question_id": name, "question_type": kind, "question": question, "answer": answer,
            "question_date": "2024/05/31 (Fri) 07:58", "haystack_dates": DAYS, "haystack_session_ids": ids,
            "haystack_sessions": sessions, "answer_session_ids": [] if answer == "NOT_MENTIONED" else [ids[1]],
        }  # fmt: skip
        lines.append(json.dumps(record))
        carried = [{"session_id": ids[1], "facts": facts}, {"session_id": ids[2], "facts": DECOYS}]
        about = {"question_id": name, "builder": builder, "visual_need": "essential", "sessions": carried}
        gold.append(json.dumps(about | more))
    for length in ("32k", "64k"):
        (folder / f"dataset_{length}.jsonl").write_text("\n".join(lines) + "\n")
    if meta:
        (folder / "meta.jsonl").write_text("\n".join(gold) + "\n")
    return folder


def test_evidence_of_a_sidecar(tmp_path):
    found = read_evidence(write_data(tmp_path / "H"), [*QUESTIONS, "q_other"])
    assert found.keys() == QUESTIONS.keys()
    assert found["q_sum"].operands == ("$3.00", "$4.50", "$2.00")
    assert set(found["q_sum"].partial) == {"$3.00", "$4.50", "$2.00", "$7.50", "$5.00", "$6.50"}
    assert found["q_code"].beside == ("15:46",)
    assert "4711" in found["q_code"].elsewhere
    assert (found["q_code"].open, found["q_ku"].open) == (True, False)
    assert found["q_ku"].outdated == ("assam",)
    assert (found["q_date"].rivals, found["q_date"].slips) == (("2024/05/02",), ("2024/05/03",))
    assert set(found["q_two"].operands) == {"2023/01/16", "2023/03/06"}
    assert found["q_menu"].operands == ("$3.00",)
    assert set(found["q_menu"].beside) == {"$20.00", "$5.00"}
    assert all(evidence.shown for evidence in found.values())
    assert '"cents": 300' not in found["q_code"].texts[0]
    assert found["q_code"].texts[0].startswith("(2024/05/03 (Fri) 11:00) user: Told 1")
    assert "9386" in found["q_code"].texts[0]
    plain = read_evidence(write_data(tmp_path / "P", meta=False), ["q_code", "q_sum"])
    assert plain["q_code"].shown is True
    assert plain["q_code"].texts[0].endswith("picture: a tag")
    assert plain["q_sum"].operands == ()


def test_a_sidecar_of_another_form_is_no_danger(tmp_path):
    folder = write_data(tmp_path / "H")
    lines = [
        {
            "question_id": "q_sum",
            "builder": "msr_arithmetic",
            "gold": {"cents": ["x", None]},
            "sessions": [3, {"facts": [7]}],
        },
        {"question_id": "q_ku", "builder": 4, "gold": [], "sessions": [{"facts": {"a": 1}}]},
        {
            "question_id": "q_menu",
            "builder": "ie_arithmetic",
            "gold": {"cents": 5},
            "ask": {"times": 0},
            "sessions": [],
        },
        {"question_id": "q_code", "builder": "ie_chat"},
    ]
    (folder / "meta.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_evidence(folder, QUESTIONS)
    assert found.keys() == QUESTIONS.keys()
    assert found["q_sum"].operands == ()


ASKED = {name: {"gold": a, "question": q} for name, (_, q, a, *_) in QUESTIONS.items()}
SUBTYPE = {
    "q_sum": "MSR_Arithmetic", "q_code": "IE", "q_ku": "KU", "q_date": "TR_DateExtraction",
    "q_two": "TR_DurationComparison", "q_ar": "AR", "q_menu": "IE",
}  # fmt: skip
SAID = {
    "q_sum": ("$7.50", "incomplete_evidence"),
    "q_code": ("15:46", "grounding_failure"),
    "q_ku": ("assam", "outdated_value"),
    "q_date": ("2024/05/03", "computation_slip"),
    "q_two": ("B", None),
    "q_ar": ("3", "unsupported_answer"),
    "q_menu": ("$20.00", "grounding_failure"),
}


def wrong(name, said, **more):
    row = answered(name, said, subtype=SUBTYPE[name], **ASKED[name], **more)
    if row["outcome"] == "pending":  # as a judge decides
        row |= {"outcome": "answered", "correct": False, "score": 0.0, "judge": "j", "answer": said}
    assert row["correct"] is False
    return row


@pytest.fixture
def folder(tmp_path):
    data = write_data(tmp_path / "H")
    rows = [wrong(name, said) for name, (said, _) in SAID.items()]
    rows += [wrong("q_sum", "Insufficient information", length=65536), wrong("q_code", "1000", length=65536)]
    rows.append(answered("q_ku", "oolong", subtype="KU", length=65536, **ASKED["q_ku"]))
    assert rows[-1]["correct"]
    return write_run(tmp_path / "r", rows, data)


def errors(folder, *more):
    return run(["memlens", "errors", str(folder), "--json", *more])


def labels(folder, length=32768):
    rows = load_responses(folder).filter(pl.col("length") == length)
    return dict(zip(rows["episode"], rows["error_label"], strict=True))


def test_rules_label_and_the_run_keeps_it(folder, capsys):
    assert errors(folder) == 0
    found = json.loads(capsys.readouterr().out)
    assert labels(folder) == {name: label for name, (_, label) in SAID.items()}
    assert labels(folder, 65536) == {"q_sum": "no_commitment", "q_code": "unsupported_answer", "q_ku": None}
    counts = found["labelled"]
    assert (counts["wrong"], counts["with_evidence"], counts["by_rules"], counts["unlabelled"]) == (9, 9, 8, 1)
    everything = found["errors"]["groups"][0]
    assert (everything["grouping"], everything["wrong"], everything["labelled"]) == ("all", 7, 6)
    assert everything["near_miss"]["hits"] == 5
    assert sum(rate["hits"] for rate in everything["shares"].values()) == 6
    assert everything["causes"]["reasoning"]["hits"] == 2  # the date, and the question without an answer
    before = load_responses(folder)
    assert errors(folder) == 0
    assert load_responses(folder).equals(before)
    assert run(["memlens", "errors", str(folder)]) == 0
    assert "9 wrong answers, the evidence of 9 is known: 8 labelled by rules" in capsys.readouterr().out


def judge_says(text):
    def handle(request):
        if "judged wrongly" in request.body["messages"][1]["content"]:
            return Response(body=completion("no idea"))
        return Response(body=completion(text))

    return handle


REPLY = 'It guessed. {"error_label": "unsupported_answer", "error_cause": "mixed"}'


def spec(server):
    return f"model:name=j,base_url={server.url},retries=0,backoff=0"


def test_a_judge_labels_the_rest_and_checks_some(folder, capsys, monkeypatch):
    monkeypatch.setattr("memgauge.error_labels.ATTEMPTS", 1)
    with Server(judge_says(REPLY)) as server:
        assert errors(folder, "--judge", spec(server), "--check", "3") == 0
        assert server.count == 4
        found = json.loads(capsys.readouterr().out)
        body = server.requests[0].body["messages"]
        assert "Right answer: A" in body[1]["content"]
        assert '"year": 2023' in body[1]["content"]
        assert errors(folder, "--judge", spec(server), "--check", "3") == 0
        assert server.count == 4  # what is there is not asked again
    assert labels(folder)["q_two"] == "unsupported_answer"
    row = load_responses(folder).filter((pl.col("episode") == "q_two") & (pl.col("length") == 32768)).row(0, named=True)
    assert (row["error_by"], row["error_cause"], row["error_rule"]) == ("judge", "mixed", "the answer could be a guess")
    assert (found["labelled"]["asked"], found["labelled"]["by_judge"], found["labelled"]["unlabelled"]) == (4, 1, 0)
    assert found["errors"]["agreement"]["label"]["n"] == 3
    assert found["errors"]["agreement"]["judges"] == [row["error_judge"]]
    # The same answers in another run: the cache knows.
    rows = load_responses(folder).with_columns(
        pl.lit(None, pl.String).alias(n) for n in ("error_judge", "error_judge_label")
    )
    rows.write_parquet(folder / "responses.parquet")
    capsys.readouterr()
    with Server(judge_says("never asked")) as server:
        assert errors(folder, "--judge", f"model:name=j,base_url={server.url},retries=0,backoff=0", "--check", "3") == 0
        assert server.count == 0
    assert json.loads(capsys.readouterr().out)["labelled"]["cached"] == 4


@pytest.mark.parametrize("reply", ["no idea", "", '{"error_label": "bad luck", "error_cause": "mixed"}'])
def test_no_label_is_invented(folder, capsys, monkeypatch, reply):
    monkeypatch.setattr("memgauge.error_labels.ATTEMPTS", 2)
    monkeypatch.setattr("memgauge.error_labels.WAIT_S", 0.0)
    with Server(lambda _: Response(body=completion(reply))) as server:
        assert errors(folder, "--judge", spec(server), "--check", "0") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)["labelled"]
    assert found["unparsed"] + found["judge_error"] == 1
    assert "gave 1 answers no label" in err
    assert labels(folder)["q_two"] is None
    with Server(judge_says(REPLY)) as server:
        assert errors(folder, "--judge", spec(server), "--check", "0") == 0
        assert server.count == 1
    assert labels(folder)["q_two"] == "unsupported_answer"


def test_without_the_histories_little_is_said(folder, tmp_path, capsys):
    assert errors(folder, "--data", str(tmp_path / "nowhere")) == 2
    (tmp_path / "H").rename(tmp_path / "gone")
    assert errors(folder) == 0
    found = json.loads(capsys.readouterr().out)["labelled"]
    assert (found["data"], found["with_evidence"]) == (None, 0)
    assert found["by_rules"] == 2  # a refusal, and an answer where there is none
    assert errors(folder, "--data", str(tmp_path / "gone")) == 0
    assert json.loads(capsys.readouterr().out)["labelled"]["by_rules"] == 8


def test_the_report_shows_labels_where_there_are_any(folder, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert run(["report", str(folder), "--out", str(page), "--json", "--redraws", "200"]) == 0
    assert json.loads(capsys.readouterr().out)["wrong_answers"] is None
    assert "Wrong answers" not in page.read_text()
    assert errors(folder) == 0
    capsys.readouterr()
    assert run(["report", str(folder), "--out", str(page), "--json", "--redraws", "200"]) == 0
    assert json.loads(capsys.readouterr().out)["wrong_answers"]["groups"][0]["labelled"] == 6
    assert "grounding failure" in page.read_text()


def test_a_run_without_words_is_refused(tmp_path, capsys):
    row = answered("q", "tea") | {"rule": None}
    assert errors(write_run(tmp_path / "r", [row])) == 2
    assert "holds no answers in words" in capsys.readouterr().err


def labelled_rows(counts, length):
    rows = []
    for label, n in counts.items():
        for i in range(n):
            row = answered(f"{label}{i}", "4", gold="3", subtype="MSR_Counting", question="How many?", length=length)
            rows.append(row | {"error_label": label, "error_by": "rules", "error_cause": "mixed"})
    return rows


def test_shares_and_shifts_are_counts(tmp_path):
    short = {"grounding_failure": 30, "unsupported_answer": 20, "computation_slip": 50}
    long = {"grounding_failure": 30, "unsupported_answer": 60, "computation_slip": 10}
    folder = write_run(tmp_path / "r", labelled_rows(short, 32768) + labelled_rows(long, 131072))
    found = wrong_answers(load_responses(folder), Resampler(500))
    everything = {g["length"]: g for g in found["groups"] if g["grouping"] == "all"}
    assert {
        n: everything[32768]["shares"][n]["hits"] for n in LABELS if everything[32768]["shares"][n]["hits"]
    } == short
    assert everything[131072]["near_miss"]["value"] == pytest.approx(0.4)
    shifts = {s["label"]: s for s in found["shifts"] if s["grouping"] == "all"}
    assert shifts["unsupported_answer"]["difference"]["value"] == pytest.approx(0.4)
    assert (
        0.2
        < shifts["unsupported_answer"]["difference"]["low"]
        < 0.4
        < shifts["unsupported_answer"]["difference"]["high"]
    )
    assert shifts["near_miss"]["difference"]["value"] == pytest.approx(-0.4)
    assert shifts["grounding_failure"]["difference"]["value"] == pytest.approx(0.0, abs=1e-12)
    assert shifts["outdated_value"]["difference"]["value"] == 0.0
    assert {s["group"] for s in found["shifts"]} == {"all", "MSR", "MSR_Counting"}
    assert (
        wrong_answers(load_responses(folder).with_columns(error_label=pl.lit(None, pl.String)), Resampler(100)) is None
    )


def test_a_verdict_that_changes_takes_its_label_along(folder, capsys):
    assert errors(folder) == 0
    assert labels(folder)["q_ku"] == "outdated_value"
    right = Response(body=completion('{"answer_score": 1}'))
    with Server(lambda _: right) as server:
        assert run(["judge", "run", str(folder), "--judge", spec(server), "--replace"]) == 0
    assert labels(folder)["q_ku"] is None
    assert labels(folder)["q_sum"] == "incomplete_evidence"
