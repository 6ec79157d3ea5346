from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from memgauge.metrics.exact import fisher_greater, holm, mcnemar, sign_flip

COUNTS = st.integers(0, 400)


@given(COUNTS, COUNTS)
@settings(max_examples=100, deadline=None)
def test_mcnemar_is_the_exact_binomial_test(first, second):
    found = mcnemar(first, second)
    if first + second:
        expected = stats.binomtest(first, first + second, 0.5).pvalue
        assert found.p == pytest.approx(expected, rel=1e-9)
        exact = statsmodels_mcnemar([[0, first], [second, 0]], exact=True).pvalue
        assert found.p == pytest.approx(exact, rel=1e-9)
        least = min(first, second)
        middle = 2 * stats.binom.cdf(least, first + second, 0.5) - stats.binom.pmf(least, first + second, 0.5)
        assert found.p_mid == pytest.approx(min(1.0, middle), rel=1e-9)
    else:
        assert found.p == found.p_mid == 1.0
    assert found == mcnemar(second, first)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
@settings(max_examples=200, deadline=None)
def test_fisher_is_scipys(right, wrong, other_right, other_wrong):
    expected = stats.fisher_exact([[right, wrong], [other_right, other_wrong]], alternative="greater").pvalue
    assert fisher_greater(right, wrong, other_right, other_wrong) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_large_counts_stay_exact():
    assert mcnemar(50_500, 49_500).p == pytest.approx(stats.binomtest(50_500, 100_000).pvalue, rel=1e-8)
    expected = stats.hypergeom.sf(60_000 - 1, 200_000, 119_000, 100_000)
    assert fisher_greater(60_000, 40_000, 59_000, 41_000) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_corrections_are_statsmodels(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.beta(0.3, 1.0, rng.integers(1, 30)), 2).tolist()  # rounded, so that some are equal
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist())


@pytest.mark.parametrize("seed", range(4))
def test_a_part_of_a_family_is_corrected_no_less_than_with_the_whole_of_it(seed):
    rng = np.random.default_rng(seed)
    whole = rng.beta(0.3, 1.0, 20)
    part = rng.permutation(20)[:7]
    shown = np.array(holm(whole[part].tolist(), size=20))
    assert (shown >= np.array(holm(whole.tolist()))[part] - 1e-12).all()
    assert shown.min() == pytest.approx(min(1.0, 20 * whole[part].min()))
    assert holm(whole.tolist(), size=20) == holm(whole.tolist())


def test_no_comparison_needs_no_correction():
    assert holm([]) == []


def test_sign_flip_tries_all_signs_where_they_are_few():
    differences = np.array([[3.0, 0.0], [1.0, 0.0], [-2.0, 0.0], [4.0, 0.0], [0.0, 0.0]])
    signs = list(itertools.product((1, -1), repeat=4))
    hits = sum(abs(sum(s * d for s, d in zip(row, (3, 1, -2, 4), strict=True))) >= 6 for row in signs)
    assert sign_flip(differences).tolist() == pytest.approx([hits / 16, 1.0])
    assert sign_flip(np.zeros((4, 2))).tolist() == [1.0, 1.0]


def test_sign_flip_draws_where_they_are_many():
    rng = np.random.default_rng(3)
    differences = rng.normal(0.15, 1.0, (200, 1))
    # scipy's paired permutation test is the same test with its own draws; 1/(4000) steps, standard error below 0.005.
    expected = stats.permutation_test(
        (differences[:, 0],), np.sum, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(0)
    ).pvalue
    assert sign_flip(differences)[0] == pytest.approx(expected, abs=0.02)
    assert sign_flip(differences)[0] == sign_flip(differences)[0]


def test_sign_flip_holds_its_level_when_questions_of_a_stream_hang_together():
    """McNemar rejects far too often here, the sign-flip test does not: 400 tries, standard error 1.1 points."""
    rng = np.random.default_rng(5)
    common = rng.choice([-8.0, 8.0], (30, 400)) * (rng.random((30, 400)) < 0.5)  # whole streams go one way
    rejected = (sign_flip(common, draws=999) <= 0.05).mean()
    assert rejected <= 0.085
    naive = [mcnemar(int(np.clip(c, 0, None).sum()), int(-np.clip(c, None, 0).sum())).p <= 0.05 for c in common.T]
    assert np.mean(naive) > 0.3
