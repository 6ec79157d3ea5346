"""Responses: write and read, rational answer lengths, names, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.costs import (
    TASKS,
    answer_tokens,
    embedding_flops,
    list_models,
    parse_frame,
    parse_tokens,
    price_response,
    retrieval_cost,
    vlm_price,
    window_count,
)
from memgauge.costs.arithmetic import causal_pairs
from memgauge.costs.vision import round_half_even
from memgauge.errors import InputError

MODELS = [price.name for price in list_models()]
model = st.sampled_from(MODELS).map(vlm_price)
tokens = st.fractions(min_value=0, max_value=9000, max_denominator=97)


def counts(data):
    return {
        "t_in": data.draw(st.integers(0, 300)),
        "queries": data.draw(st.integers(1, 40)),
        "length": data.draw(st.integers(1, 3000)),
    }


@given(model, st.sampled_from(TASKS), tokens, st.data())
def test_write_and_read_hold_every_term_once(price, task, t, data):
    given_ = counts(data)
    length, t_in, queries = given_["length"], given_["t_in"], given_["queries"]
    paper = price_response(price, task, length, t, t_in=t_in)
    moved = price_response(price, task, length, t, t_in=t_in, split="question")
    shared = price_response(price, task, length, t, t_in=t_in, queries=queries)
    assert paper.F_write == paper.F_vision + paper.F_connector + paper.F_prefill
    assert paper.F_read == paper.F_decode
    assert paper.F_total == paper.F_write + paper.F_read == moved.F_write + moved.F_read == moved.F_total
    question = moved.F_read - paper.F_read
    n = paper.N
    pairs = sum(range(n - t_in + 1, n + 1))  # the question's tokens come last and see all before them
    assert question == paper.B * t_in + paper.A * pairs
    decode = t * paper.F_voc + max(Fraction(0), t - 1) * (paper.B + paper.A * n) + paper.A * t * max(0, t - 1) / 2
    assert paper.F_decode == round(decode)
    assert (shared.F_write, shared.F_read) == (paper.F_write, paper.F_read)
    assert shared.F_total == round(Fraction(paper.F_write, queries) + decode)


@given(model, st.sampled_from(TASKS), st.integers(1, 2000), tokens, tokens)
def test_more_answer_tokens_cost_more(price, task, length, a, b):
    few, many = sorted((a, b))
    assert price_response(price, task, length, few).F_read <= price_response(price, task, length, many).F_read


@given(model, st.integers(1, 3000), st.integers(1, 40))
def test_decoding_in_two_goes_costs_the_same(price, n, t):
    language = price.text
    first = language.decode(n, t)
    second = language.decode(n, t + 5) - first
    assert second == 5 * language.F_voc + 5 * language.B + language.A * sum(n + i for i in range(t, t + 5))


def test_exactness_beyond_double_precision():
    cost = price_response(vlm_price("internvl3.5-38b"), "ecc-video", 10**6, Fraction(10**6, 3))
    n = 256 * 10**6 + 128
    assert cost.F_prefill == cost.B * n + cost.A * n * (n + 1) // 2
    assert cost.F_prefill > 2**53


def test_half_even_once():
    # At T = 5/2 with an odd price the decode ends in a half: 1.5 passes of an odd sum.
    from memgauge.costs.decoder import language_model
    from memgauge.costs.prices import VlmPrice

    language = language_model(1, 1, [(1, 0, None)])  # B = 1, F_voc = 2
    price = VlmPrice("odd", language, language, None)
    assert price_response(price, "ecc-text", 1, Fraction(3, 2)).F_decode == 4  # 3 + 0.5, a tie, to even
    assert price_response(price, "ecc-text", 1, Fraction(5, 2)).F_decode == 6  # 5 + 1.5, a tie, to even
    assert price_response(price, "ecc-text", 1, Fraction(1, 2)).F_decode == 1  # no pass below one token


@given(st.integers(1, 60), st.one_of(st.none(), st.integers(1, 70)))
def test_pairs_by_loop(n, window):
    assert causal_pairs(n, window) == sum(min(t, window or t) for t in range(1, n + 1))


@given(st.integers(0, 10**6), st.integers(1, 10**5), st.data())
def test_answer_tokens(t_out, n_chars, data):
    marker = data.draw(st.one_of(st.none(), st.integers(0, n_chars - 1)))
    t = answer_tokens(t_out, marker, n_chars)
    if marker is None:
        assert t * 2 == t_out
    else:
        assert t == max(1, Fraction(t_out) * marker / n_chars)
        assert t <= max(1, t_out)
        if marker:
            assert answer_tokens(t_out, marker - 1, n_chars) <= t


@pytest.mark.parametrize(("t_out", "marker", "n"), [(-1, None, 5), (5, 5, 5), (5, -1, 5), (5, 0, 0)])
def test_answer_tokens_refuses_positions_outside_the_text(t_out, marker, n):
    with pytest.raises(InputError):
        answer_tokens(t_out, marker, n)


@pytest.mark.parametrize(("text", "value"), [("3", 3), (" 2.5", Fraction(5, 2)), ("11600/61", Fraction(11600, 61))])
def test_parse_tokens(text, value):
    assert parse_tokens(text) == value


@pytest.mark.parametrize("text", ["", "-1", "1e9", "1e999999999", "nan", "1/0", "3 4", "٣", "0x10", "9" * 5000])
def test_parse_tokens_refuses(text):
    with pytest.raises(InputError, match="answer tokens"):
        parse_tokens(text)


@pytest.mark.parametrize("text", ["640", "640x", "x360", "0x360x2", "-1x5", "1e3x10", "６４０x360", "9" * 9 + "x1"])
def test_parse_frame_refuses(text):
    with pytest.raises(InputError, match="WIDTHxHEIGHT"):
        parse_frame(text)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Qwen3-VL (8B) (+Thinking)", "Qwen3-VL (8B)"),
        ("Qwen3-VL Thinking (8B)", "Qwen3-VL (8B)"),
        ("qwen3-vl-8b", "Qwen3-VL (8B)"),
        ("QWEN3_VL 8b", "Qwen3-VL (8B)"),
        ("InternVL3.5 (30B, A3B) (+Think.)", "InternVL3.5 (30B, A3B)"),
        ("InternVL3.5 Thinking 30B", "InternVL3.5 (30B, A3B)"),
        ("internvl3.5-thinking-8b", "InternVL3.5 (8B)"),
        ("Qwen3-Omni", "Qwen3-Omni (30B, A3B)"),
        ("Phi-4-MM", "Phi-4-MM (6B)"),
        ("minicpm-v 4.5", "MiniCPM-V 4.5 (9B)"),
    ],
)
def test_names(name, found):
    assert vlm_price(name).name == found


def test_every_printed_name_slug_and_alias_is_found():
    for price in list_models():
        for name in (price.name, price.slug, *price.aliases):
            assert vlm_price(name) is price
    assert len({name for price in list_models() for name in (price.slug, *price.aliases)}) == 16


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("internvl3.5", "ambiguous"),
        ("glm-4.5v-thinking", "unknown model"),
        ("", "unknown model"),
        ("gpt", "unknown model"),
        ("qwen3-vl-80b", "qwen3-vl-8b"),
    ],
)
def test_unknown_and_ambiguous_names(name, message):
    with pytest.raises(InputError, match=message):
        vlm_price(name)


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("ecc-txt", {}, "ecc-text"),
        ("ecc-text", {"frame": (4, 4)}, "shows no frames"),
        ("ecc-text", {"option_frames": 2}, "shows no frames"),
        ("ecc-video", {"length": 0}, "length is 0"),
        ("ecc-video", {"frame": (0, 5)}, "at least 1 pixel"),
        ("ecc-video", {"answer_tokens": -1}, "answer tokens"),
        ("ecc-video", {"t_in": -1}, "t_in is -1"),
        ("ecc-video", {"queries": 0}, "queries is 0"),
        ("ecc-video", {"split": "read"}, "question"),
        ("ecc-video", {"length": 10**13}, "length"),
    ],
)
def test_bad_requests_are_refused(task, options, message):
    arguments = {"length": 64, "answer_tokens": 3, **options}
    with pytest.raises(InputError, match=message):
        price_response(vlm_price("qwen3-vl-8b"), task, **arguments)


def test_notes_say_what_does_not_enter_and_what_exceeds_training():
    intern = price_response(vlm_price("internvl3.5-8b"), "natural-video", 1024, 3, frame=(1920, 1080))
    assert any("does not enter" in note for note in intern.notes)
    assert any("6.4 times" in note for note in intern.notes)
    assert price_response(vlm_price("internvl3.5-8b"), "natural-video", 64, 3).notes == ()


def test_phi4_adapters_run_with_images_only():
    price = vlm_price("phi-4-mm")
    assert price_response(price, "ecc-text", 64, 3).B < price_response(price, "ecc-video", 64, 3).B


@given(st.integers(1, 10**6), st.integers(1, 200))
def test_sides_round_half_to_even(side, unit):
    assert round_half_even(side, unit) == round(Fraction(side, unit))


def test_retrieval():
    assert [window_count(n) for n in (1, 16, 19, 20, 64, 128, 512)] == [1, 1, 1, 2, 13, 29, 125]
    natural = retrieval_cost("natural-video", 64)
    assert natural.F_index == 13 * natural.F_window
    assert natural.F_one_query - natural.F_answer == natural.F_index
    q = natural.break_even
    assert natural.F_index + q * natural.F_answer == q * natural.F_full
    synthetic = retrieval_cost("ecc-video", 64)  # at its own frame size: 0.38 PF and 405 TF
    assert round(synthetic.F_index / 1e15, 2) == 0.38
    assert round(synthetic.F_one_query / 1e12) == 405
    assert round(float(synthetic.break_even), 1) == 6.2
    assert retrieval_cost("natural-video", 16, read_frames=64).break_even is None
    with pytest.raises(InputError, match="how many frames"):
        retrieval_cost("natural-video", 128)
    with pytest.raises(InputError, match="ecc-video"):
        retrieval_cost("ecc-text", 64)


def test_embeddings_read_and_decode_nothing():
    embedder = vlm_price("qwen3-vl-8b")
    assert embedding_flops(embedder, t_in=40) == embedder.text.B * 40 + embedder.text.A * 820
    clip = price_response(embedder, "natural-video", 16, 0, t_in=40)
    assert embedding_flops(embedder, frames=16) == clip.F_write
    assert clip.F_read == 0
