"""The answer parser: against a slow reader of the rule, on invented kinds, and under changes that must not matter."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.grading import AbstainKind, Outcome, commit_cost, parse_ecc
from memgauge.grading.think import visible_spans

OPTIONS = {"synthetic": ("0", "1", "2"), "natural": ("0", "1", "uncertain")}
template = st.sampled_from(sorted(OPTIONS))


def read_slowly(text, options):
    """Index of the last marker: every opening brace, the next brace after it, and what stands between."""
    hidden, inside = [False] * len(text), False
    i = 0
    while i < len(text):
        if text[i : i + 7] == "<think>":
            inside, width = True, 7
        elif text[i : i + 8] == "</think>":
            if not inside:
                hidden[:i] = [True] * i
            inside, width = False, 8
        else:
            width = 1
            hidden[i] = inside
        i += width
    last = None
    for start in [i for i, c in enumerate(text) if c == "{" and not hidden[i]]:
        end = next((j for j in range(start + 1, len(text)) if text[j] in "{}"), None)
        if end is None or text[end] == "{":
            continue
        content = text[start + 1 : end]
        if text[start - 1 : start] == "\\":
            content = content.rstrip("\\")
        if content.strip().lower() in options and "\\" not in content:
            last = start
    return last


PIECES = ["{", "}", "0", "1", "2", "3", " ", "\n", "\\", "{0}", "{ 1 }", "{2}", "uncertain", "UnCertain", "{uncertain}"]
PIECES += [
    "<think>",
    "</think>",
    "<",
    ">",
    "x",
    "a word",
    "\u00a0",
    "{01}",
    "{0 1}",
    "\\{0\\}",
    "\\boxed{1}",
    "{-1}",
    "ı",
]
soup = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(soup, template)
def test_equals_the_slow_reader(text, kind):
    parse = parse_ecc(text, kind)
    assert parse.marker_char == read_slowly(text, OPTIONS[kind])
    if parse.marker_char is None:
        assert (parse.answer, parse.abstain_kind) == ("abstain", AbstainKind.FORMAT)
    else:
        assert text[parse.marker_char] == "{"
        content = text[parse.marker_char + 1 : text.index("}", parse.marker_char)].strip(" \n\u00a0\\").lower()
        assert parse.answer == {"0": "yes", "1": "no"}.get(content, "abstain")
        assert parse.abstain_kind == ("explicit" if parse.answer == "abstain" else None)


# Prose without braces or angle brackets, so without markers and tags.
prose = st.text(st.characters(blacklist_characters="{}<>\\[]◁▷", blacklist_categories=("Cs",)), max_size=40)
markers = {
    "synthetic": {"{0}": "yes", "{1}": "no", "{2}": "abstain", "{ 0\n}": "yes"},
    "natural": {"{0}": "yes", "{1}": "no", "{uncertain}": "abstain", "{ UNCERTAIN }": "abstain"},
}
marked = template.flatmap(lambda t: st.tuples(st.just(t), st.sampled_from(sorted(markers[t]))))


@given(marked, prose, prose)
def test_prose_around_a_marker_moves_it_and_changes_nothing_else(case, before, after):
    kind, marker = case
    parse = parse_ecc(before + marker + after, kind)
    assert parse.answer == markers[kind][marker]
    assert parse.marker_char == len(before)


@given(soup, marked)
def test_the_last_marker_decides(before, case):
    kind, marker = case
    shown = parse_ecc(before + "</think> " + marker, kind)
    assert shown.answer == markers[kind][marker]
    assert shown.marker_char == len(before) + 9


@given(soup, soup, template)
def test_a_closed_think_block_in_front_is_invisible(thought, answer, kind):
    thought = thought.replace("think", "")
    alone = parse_ecc(answer.replace("think", ""), kind)
    block = f"<think>{thought}</think>"
    behind = parse_ecc(block + answer.replace("think", ""), kind)
    assert (behind.answer, behind.abstain_kind) == (alone.answer, alone.abstain_kind)
    assert behind.marker_char == (None if alone.marker_char is None else alone.marker_char + len(block))


@given(soup, soup, template)
def test_an_unfinished_block_behind_is_invisible(answer, thought, kind):
    answer, thought = answer.replace("think", ""), thought.replace("think", "")
    assert parse_ecc(answer + "<think>" + thought, kind) == parse_ecc(answer, kind)


@pytest.mark.parametrize(
    "wrapper", ["\\boxed{%s}", "{%s}", "**%s**", "`%s`", '{"answer": "%s"}', "<answer>%s</answer>"]
)
@pytest.mark.parametrize(
    "wrapper2", ["$%s$", "Answer: %s.", "<|begin_of_box|>%s<|end_of_box|>", "%s<|im_end|>", "%s</s>"]
)
@pytest.mark.parametrize("marker", ["{1}", "{ 1}", "\\{1\\}", "\\text{1}"])
def test_wrappings(wrapper, wrapper2, marker):
    text = wrapper2 % (wrapper % marker)
    parse = parse_ecc(text)
    assert parse.answer == "no"
    assert text[parse.marker_char] == "{"
    assert text[parse.marker_char + 1 :].lstrip().startswith("1")


NO_MARKERS = [
    "{yes}",
    "{00}",
    "{1.0}",
    "{+1}",
    "{-1}",
    "{0,1}",
    "{}",
    "{",
    "}",
    "{0",
    "}0{",
    "(0)",
    "[0]",
    "｛0｝",
    "{０}",
    "{٠}",
    "{²}",
    "{0\\}",
    '{"0"}',
    "{'0'}",
    "{0.}",
    "{0;}",
    "{uncertain}",
    "{0{",
    "0}",
    "{o}",
    "{l}",
    "{<0>}",
    "{0/1}",
    "{0x0}",
    "{3}",
    "{\u200b0}",
]


@pytest.mark.parametrize("text", [*NO_MARKERS, "{0 1}", "{ }", "{option 0}", "{0\n1}"])
def test_what_is_no_marker(text):
    assert parse_ecc(text).abstain_kind == AbstainKind.FORMAT


def test_letter_case_is_ascii_only():
    assert parse_ecc("{uncertaın}", "natural").abstain_kind == AbstainKind.FORMAT
    assert parse_ecc("{UNCERTAİN}", "natural").abstain_kind == AbstainKind.FORMAT


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>{0}</think>{1}", "no"),
        ("<THINK>{0}</Think >{1}", "no"),
        ("<thinking>{0}</thinking>{1}", "no"),
        ("<thought>{0}</thought>\n{1}", "no"),
        ("<reasoning>{0}</reasoning>{1}", "no"),
        ('<think budget="100">{0}</think>{1}', "no"),
        ("<think\nid=3>{0}</think>{1}", "no"),
        ("<seed:think>{0}</seed:think>{1}", "no"),
        ("[THINK]{0}[/THINK]{1}", "no"),
        ("◁think▷{0}◁/think▷{1}", "no"),
        ("<|begin_of_thought|>{0}<|end_of_thought|>{1}", "no"),
        ("<|channel|>analysis<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}<|return|>", "no"),
        ("<|channel|>analysis<|message|>{0}", None),
        ("{0}</think>{1}", "no"),  # the template opened the block
        ("a {0} b</thinking> so {1}", "no"),
        ("{1}</think>", None),
        ("<think>{0}", None),
        ("<think>{0}</think>", None),
        ("<think>{0}</think><think>{0}</think>{1}", "no"),
        ("<think>{0}</think>{1}<think>{0}", "no"),
        ("{1}<think>{0}</think>", "no"),
        ("<think><think>{0}</think>{1}", "no"),  # the model repeats the tag that its template gave
        ("<think>a<think>{0}</think>{0}</think>{1}", "no"),
        ("<think>{0}</think>{0}</think>{1}", "no"),
        ("<think/>{1}", "no"),
        ("<think />{1}", "no"),
        ("<thinker>{1}</thinker>", "no"),
        ("a <b {1}> c", "no"),
        ("<think{1}", "no"),  # no tag
    ],
)
def test_think_blocks(text, answer):
    parse = parse_ecc(text)
    assert parse.answer == (answer or "abstain")
    assert parse.abstain_kind == (None if answer else AbstainKind.FORMAT)


@given(soup)
def test_visible_spans_are_ordered_and_hold_no_tags(text):
    spans = visible_spans(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all("<think>" not in text[a:b] for a, b in spans)


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ("so far no", "length", AbstainKind.OVERFLOW),
        ("", "length", AbstainKind.OVERFLOW),
        ("<think>{0}", "length", AbstainKind.OVERFLOW),
        ("so far no", "stop", AbstainKind.FORMAT),
        ("so far no", None, AbstainKind.FORMAT),
        ("{2} and on and", "length", AbstainKind.EXPLICIT),
    ],
)
def test_kinds_of_abstention(text, finish, kind):
    parse = parse_ecc(text, finish_reason=finish)
    assert (parse.answer, parse.abstain_kind, parse.outcome) == ("abstain", kind, Outcome.ABSTAINED)


def test_an_answer_before_the_budget_ended_is_an_answer():
    parse = parse_ecc("{0} because", finish_reason="length")
    assert (parse.answer, parse.outcome) == ("yes", Outcome.ANSWERED)


def test_unknown_template():
    with pytest.raises(InputError, match="did you mean 'synthetic'"):
        parse_ecc("{0}", "synthetik")  # type: ignore[arg-type]


HOSTILE = {
    "opening braces": "{" * 10**6,
    "closing braces": "}" * 10**6,
    "pairs": "{}" * 10**6,
    "unfinished markers": "{0 " * 10**6,
    "blanks in a marker": "{0" + " " * 10**6,
    "blanks before an option": "{" + " " * 10**6 + "x",
    "backslashes": "{0" + "\\" * 10**6,
    "angle brackets": "<" * 10**6,
    "unfinished tags": "<think " * 10**5,
    "a tag without an end": "<think " + "a" * 10**6,
    "blanks in a tag": "<" + " " * 10**6,
    "slashes in a tag": "<think" + " /" * 10**6,
    "name spaces": "<" + "a" * 10**6,
    "colons": "<" + "a:" * 10**6,
    "channels": "<|channel|>" * 10**5,
    "a channel without an end": "<|channel|>" + " " * 10**6,
    "tags": "<think></think>" * 10**5,
    "markers": "{0}" * 10**5 + "x",
    "closing tags": "{1}</think>" * 10**5,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_linear_time(name):
    # A quadratic scan of a million characters would take hours: that this test ends is what it shows.
    parse = parse_ecc(HOSTILE[name])
    assert (parse.answer == "yes") is (name == "markers")


@given(soup, st.integers(0, 9000), template)
def test_commit_cost(text, t_out, kind):
    cost = commit_cost(text, t_out, kind)
    marker = parse_ecc(text, kind).marker_char
    assert (cost.marker_char, cost.n_chars) == (marker, len(text))
    if marker is None:
        assert cost.t_ans == Fraction(t_out, 2)
    else:
        assert cost.t_ans == max(Fraction(1), Fraction(t_out * marker, len(text)))


def test_positions_are_code_points_of_the_raw_text():
    assert commit_cost("\U0001f600" * 3 + "é{1}", 7).t_ans == Fraction(7 * 4, 7)
