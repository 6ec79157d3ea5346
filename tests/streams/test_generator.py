from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from memgauge.errors import InputError
from memgauge.streams import _kernels as kernels
from memgauge.streams import low_entropy_stream, lz_rate, max_entropy_stream
from memgauge.streams.generator import CALIBRATION, LOW_BAND, calibration

# Mean rate and share of rule sets kept at each length: a table of 500 streams a cell (300 from 1,024 on), made once
# with another implementation and another generator of random numbers.
TABLE = {
    8: (0.720, 0.339),
    16: (0.707, 0.508),
    32: (0.681, 0.678),
    64: (0.666, 0.794),
    128: (0.656, 0.871),
    256: (0.679, 0.890),
    512: (0.665, 0.914),
    1024: (0.673, 0.929),
    2048: (0.663, 0.920),
    4096: (0.654, 0.935),
}


@pytest.fixture(scope="module")
def low():
    return {length: [low_entropy_stream(11, length, i) for i in range(200)] for length in CALIBRATION}


def test_low_streams_are_in_the_band_and_report_their_rate(low) -> None:
    for length, streams in low.items():
        for stream in streams:
            assert stream.symbols.shape == (length,)
            assert stream.symbols.max() < 16
            assert LOW_BAND[0] <= stream.lz_rate <= LOW_BAND[1]
            assert stream.lz_rate == lz_rate(stream.symbols)


def test_low_rates_and_acceptance_are_those_of_the_table(low) -> None:
    # 200 streams against 300 or 500: standard errors below 0.019 (means) and 0.05 (acceptance at L = 8: 0.023).
    # Four of them on each of 20 figures: a false alarm has probability 0.001.
    for length, streams in low.items():
        rates = np.array([stream.lz_rate for stream in streams])
        mean, acceptance = TABLE[length]
        error = rates.std() * (1 / 200 + 1 / 300) ** 0.5
        assert abs(rates.mean() - mean) < 4 * error
        kept = 200 / sum(stream.tries for stream in streams)
        assert abs(kept - acceptance) < 4 * (acceptance**2 * (1 - acceptance) * (1 / 200 + 1 / 300)) ** 0.5 + 0.01


def test_pooled_low_rates_are_the_papers(low) -> None:
    rates = np.array([stream.lz_rate for streams in low.values() for stream in streams])
    assert abs(rates.mean() - 0.67) < 0.02  # the paper prints 0.67 +- 0.16; 2,000 streams: standard error 0.004
    assert abs(rates.std() - 0.16) < 0.02
    assert rates.min() < 0.345
    assert rates.max() > 0.98


def test_most_low_streams_are_not_constant_runs(low) -> None:
    for length, most in ((16, 0.10), (32, 0.05), (64, 0.03), (1024, 0.0)):
        constant = [len(set(stream.symbols[length // 2 :].tolist())) == 1 for stream in low[length]]
        assert np.mean(constant) <= most


def test_rules_have_the_papers_form(low) -> None:
    counts, seen = [], set()
    for stream in (s for length in (8, 128, 4096) for s in low[length]):
        rules = stream.rules
        counts.append(len(rules.contexts))
        sizes = [len(context) for context in rules.contexts]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(rules.contexts)) == len(rules.contexts)
        seen.update(sizes)
        np.testing.assert_allclose(rules.probabilities.sum(axis=1), 1, atol=1e-12)
        for law in rules.probabilities:
            assert np.count_nonzero(law == np.median(law)) >= 12  # all but four at most share what is left evenly
            assert law.min() >= 0
    assert seen == set(range(1, 9))
    assert abs(np.mean(counts) - 12.2) < 0.5


def test_streams_follow_their_rules() -> None:
    stream = low_entropy_stream(5, 60_000, 0)
    x, rules = stream.symbols.tolist(), stream.rules
    table = dict(zip(rules.contexts, rules.probabilities, strict=True))
    counts: dict[tuple[int, ...], np.ndarray] = {}
    for t in range(len(x)):
        context = next((tuple(x[t - n : t]) for n in range(8, 0, -1) if n <= t and tuple(x[t - n : t]) in table), ())
        counts.setdefault(context, np.zeros(16))[x[t]] += 1
    tested = 0
    for context, seen in counts.items():
        expected = table.get(context, np.full(16, 1 / 16)) * seen.sum()
        if seen.sum() < 200:
            continue
        big = expected >= 5
        observed, wanted = seen[big], expected[big]
        if (~big).any():
            observed, wanted = np.append(observed, seen[~big].sum()), np.append(wanted, expected[~big].sum())
        # about twelve contexts at level 1e-5 each: a false alarm has probability 1e-4
        assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-5
        tested += 1
    assert tested >= 4


def test_max_streams_are_uniform_and_independent() -> None:
    x = max_entropy_stream(3, 400_000, 0)
    # two tests at level 1e-4
    assert stats.chisquare(np.bincount(x, minlength=16)).pvalue > 1e-4
    pairs = np.bincount(x[:-1:2].astype(int) * 16 + x[1::2], minlength=256)
    assert stats.chisquare(pairs).pvalue > 1e-4
    firsts = np.array([max_entropy_stream(3, 6, i)[:2] for i in range(4000)]).astype(int)
    assert stats.chisquare(np.bincount(firsts[:, 0] * 16 + firsts[:, 1], minlength=256)).pvalue > 1e-4


def test_max_streams_have_high_rates() -> None:
    rates = [lz_rate(max_entropy_stream(1, 1024, i)) for i in range(50)]
    assert abs(np.mean(rates) - 2.96) < 0.02


def test_draws_of_the_compiled_generator() -> None:
    state = kernels.start(np.uint64(5), 3)
    mask = 2**64 - 1

    def mix(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return z ^ z >> 31

    expected = mix(5 + 4 * 0x9E3779B97F4A7C15 & mask)
    for _ in range(5):
        expected = expected + 0x9E3779B97F4A7C15 & mask
        assert int(kernels.draw(state)) == mix(expected)
    uniform = np.array([kernels.unit(state) for _ in range(20_000)])
    normal = np.array([kernels.normal(state) for _ in range(20_000)])
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4
    assert stats.kstest(normal, "norm").pvalue > 1e-4


def test_same_arguments_same_stream_and_others_differ() -> None:
    for make in (max_entropy_stream, lambda *a: low_entropy_stream(*a).symbols):
        first = make(7, 256, 3)
        assert (first == make(7, 256, 3)).all()
        assert not first.flags.writeable
        for other in ((8, 256, 3), (7, 256, 4)):
            assert (first != make(*other)).any()
        assert (make(7, 512, 3)[:256] != first).any()


def test_calibration_is_interpolated() -> None:
    for length, row in CALIBRATION.items():
        assert calibration(length) == pytest.approx(row)
    assert calibration(6) == pytest.approx(CALIBRATION[8])
    between = calibration(90)
    assert all(min(a, b) <= c <= max(a, b) for a, b, c in zip(CALIBRATION[64], CALIBRATION[128], between, strict=True))


@pytest.mark.parametrize("length", [6, 7, 11, 48, 90, 700, 10_000])
def test_other_lengths_work(length: int) -> None:
    streams = [low_entropy_stream(1, length, i) for i in range(10)]
    assert all(LOW_BAND[0] <= stream.lz_rate <= LOW_BAND[1] for stream in streams)


def test_too_many_tries_are_an_error() -> None:
    with pytest.raises(InputError, match="within 0 tries"):
        low_entropy_stream(1, 64, 0, max_tries=0)


def test_kernels_compile_without_a_cache_folder(monkeypatch) -> None:
    from numba import njit

    def picky(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(kernels, "njit", picky)
    assert kernels.kernel(lambda x: x + 1)(2) == 3
