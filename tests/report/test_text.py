from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.report import text
from memgauge.report.text import NONE


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("right\u202eleft", "right\\u202eleft"),
        ("\u2066isolate\u2069", "\\u2066isolate\\u2069"),
        ("line\u2028separator", "line\\u2028separator"),
        ("half \ud800 pair", "half \\ud800 pair"),
        ("carriage\rreturn", "carriage\\rreturn"),
        ("العربية 日本語 🙂", "العربية 日本語 🙂"),
    ],
)
def test_plain_shows_what_would_be_obeyed(raw: str, shown: str) -> None:
    assert text.plain(raw) == shown


@given(st.text(st.characters(codec=None)))
def test_plain_can_always_be_written(raw: str) -> None:
    shown = text.plain(raw)
    shown.encode()
    assert "\x1b" not in shown
    assert text.plain(shown) == shown


@given(
    st.recursive(
        st.none() | st.floats() | st.text(st.characters(codec=None)),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_storable_is_strict_json(value: object) -> None:
    json.dumps(text.storable(value), allow_nan=False).encode()
    json.dumps(text.storable(value), allow_nan=False, ensure_ascii=False).encode()


@given(st.text(min_size=1), st.integers(3, 40))
def test_short_keeps_both_ends(name: str, limit: int) -> None:
    cut = text.short(name, limit)
    assert len(cut) <= max(limit, 1)
    if len(name) <= limit:
        assert cut == name
    else:
        before, after = cut.split("…")[0], cut.split("…")[-1]
        assert name.startswith(before)
        assert name.endswith(after)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (1, "1 F"), (1.5, "1.50 F"), (999, "999 F"), (999.6, "1.00 kF"), (1000, "1.00 kF"),
     (12_345_678, "12.3 MF"), (999_499_999, "999 MF"), (999_500_000, "1.00 GF"), (4.2e12, "4.20 TF"),
     (7.5e19, "75.0 EF"), (0.25, "0.25 F"), (None, NONE)],
)  # fmt: skip
def test_flops(value: float | None, shown: str) -> None:
    assert text.flops(value) == shown


@given(st.floats(1e-3, 1e22))
def test_flops_round_to_three_digits(value: float) -> None:
    number, unit = text.flops(value).split()
    scale = {"F": 1, "kF": 1e3, "MF": 1e6, "GF": 1e9, "TF": 1e12, "PF": 1e15, "EF": 1e18}[unit]
    assert float(number.replace(",", "")) * scale == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 b"), (16, "16 b"), (4096, "4,096 b"), (1023.6, "1,023.6 b"), (100_000, "100 kb"), (33_554_432, "33.6 Mb"),
     (8e9, "8.00 Gb"), (8e12, "8.00 Tb"), (None, NONE)],
)  # fmt: skip
def test_bits(value: float | None, shown: str) -> None:
    assert text.bits(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0.00 s"), (2e-6, "2.00 µs"), (0.0123, "12.3 ms"), (1.5, "1.50 s"), (119.0, "119.00 s"), (180, "3.0 min")],
)
def test_seconds(value: float, shown: str) -> None:
    assert text.seconds(value) == shown


def test_nothing_has_no_sign() -> None:
    assert text.points(-0.0002) == "0.0"
    assert text.points(0.0002) == "0.0"
    assert text.points(-0.123) == "−12.3"
    assert text.points(0.123, 0) == "+12"
    assert text.points(0.004, 0) == "0"
    assert text.points(1.0) == "+100.0"
    assert text.points(None) == NONE


def test_p_values() -> None:
    assert [text.p_value(p) for p in (0.0004, 0.001, 0.05, 1.0, None)] == ["<0.001", "0.001", "0.050", "1.000", NONE]


def test_counts() -> None:
    assert [text.count(n) for n in (0, 3, 12_345, 2.5, None)] == ["0", "3", "12,345", "2.5", NONE]


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert text.decimal(-0.0001) == "0.000"
    assert text.decimal(-0.0006) == "−0.001"
