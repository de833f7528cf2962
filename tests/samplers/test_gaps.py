"""Gaps between noisy scores are the real gaps, rounded to nearest, whatever the scores, the scale and the digits.

Tries proofs/samplers/gap_rows.tex.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

import opendp_topk as tk
from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers import gaps, race
from opendp_topk.sampling.samplers.advantages import ScaledScores
from tests.oracles.chi_square import assert_follows

from ..oracles import noise as oracle
from ..oracles.gaps import ranking_and_gaps
from . import adversaries
from .adversaries import Case, canonical, rng_of
from .paths import AT_ONCE, DROPPED, SCANNED, up_to
from .recorder import Recorder
from .streams import Streams

every_noise = pytest.mark.parametrize("name", oracle.NAMES)
REPEATS = 25


def _draw(name: str, case: Case, k: int, sign: int, streams: Streams) -> tuple[np.ndarray, np.ndarray]:
    noise = getattr(tk.noise, name)()
    return gaps.top_k_with_gaps(canonical(case.scores), case.scale, noise, k, sign=sign, entropy=streams)


def _check(name: str, case: Case, k: int, sign: int, seed: int) -> Streams:
    streams = Streams(seed, case.leading)
    with up_to((AT_ONCE, SCANNED, DROPPED)[seed % 3]):
        winners, found = _draw(name, case, k, sign, streams)
    expected, judges = ranking_and_gaps(name, case.scores, case.scale, streams.digits, k, sign)
    assert winners.dtype == np.int64
    assert winners.tolist() == expected
    assert found.dtype == np.float64
    assert found.shape == (k,)
    assert not np.signbit(found).any()
    for gap, is_nearest in zip(found.tolist(), judges, strict=True):
        assert is_nearest(gap)
        assert gap == 0 or not is_nearest(math.nextafter(gap, 0))
        assert gap == np.inf or not is_nearest(math.nextafter(gap, math.inf))
    return streams


@pytest.mark.further
@pytest.mark.quick(name="Laplace", make=("small_integers", "huge_integers", "subnormals", "ladder"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_gaps_are_those_of_the_noisy_scores(name: str, make: Callable[[random.Random], Case]) -> None:
    rng = rng_of(name, make.__name__)
    checked = 0
    while checked < REPEATS:
        case = make(rng)
        if len(case.scores) > 1:
            _check(name, case, rng.randint(1, len(case.scores) - 1), rng.choice((1, -1)), checked)
            checked += 1


@pytest.mark.quick(name=("Gumbel", "Laplace"), bits=(47, 64, 81, 130))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 64, 79, 81, 130, 200, 600])
def test_near_ties_have_tiny_gaps(name: str, bits: int) -> None:
    rng = rng_of(name, bits)
    for seed in range(6):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        _check(name, case, rng.randint(1, len(case.scores) - 1), sign, seed)


def _near_half(name: str, rng: random.Random, sign: int, bits: int, scores: list[Any], scale: Fraction) -> Case:
    """Digits with which candidate 0 is ahead of 1 by a midpoint of two floats, to about ``bits`` digits."""
    lead = sign * (Fraction(scores[0]) - Fraction(scores[1]))
    far = bits + 64
    with mpmath.workprec(2 * bits + 400):
        while True:
            n = rng.randrange(2 ** (far - 12), 2**far - 2 ** (far - 12))
            near = float(lead) + float(scale) * rng.expovariate(1)
            low = Fraction(near)
            half = (low + Fraction(math.nextafter(near, math.inf))) / 2
            target = oracle.number((half - lead) / scale) + oracle.QUANTILE[name](Fraction(n, 2**far))
            uniform = oracle.CDF[name](target)
            if near > 0 and mpmath.mpf(2) ** -12 < uniform < 1 - mpmath.mpf(2) ** -12:
                digits = int(mpmath.ldexp(uniform, bits)) + rng.choice((0, 0, 1, -1))
                return Case(scores, scale, {0: format(digits, f"0{bits}b"), 1: format(n, f"0{far}b")})


@pytest.mark.quick(name=("Gumbel", "Laplace"))
@every_noise
@pytest.mark.parametrize("bits", [60, 80, 129, 144, 300, 1500])
def test_gaps_near_half_a_unit_are_decided_by_as_many_digits_as_it_takes(name: str, bits: int) -> None:
    rng = rng_of(name, bits, "half")
    most = 0
    for seed, (scores, scale) in enumerate(
        (
            ([0, 0], Fraction(1)),
            ([3, 5], Fraction(7, 3)),
            ([1.5, 1.25], Fraction(0.1)),
            ([2**53 + 1, 2**53 + 2], Fraction(3)),
            ([2**62, -(2**62)], Fraction(2.0**62)),
            ([1e-310, 0.0], Fraction(1e-310)),
            ([0.0, 0.0], Fraction(5e-324) * 2**8),
            ([10**40, 10**40 - 1], Fraction(2)),
        )
    ):
        sign = rng.choice((1, -1))
        streams = _check(name, _near_half(name, rng, sign, bits, scores, scale), 1, sign, seed)
        most = max(most, *streams.read.values())
    assert most >= bits - 1, "on which side of a midpoint these gaps lie cannot be known from fewer digits"


@pytest.mark.parametrize("bits", [80, 400, 5000])
@pytest.mark.parametrize("lead", [2**54 + 2, 2**54 + 6, 2**60 + 2**7], ids=str)
def test_a_lead_half_way_between_floats_is_decided_by_digits_that_differ_late(bits: int, lead: int) -> None:
    for seed in range(6):
        digits = format(random.Random(seed).getrandbits(bits), f"0{bits}b")
        streams = _check("Exponential", Case([lead, 0, -5], Fraction(1, 3), {0: digits, 1: digits}), 1, 1, seed)
        assert streams.read[0] > bits


@pytest.mark.quick(levels=5)
@pytest.mark.parametrize("levels", [5, None])
def test_a_gap_that_stays_half_way_for_ever_is_an_error(levels: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if levels is not None:
        monkeypatch.setattr(gaps, "MOST_LEVELS", levels)
    case = Case([2**54 + 2, 0], Fraction(1))
    with pytest.raises(PlatformError, match="returned repeated values") as caught:
        _draw("Exponential", case, 1, 1, Streams(3, twins={1: 0}))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_equal_digits_for_ever_leave_other_gaps_decided() -> None:
    _, found = _draw("Exponential", Case([2**54 + 3, 0], Fraction(1)), 1, 1, Streams(3, twins={1: 0}))
    assert found.tolist() == [2.0**54 + 4]


class _Digits:
    """What ``_slope_enclosure`` asks of a racer."""

    def __init__(self, digits: int, known: int) -> None:
        self.digits, self.known = digits, known


@pytest.mark.quick(name="Gumbel")
@every_noise
def test_the_first_interval_holds_the_noise_of_all_that_begin_so(name: str) -> None:
    rng, noise = random.Random(name), getattr(tk.noise, name)()
    most = 2**144 - 1
    for shift in [*range(0, 143, 11), 142]:
        tail = rng.getrandbits(144) >> shift | 1
        for digits in (tail, most - tail):
            found = gaps._slope_enclosure(_Digits(digits, 144), noise)  # type: ignore[arg-type]
            assert found is not None
            with mpmath.workprec(600):
                least, greatest = (oracle.QUANTILE[name](Fraction(n, 2**144)) for n in (digits, digits + 1))
                lower, upper = (mpmath.mpf(end) for end in found)
                assert lower <= least
                assert upper >= greatest
                room = (1 + abs(least)) * mpmath.mpf(2) ** -120
                widest = 2 / mpmath.mpf(digits) / (1 - mpmath.mpf(digits + 1) / 2**144) if digits < most else 0
                assert upper - lower <= 8 * widest + room, "no wider than the bound on the slope"
    for digits in (0, most):
        assert gaps._slope_enclosure(_Digits(digits, 144), noise) is None  # type: ignore[arg-type]


def _points(*ends: Any) -> list[Any]:
    return [tuple(map(gmpy2.mpfr, pair)) for pair in ends]


def test_a_quick_gap_is_one_on_which_both_ends_agree() -> None:
    scale, tiny = mpq(7, 3), Fraction(1, 2**60)
    rng = random.Random(8)
    with gmpy2.context(precision=128):
        for _ in range(300):
            lead = Fraction(rng.randrange(10**6), rng.choice((1, 3, 2**60)))
            (a,), (b,) = _points((x := rng.random(), x)), _points((y := rng.random() - 1, y))
            expected = float(lead + Fraction(7, 3) * (Fraction(x) - Fraction(y)))
            assert gaps._quick_gap(mpq(lead), a, b, scale) == expected
            wide = (a[0] - mpq(tiny), a[1] + 1e-3)
            assert gaps._quick_gap(mpq(lead), wide, b, scale) is None
        (zero,) = _points((0, 0))
        half = mpq(2**54 + 2)
        for nudge, expected in ((-tiny, 2.0**54), (tiny, 2.0**54 + 4)):
            moved = (gmpy2.mpfr(mpq(nudge)),) * 2
            assert gaps._quick_gap(half, moved, zero, mpq(1)) == expected
        assert gaps._quick_gap(half, (gmpy2.mpfr(mpq(-tiny)), gmpy2.mpfr(mpq(tiny))), zero, mpq(1)) is None
        assert gaps._quick_gap(half, None, zero, mpq(1)) is gaps._quick_gap(half, zero, None, mpq(1)) is None
        for beyond in (mpq(1, 2**1070), mpq(2**1023), mpq(2) ** 5000, mpq(0), mpq(-3)):
            assert gaps._quick_gap(beyond, zero, zero, mpq(1)) is None


def test_gaps_beyond_the_largest_float_are_infinite() -> None:
    largest = float(np.finfo(np.float64).max)
    _, found = _draw("Gumbel", Case([largest, 0.0, -largest], Fraction(1)), 2, 1, Streams(1))
    assert found.tolist() == [largest, largest]
    _, found = _draw("Gumbel", Case([largest, -largest], Fraction(1)), 1, 1, Streams(1))
    assert found.tolist() == [np.inf]
    _, found = _draw("Gumbel", Case([3 * 10**400, 0], Fraction(1)), 1, 1, Streams(1))
    assert found.tolist() == [np.inf]


@every_noise
def test_integers_with_more_digits_than_any_precision(name: str) -> None:
    base = 2**600_000
    for seed in range(3):
        _check(name, Case([base, base + 1, base, base + 3], Fraction(2)), 3, 1, seed)


@pytest.mark.further
@pytest.mark.quick(k=1, name="Laplace", shape="zipf")
@pytest.mark.parametrize("k", [1, 10, 80])
@pytest.mark.parametrize("shape", ["uniform", "constant", "zipf"])
@pytest.mark.parametrize(("name", "sign"), [("Gumbel", 1), ("Exponential", -1), ("Laplace", 1)])
def test_gaps_of_many_blocks(name: str, sign: int, shape: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    d, rng = 3 * 4096 + 17, random.Random(k)
    make = {"uniform": lambda _: rng.random() * 1000, "constant": lambda _: 5.0, "zipf": lambda i: 1e7 / (i + 1)}[shape]
    scores = [sign * make(i) for i in range(d)]
    rng.shuffle(scores)
    monkeypatch.setattr(race, "_FIRST_BLOCKS", 1)
    recorder = Recorder(monkeypatch, Streams(k))
    with up_to(SCANNED):
        winners, found = _draw(name, Case(scores, Fraction(1)), k, sign, recorder.streams)
    drawn = sorted(recorder.streams.read)
    order, judges = ranking_and_gaps(
        name, [scores[i] for i in drawn], Fraction(1), lambda i, n: recorder.streams.digits(drawn[i], n), k, sign
    )
    assert winners.tolist() == [drawn[i] for i in order]
    recorder.check(name, scores, Fraction(1), sign, winners.tolist(), d)
    assert all(is_nearest(gap) for gap, is_nearest in zip(found.tolist(), judges, strict=True))
    noise, streams = getattr(tk.noise, name)(), Streams(k)
    with up_to(SCANNED):
        both = race.top_k(canonical(scores), Fraction(1), noise, k + 1, sign=sign, ordered=True, entropy=streams)
    assert both[:k].tolist() == winners.tolist()
    recorder.check(name, scores, Fraction(1), sign, both.tolist(), d)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scores", [[3, 9, 3, -4, 9], [0.1, 0.7, 0.1, 1e300, -1e-300], [2**70, 2**70 + 1, -5, 0, 7]])
def test_without_noise_ranking_and_gaps_are_exact(scores: list[Any], sign: int) -> None:
    order = sorted(range(5), key=lambda i: (-sign * scores[i], i))
    for k in range(1, 5):
        winners, found = gaps.noiseless_top_k_with_gaps(canonical(scores), k, sign=sign)
        assert winners.tolist() == order[:k]
        assert winners.dtype == np.int64
        exact = [sign * (Fraction(scores[a]) - Fraction(scores[b])) for a, b in pairwise(order[: k + 1])]
        assert found.tolist() == [float(gap) for gap in exact]
        assert not np.signbit(found).any()


# Many rankings with gaps at once: each is that of its own noisy scores, whatever the scores and the digits.


def _draw_rows(name: str, case: Case, k: int, times: int, sign: int, streams: Streams) -> tuple[np.ndarray, np.ndarray]:
    noise = getattr(tk.noise, name)()
    return gaps.many_top_k_with_gaps(canonical(case.scores), case.scale, noise, k, times, sign=sign, entropy=streams)


def _check_rows(name: str, case: Case, k: int, times: int, sign: int, seed: int) -> Streams:
    """Every other race begins with the digits of the case."""
    d = len(case.scores)
    streams = Streams(seed, {t * d + i: own for t in range(0, times, 2) for i, own in case.leading.items()})
    winners, found = _draw_rows(name, case, k, times, sign, streams)
    assert (winners.shape, winners.dtype, found.shape, found.dtype) == ((times, k), np.int64, (times, k), np.float64)
    assert not np.signbit(found).any()
    for t in range(times):
        expected, judges = ranking_and_gaps(name, case.scores, case.scale, streams.digits_from(t * d), k, sign)
        assert winners[t].tolist() == expected
        for gap, is_nearest in zip(found[t].tolist(), judges, strict=True):
            assert is_nearest(gap)
            assert gap == 0 or not is_nearest(math.nextafter(gap, 0))
    return streams


@pytest.mark.further
@pytest.mark.quick(name="Laplace", make=("small_integers", "huge_integers", "subnormals", "ladder"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_each_race_has_the_gaps_of_its_noisy_scores(
    name: str, make: Callable[[random.Random], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaps, "_TOGETHER", 20)
    rng, checked = random.Random(f"{name} {make.__name__}"), 0
    while checked < 10:
        case = make(rng)
        if len(case.scores) > 1:
            _check_rows(
                name, case, rng.randint(1, len(case.scores) - 1), rng.randint(1, 7), rng.choice((1, -1)), checked
            )
            checked += 1


@pytest.mark.quick(name=("Gumbel", "Laplace"), bits=(47, 130))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 64, 79, 81, 130, 200])
def test_near_ties_of_rows_have_tiny_gaps(name: str, bits: int) -> None:
    rng, most = random.Random(f"{name} {bits}"), 0
    for seed in range(4):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        streams = _check_rows(name, case, rng.randint(1, len(case.scores) - 1), 3, sign, seed)
        most = max(most, *streams.read.values())
    assert most >= bits


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([2**54 + 2, 0, -5], Fraction(1, 3)),
        ([2**63 - 1, -(2**63), 0, 2**53 + 1], Fraction(2**62 + 1)),
        ([2**64 - 1, 0, 2**63], Fraction(2**60, 3)),
        ([1e300, -1e300, 1.0], Fraction(10) ** 80),
        ([0.1, 0.7, 1e-300, 5e-324], Fraction(0.1)),
        ([1.5, 1.25], Fraction(2) ** 299 / 7),
        ([1.5, 1.25], 3 / Fraction(2) ** 299),
        ([1.5, 1.25], 1 / Fraction(2) ** 301),
        ([1.7e308, 0.0, -1.7e308], Fraction(1)),
        ([10**40, 10**40 - 1, 3], Fraction(2)),
    ],
    ids=str,
)
def test_scores_and_scales_at_the_ends(scores: list[Any], scale: Fraction, sign: int) -> None:
    for name in ("Exponential", "Logistic"):
        for k in range(1, len(scores)):
            _check_rows(name, Case(scores, scale), k, 4, sign, k)


@every_noise
def test_noise_far_out_is_decided_by_further_digits(name: str) -> None:
    for digits in ("1" * 79, "0" * 79, "1" * 45 + "0" * 35, "0" * 39 + "1" * 41, "1" * 200, "0" * 200):
        _check_rows(name, Case([3, 1, 2], Fraction(2), {0: digits}), 2, 3, 1, 5)


@every_noise
def test_the_noise_of_all_that_begin_so_is_within_its_room(name: str) -> None:
    rng = random.Random(name)
    begun = [rng.getrandbits(80) >> rng.randrange(39) | 1 << 41 for _ in range(300)]
    begun += [2**80 - 1 - n for n in begun]
    races = gaps._Races(ScaledScores(np.arange(3), Fraction(1), 1), getattr(tk.noise, name)(), 1, Streams())
    prefix = np.array([n >> 64 for n in begun], dtype=np.uint16)
    words = np.array([n % 2**64 for n in begun], dtype=np.uint64)
    (high, low), room = races._noise_with_error(prefix, words)
    assert np.isfinite(room).all()
    with mpmath.workprec(300):
        for n, a, b, most in zip(begun, high.tolist(), low.tolist(), room.tolist(), strict=True):
            for end in (n, n + 1):
                assert abs(mpmath.mpf(a) + b - oracle.QUANTILE[name](Fraction(end, 2**80))) <= most


@pytest.mark.further
def test_most_gaps_are_certain_from_eighty_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few races settled one by one, a batch is quick: of 20,000 races with four gaps each."""
    alone, released = [0], gaps.indices_and_gaps

    def counted(*arguments: Any) -> Any:
        alone[0] += 1
        return released(*arguments)

    monkeypatch.setattr(gaps, "indices_and_gaps", counted)
    for name in oracle.NAMES:
        alone[0] = 0
        streams = Entropies(7)
        gaps.many_top_k_with_gaps(
            np.arange(8.0), Fraction(3), getattr(tk.noise, name)(), 4, 20_000, sign=1, entropy=streams
        )
        assert alone[0] < 200


class Entropies(Streams):
    """Reproducible digits in arrays, where nobody reads on."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._drawn = np.random.default_rng(seed)

    def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
        return self._drawn.integers(0, 2**16, len(index), dtype=np.uint16)

    def draw_words(self, index: np.ndarray) -> np.ndarray:
        return self._drawn.integers(0, 2**64, len(index), dtype=np.uint64)


def test_a_source_that_repeats_itself_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "MOST_LEVELS", 5)
    with pytest.raises(PlatformError, match="returned repeated values"):
        _draw_rows("Exponential", Case([2**54 + 2, 0], Fraction(1)), 1, 2, 1, Streams(3, twins={1: 0}))


@pytest.mark.further
@pytest.mark.quick(name="Exponential")
@pytest.mark.parametrize("name", ["Exponential", "Gumbel"])
def test_gaps_of_equal_scores_follow_their_law_and_do_not_depend_on_each_other(name: str) -> None:
    """Of d equal scores with exponential noise the t-th gap is exponential of the rate t; two with Gumbel: logistic."""
    d, k, n = (4, 2, 200_000) if name == "Exponential" else (2, 1, 200_000)
    winners, found = gaps.many_top_k_with_gaps(
        np.zeros(d, dtype=np.int64), Fraction(5), getattr(tk.noise, name)(), k, n, sign=1
    )
    assert_follows(Counter(winners[:, 0].tolist()), dict.fromkeys(range(d), 1 / d), detects=0.06)
    tails: list[Callable[[float], float]] = [lambda z: math.exp(-z), lambda z: math.exp(-2 * z)]
    if name == "Gumbel":
        tails = [lambda z: 2 / (1 + math.exp(z))]
    cells = [np.searchsorted(_EDGES, found[:, t] / 5.0) for t in range(k)]
    laws = [_cells(tail) for tail in tails]
    for t in range(k):
        assert_follows(Counter(cells[t].tolist()), laws[t], detects=0.2)
        joint = Counter(zip(cells[t][::2].tolist(), cells[t][1::2].tolist(), strict=True))
        assert_follows(joint, {(a, b): p * q for a, p in laws[t].items() for b, q in laws[t].items()}, detects=0.5)


_EDGES = np.array([0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0])


def _cells(tail: Callable[[float], float]) -> dict[int, float]:
    reached = [1.0, *(tail(edge) for edge in _EDGES.tolist()), 0.0]
    return {cell: reached[cell] - reached[cell + 1] for cell in range(len(reached) - 1)}
