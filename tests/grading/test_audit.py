"""`memgauge audit`: what counts as agreement, what is refused, and the project's graders on the labelled cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.cli.audit import audit
from memgauge.errors import InputError
from memgauge.grading import GRADERS, audit_file
from memgauge.grading.audit import agrees

CASES = Path(__file__).parents[1] / "data" / "answers.jsonl"


def case(**changes):
    base = {
        "id": "x-1",
        "kind": "ecc_parse",
        "input": {"text": "{0}", "template": "synthetic"},
        "expect": {"answer": "yes"},
    }
    return {**base, **changes}


def write(tmp_path, *records):
    file = tmp_path / "cases.jsonl"
    file.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return file


def test_graders_agree_with_every_case_that_is_not_debatable():
    report = audit_file(CASES)
    records = [json.loads(line) for line in CASES.read_text().splitlines()]
    assert set(report.kinds) == {record["kind"] for record in records}
    for kind in ("ecc_parse", "commit_cost"):
        counts = report.kinds[kind]
        clear = [r for r in records if r["kind"] == kind and not r.get("debatable")]
        assert counts.covered
        assert (counts.n, counts.agree) == (len(clear), len(clear))
        # The debatable ones agree too, which nobody need rely on.
        assert counts.debatable_agree == counts.debatable_n == sum(r["kind"] == kind for r in records) - len(clear)
    for kind, counts in report.kinds.items():
        assert counts.covered is (kind in GRADERS)
    assert not [m for m in report.misses if m.id.startswith(("ecc-", "cost-"))]


def test_misses_and_counts(tmp_path):
    file = write(
        tmp_path,
        case(),
        "",
        case(id="x-2", expect={"answer": "no"}),
        case(id="x-3", expect={"answer": "no"}, debatable=True),
        case(id="x-4", debatable=True),
        case(id="x-5", kind="unheard_of"),
    )
    document = audit_file(file).as_json()
    assert document == {
        "kinds": {
            "ecc_parse": {"n": 2, "agree": 1, "debatable_n": 2, "debatable_agree": 1, "covered": True},
            "unheard_of": {"n": 1, "agree": 0, "debatable_n": 0, "debatable_agree": 0, "covered": False},
        },
        "misses": [
            {
                "id": "x-2",
                "got": {"answer": "yes", "abstain_kind": None, "marker_char": 0},
                "expect": {"answer": "no"},
            },
            {"id": "x-5", "got": None, "expect": {"answer": "yes"}},
        ],
    }


def test_exit_status(tmp_path, capsys):
    file = write(tmp_path, case(), case(id="x-2", expect={"answer": "no"}))
    assert audit(file) == 0
    assert "x-2: got" in capsys.readouterr().out
    assert audit(file, strict=True, json=True) == 1
    assert json.loads(capsys.readouterr().out)["misses"][0]["id"] == "x-2"
    assert audit(write(tmp_path, case()), strict=True) == 0
    assert audit(write(tmp_path), strict=True, json=True) == 0  # an empty file holds no case and no miss


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is no JSON object"),
        ('{"id": NaN}', "line 2 is not JSON: NaN"),
        ("[" * 100_000, "line 2"),
        ("1" * 5000, "line 2"),
        (case(id=3), "line 2: the field 'id'"),
        (case(kind=None), "line 2: the field 'kind'"),
        (case(input="{0}"), "line 2: the field 'input'"),
        (case(expect={}), "line 2: the field 'expect'"),
        (case(expect=None), "line 2: the field 'expect'"),
        (case(debatable="yes"), "line 2: the field 'debatable'"),
        (case(input={"template": "synthetic"}), r"line 2 \(x-1\): input.text"),
        (case(input={"text": "{0}", "template": "other"}), r"line 2 \(x-1\): unknown template"),
        (case(input={"text": "{0}"}), r"line 2 \(x-1\): input.template"),
        (case(kind="commit_cost", input={"text": "{0}", "template": "synthetic", "T_out": 1.5}), "input.T_out"),
        (case(kind="commit_cost", input={"text": "{0}", "template": "synthetic", "T_out": -1}), "t_out is -1"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path, line, message):
    with pytest.raises(InputError, match=message):
        audit_file(write(tmp_path, case(), line))


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read"):
        audit_file(tmp_path / "none.jsonl")
    (tmp_path / "latin").write_bytes(b'{"id": "\xe9"}\n')
    with pytest.raises(InputError, match="line 1 is not JSON"):
        audit_file(tmp_path / "latin")


def test_byte_order_mark(tmp_path):
    file = tmp_path / "bom.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(case()).encode() + b"\r\n")
    assert audit_file(file).kinds["ecc_parse"].agree == 1


@pytest.mark.parametrize(
    ("got", "expect", "same"),
    [
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1.0 + 1e-12}, {"a": 1.0}, True),
        ({"a": 1.0 + 1e-6}, {"a": 1.0}, False),
        ({"a": 0.0}, {"a": 1e-10}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {"a": None}, True),
        ({}, {"a": None}, False),
        ({"a": 10**20}, {"a": 10**20 + 1}, False),
        ({"t_exact": "2/4"}, {"t_exact": "1/2"}, True),
        ({"t_exact": "0.5"}, {"t_exact": "1/2"}, True),
        ({"t_exact": "1/3"}, {"t_exact": "1/2"}, False),
        ({"t_exact": None}, {"t_exact": "1/2"}, False),
        ({"t_exact": "x"}, {"t_exact": "1/0"}, False),
        ({"a": ["b", 1]}, {"a": ["b", 1.0]}, True),
        ({"a": ["b"]}, {"a": ["b", 1]}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": "yes", "more": 3}, {"a": "yes"}, True),
        ({"a": "1"}, {"a": 1}, False),
    ],
)
def test_agreement(got, expect, same):
    assert agrees(got, expect) is same


@given(st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3))))
def test_a_result_agrees_with_itself(values):
    assert agrees(values, values)


def test_outcomes_are_those_of_the_responses_table():
    from memgauge import responses
    from memgauge.grading import SCORED, AbstainKind, Outcome, RefusedKind
    from memgauge.grading.answers import REFUSALS

    assert tuple(Outcome) == responses.OUTCOMES
    assert set(responses.SCORED) == SCORED
    assert tuple(RefusedKind) == REFUSALS
    assert list(AbstainKind) == ["explicit", "format", "overflow"]


def test_a_new_kind_is_one_function(tmp_path):
    graders = {**GRADERS, "length": lambda given: {"n": len(given["text"])}}
    file = write(tmp_path, case(kind="length", expect={"n": 3}))
    assert audit_file(file, graders).kinds["length"].agree == 1


# What is true of one labelled case stays true when the response is longer than the rule looks at.
@pytest.mark.parametrize("line", [r for r in CASES.read_text().splitlines() if '"ecc_parse"' in r])
def test_labelled_cases_under_changes_that_do_not_matter(line):
    record = json.loads(line)
    if record["expect"]["marker_char"] is None:
        changes = [record["input"]["text"] + tail for tail in ("\n", " The end.", "<|im_end|>")]
        shift = 0
    else:
        shift = 9
        changes = ["Well then" + record["input"]["text"] + tail for tail in ("", "\n", " The end.", "<think>{1} {0}")]
    for text in changes:
        got = GRADERS["ecc_parse"]({**record["input"], "text": text})
        expect = {**record["expect"]}
        if shift:
            expect["marker_char"] += shift
        assert agrees(got, expect), text
