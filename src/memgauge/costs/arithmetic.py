"""The arithmetic that every price list shares: matrix products, query-key pairs, answer tokens.

A product of shapes (a, b) and (b, c) costs 2abc operations, and nothing else is counted (ECCBench, B.3). Numbers stay
exact (integers, or `Fraction` where an answer ends between two tokens) until they are handed out.
"""

from __future__ import annotations

import re
from fractions import Fraction

from memgauge.errors import InputError

Rational = int | Fraction

MAX_COUNT = 10**12
"""No stream, prompt or answer is longer; a larger number is a slip of the hand."""


def causal_pairs(tokens: Rational, window: int | None = None) -> Fraction:
    """Return how many query-key pairs a causal layer scores over its first `tokens` tokens.

    Token t sees min(t, window) positions, itself included; without a window P(N) = N(N+1)/2 (ECCBench, B.3). Between
    two whole numbers the polynomial is continued, as the decode formula does for an answer that ends inside a token.

    >>> causal_pairs(64), causal_pairs(5, window=3)
    (Fraction(2080, 1), Fraction(12, 1))
    """
    n = Fraction(tokens)
    if window is None or n <= window:
        return n * (n + 1) / 2
    return Fraction(window * (window + 1), 2) + (n - window) * window


def whole(value: Rational) -> int:
    """Round half to even: the one place where an exact cost becomes an integer.

    >>> whole(Fraction(5, 2)), whole(Fraction(7, 2))
    (2, 4)
    """
    return round(Fraction(value))


def answer_tokens(t_out: int, marker_char: int | None, n_chars: int) -> Fraction:
    """Return T_ans, the answer tokens that are charged: those before the point of commitment (ECCBench, B.3).

    `t_out` tokens were generated as `n_chars` characters, and the last option marker opens at character `marker_char`
    (0-based): T_ans = max(1, t_out * marker_char / n_chars), and t_out / 2 without a marker.

    >>> answer_tokens(200, 58, 61), answer_tokens(512, None, 52)
    (Fraction(11600, 61), Fraction(256, 1))
    """
    if t_out < 0:
        raise InputError(f"t_out is {t_out}: a response has 0 tokens or more")
    if marker_char is None:
        return Fraction(t_out, 2)
    if not 0 <= marker_char < n_chars:
        raise InputError(f"marker_char is {marker_char}: it must lie inside the text of {n_chars} characters")
    return max(Fraction(1), Fraction(t_out * marker_char, n_chars))


def parse_tokens(text: str) -> Fraction:
    """Read an answer length as a user types it: `3`, `2.5` or `11600/61`."""
    # No exponents: 1e999999999 would be a number of a gigabyte.
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12}|/0*[1-9][0-9]{0,11})?", text.strip()):
        raise InputError(f"answer tokens {text!r} is no number of tokens; write for example 3, 2.5 or 11600/61")
    return Fraction(text.strip())
