"""Confidence from the log probabilities at the deciding marker."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import Response, Server, completion

from memgauge.systems.models.confidence import OptionConfidence


def token(text, probability, **alternatives):
    others = [{"token": t, "bytes": None, "logprob": math.log(p)} for t, p in alternatives.pop("others", {}).items()]
    return {"token": text, "bytes": list(text.encode()), "logprob": math.log(probability), "top_logprobs": others}


def test_the_option_is_found_in_a_token_of_its_own():
    tokens = [
        token("I say ", 1),
        token("{", 1),
        token("0", 0.6, others={"0": 0.6, "1": 0.2, "2": 0.1, "x": 0.1}),
        token("}", 1),
    ]
    assert OptionConfidence("I say {0}", 0, tokens)(6) == pytest.approx(0.6 / 0.9)


def test_the_option_is_found_inside_a_larger_token():
    whole = [token("{1}", 0.5, others={"{0}": 0.25, "{1}": 0.5, "{1": 0.05, "{10": 0.2, "No": 0.1})]
    assert OptionConfidence("{1}", 0, whole)(0) == pytest.approx(0.55 / 0.8)
    split = [token("{", 1), token("2}", 0.3, others={"0}": 0.3, "2}": 0.3, "2": 0.3})]
    assert OptionConfidence("{2}", 0, split)(0) == pytest.approx(0.6 / 0.9)


def test_blanks_escapes_and_characters_of_several_tokens():
    euro = "\u20ac".encode()
    first = {"token": "", "bytes": list(euro[:2]), "logprob": 0.0, "top_logprobs": []}
    second = {"token": "", "bytes": list(euro[2:]), "logprob": 0.0, "top_logprobs": []}
    tokens = [
        first,
        second,
        token(r"\{", 1),
        token(" ", 1),
        token("0", 0.9, others={"0": 0.9, "1": 0.1}),
        token(r"\}", 1),
    ]
    assert OptionConfidence("\u20ac\\{ 0\\}", 0, tokens)(2) == pytest.approx(0.9)


def test_reasoning_in_front_and_special_tokens_behind_do_not_matter():
    tokens = [
        token("hm", 1),
        token("</think>", 1),
        token("{0}", 0.7, others={"{0}": 0.7, "{1}": 0.3}),
        token("<|end|>", 1),
    ]
    raw = "<think>hm</think>{0}"
    assert OptionConfidence(raw, 17, tokens)(17) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("{0}", []),
        ("{0}", [{"token": "other", "logprob": -1.0}]),
        ("{0}", [{"token": "{0}"}]),
        ("{0}", [{"token": "{0}", "logprob": float("nan")}]),
        ("{0}", [{"token": "{0}", "logprob": "high"}]),
        ("{x}", [{"token": "{x}", "logprob": -1.0}]),
    ],
)
def test_what_cannot_be_told_is_none(raw, tokens):
    assert OptionConfidence(raw, 0, tokens)(0) is None


@given(st.lists(st.floats(1e-6, 1), min_size=3, max_size=3), st.integers(0, 2))
def test_confidences_of_the_options_sum_to_one(weights, chosen):
    total = sum(weights)
    probabilities = {str(i): w / total for i, w in enumerate(weights)}
    tokens = [token("{", 1), token(str(chosen), probabilities[str(chosen)], others=probabilities), token("}", 1)]
    assert OptionConfidence(f"{{{chosen}}}", 0, tokens)(0) == pytest.approx(weights[chosen] / total)


def test_rows_carry_it_and_a_coverage_curve_follows(ask_model):
    def handle(request):
        assert request.body["logprobs"] is True
        p = 0.5 + (request.number % 8) / 20
        content = [token("{", 1), token("0", p, others={"0": p, "1": 1 - p}), token("}", 1)]
        return Response(body=completion("{0}", tokens_in=999, logprobs={"content": content}))

    with Server(handle) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url},logprobs=true")
    assert sorted(round(c, 6) for c in rows["confidence"]) == [round(0.5 + k / 20, 6) for k in range(8)]
