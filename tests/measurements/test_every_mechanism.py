"""What all mechanisms on scores keep: the obligations of a measurement, the ends of the map, the refused arguments.

What one of them alone must show is in its own file.
"""

import functools
import inspect
import itertools
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import shipped
from opendp_topk.errors import DataError, DataTypeError, ParameterError, ParameterTypeError, PlatformError, SpaceError
from opendp_topk.sampling.samplers import entropy
from tests.concepts.links import check_constructor, check_measurement
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, raises_exactly
from tests.concepts.specimens import Specimen
from tests.concepts.tried import specimens_of
from tests.oracles.chi_square import LARGEST_ERROR, ODDS, assert_follows, enough, p_value, smallest_error, tilted

MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
UP = tk.LInfDistance(monotonic=True)
NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
FLOATS = tk.VectorDomain(tk.AtomDomain(float), size=2)
Wrong = tuple[str, Any, type[Exception], str]


@dataclass(frozen=True)
class Row:
    """How a mechanism is called: each of its variants with each of its measures; and what it alone refuses."""

    variants: tuple[dict[str, Any], ...] = ({},)
    measures: tuple[tk.Measure, ...] = (MAX, RANGE, ZCDP)
    metric: tk.Metric = UP
    wrong: tuple[Wrong, ...] = ()


ROWS = {
    "make_canonical_top_k": Row(
        tuple(
            {"noise": noise, "optimize": optimize, "utility": utility}
            for noise in (tk.noise.Gumbel(), tk.noise.Exponential())
            for optimize, utility in (("max", "margin"), ("min", "distance"))
        ),
        wrong=tuple(("noise", one, ParameterError, "must be Gumbel() or Exponential()") for one in NOISES[2:]),
    ),
    "make_exponential_mechanism": Row(({}, {"optimize": "min"})),
    "make_gaussian": Row(
        measures=(ZCDP,),
        metric=tk.L2Distance(),
        wrong=tuple(("output_measure", one, ParameterTypeError, "must be Zero") for one in (MAX, RANGE)),
    ),
    "make_joint_top_k": Row(({}, {"optimize": "min", "release": "set"})),
    "make_laplace": Row(metric=tk.L1Distance()),
    "make_noisy_histogram": Row(metric=tk.L01InfDistance(changes=2)),
    "make_noisy_top_k_with_gaps": Row(tuple({"noise": noise} for noise in NOISES)),
    "make_peeled_top_k": Row(({"mechanism": "exponential"}, {"mechanism": "permute_and_flip"})),
    "make_permute_and_flip": Row(({}, {"optimize": "min"})),
    "make_report_noisy_top_k": Row(
        (
            *({"optimize": one, "release": release} for one in ("max", "min") for release in ("ranking", "set")),
            *({"noise": noise, "release": release} for noise in NOISES for release in ("ranking", "set")),
        )
    ),
    "make_select_then_count": Row(
        ({}, {"release": "set"}),
        (MAX, ZCDP),
        wrong=(
            ("input_metric", tk.RangeDistance(), ParameterTypeError, "counts need a bound on every score"),
            ("output_measure", RANGE, ParameterTypeError, "must be MaxDivergence(), Zero"),
        ),
    ),
}
VARIANTS = [(name, options) for name, row in ROWS.items() for options in row.variants]


def is_integrated(name: str, options: dict[str, Any]) -> bool:
    """Whether the law is the result of a quadrature, which takes long where scores are far apart."""
    return name == "make_report_noisy_top_k" and options.get("noise") in NOISES[2:]


def shown(name: str, options: dict[str, Any]) -> str:
    return "-".join([name.removeprefix("make_"), *(getattr(one, "name", one) for one in options.values())])


EVERY = pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(*one, id=shown(*one), marks=[pytest.mark.slow] if is_integrated(*one) else []) for one in VARIANTS],
)


def test_every_mechanism_has_a_row() -> None:
    assert ROWS.keys() == MECHANISMS.keys()


def taken(name: str) -> set[str]:
    return set(inspect.signature(getattr(tk, name)).parameters)


def sized(size: int | None, kind: type = int) -> tk.VectorDomain:
    return tk.VectorDomain(tk.AtomDomain(kind), size=size)


def given(name: str, options: dict[str, Any], scale: Any, k: int = 2, **others: Any) -> dict[str, Any]:
    """The arguments by name of a mechanism that has no parameter but those that some other has as well."""
    called = {"k": k, "scale": scale, "count_scale": scale, **others}
    return {one: value for one, value in called.items() if one in taken(name)} | options


def built(name: str, options: dict[str, Any], domain: tk.VectorDomain, scale: Any, **others: Any) -> tk.Measurement:
    """With the first of its measures."""
    row, arguments = ROWS[name], given(name, options, scale, **others)
    made: tk.Measurement = getattr(tk, name)(domain, row.metric, row.measures[0], **arguments)
    return made


@EVERY
def test_obligations(name: str, options: dict[str, Any]) -> None:
    make, then = getattr(tk, name), getattr(tk, name.replace("make_", "then_"))
    size = 3 if is_integrated(name, options) else 4
    members = [[3, 1, 2, 2], (2**70, 0, 1, 2**70 + 1), np.array([0, -5, 2**62, 7])]
    near = [([3, 1, 2, 2], [4, 1, 3, 2], 1), ([3, 1, 2, 2], [4, 0, 2, 2], 2), ([0, 0, 0, 0], [0, 1, 1, 0], 1)]
    for measure in ROWS[name].measures:
        made = check_constructor(make, then, (sized(size), ROWS[name].metric), measure, **given(name, options, 1.5))
        check_measurement(
            made,
            members=members if size == 4 else [[3, 1, 2], np.array([0, -5, 7])],
            non_members=[[1, 2], [1.0] * size, [True, 1, 2, 3][:size], "abcd"[:size], None, [[1, 2]] * size],
            distances=[Fraction(1, 3), 0.5, 1, 2, 100],
            neighbours=[
                (x[:size], y[:size], d_in) for x, y, d_in in near[: 3 if size == 4 else 1] if made.declared.law
            ],
        )
        assert (made.proof.name, made.proof.status) == (name.replace("make_", "measurements/"), "current")
        named = {"choice" if one == "mechanism" else one: options[one] for one in options}
        asked = {one: getattr(value, "name", value) for one, value in named.items()}
        assert made.parameters.items() >= ({"scale": 1.5} | asked).items()


ON_A_GRID = [name for name in ROWS if "granularity" in taken(name)]


@pytest.mark.parametrize("name", ON_A_GRID)
def test_obligations_with_floats(name: str) -> None:
    make, metric = getattr(tk, name), ROWS[name].metric
    arguments = given(name, {}, 1.5, k=1, granularity=Fraction(1, 3))
    for measure in ROWS[name].measures:
        made = make(sized(3, float), metric, measure, **arguments)
        check_measurement(
            made,
            members=[[3.0, 1.5, -2.0], np.array([0.0, 1e300, 5e-324])],
            non_members=[[1.0, 2.0], [1, 2, 3], [math.nan, 0.0, 0.0], None],
            distances=[Fraction(1, 3000), 0.5, 1, 2, 100],
        )
        assert Fraction(made.parameters["granularity"]) == Fraction(1, 3)


def exact(name: str, options: dict[str, Any], scores: Sequence[int], k: int) -> Any:
    """What a mechanism releases without noise: the scores, or the k best by Python's stable sort."""
    if not {"k", "optimize"} & taken(name):
        return list(scores)
    sign = -1 if options.get("optimize", "max") == "max" else 1
    ranked = sorted(range(len(scores)), key=lambda i: sign * scores[i])
    if "k" not in taken(name):
        return ranked[0]
    return sorted(ranked[:k]) if options.get("release") == "set" or "utility" in taken(name) else ranked[:k]


@EVERY
def test_the_best_come_out_where_noise_hardly_matters(name: str, options: dict[str, Any]) -> None:
    """Without any, the lowest index wins ties, and the law has one outcome."""
    ties, apart = [5, 9, 5, 9, 1], (np.arange(50) * 1000)[:: -1 if options.get("optimize") == "min" else 1]
    noiseless, noisy = built(name, options, sized(None), 0, k=3), built(name, options, sized(None), 1, k=4)
    if taken(name) & {"k", "optimize"}:
        assert winners(noisy(apart)) == exact(name, options, apart.tolist(), 4)
    assert winners(noiseless(ties)) == exact(name, options, ties, 3)
    if noiseless.declared.law:
        known = exact(name, options, ties, 3)
        assert noiseless.distribution(ties) == {tuple(known) if isinstance(known, list) else known: 1}


def winners(release: Any) -> Any:
    """The indices of a release, which is these or has them."""
    indices = release.indices if isinstance(release, tk.Release) else release
    assert isinstance(indices, int) or indices.dtype == np.int64
    return indices if isinstance(indices, int) else indices.tolist()


@EVERY
def test_bad_scores_draw_nothing(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda n: pytest.fail("randomness was drawn"))
    kind, grid = (int if name == "make_noisy_histogram" else float), {"granularity": 1} if name in ON_A_GRID else {}
    cases: list[tuple[Any, type[Exception], str]] = [
        ([], DataError, "at least one element"),
        (np.array([[SENTINEL_FLOAT, 1.0]]), DataTypeError, "one-dimensional"),
        (None, DataTypeError, "one-dimensional array, list or tuple"),
    ]
    if kind is float:
        found = (math.nan, math.inf, -math.inf)
        cases += [([SENTINEL_FLOAT, one, 1.0], DataError, "scores must be finite") for one in found]
        cases += [([SENTINEL_INT, 2], DataTypeError, "must be floats")]
    if "k" in taken(name):
        cases += [([kind(SENTINEL_INT)], DataError, "at least k")]
    for scale in (0, 1.0):
        measurement = built(name, options, sized(3 if grid and "k" not in taken(name) else None, kind), scale, **grid)
        for scores, error, words in cases:
            raises_exactly(error, functools.partial(measurement, scores), words)
        if "k" in taken(name):
            call = functools.partial(measurement.accuracy, 1)
            raises_exactly(ParameterError, call, "n_candidates must be at least k")


@EVERY
def test_the_map_at_the_ends(name: str, options: dict[str, Any]) -> None:
    """Nothing is lost between equal tables, all without noise; and no scale is too small or too large for a float."""

    for measure in ROWS[name].measures:

        def mapped(d_in: Any, scale: Any, size: int | None = None, k: int = 2, measure: tk.Measure = measure) -> Any:
            make = getattr(tk, name)
            return make(sized(size), ROWS[name].metric, measure, **given(name, options, scale, k)).map(d_in)

        assert mapped(0, 1.5) == mapped(0, 0) == mapped(0.0, 0) == 0
        assert mapped(1, 0) == mapped(math.inf, 1.5) == mapped(10**300, 5e-324) == math.inf
        assert 0 < mapped(1, Fraction(10) ** 400) <= 5e-324
        if "release" in taken(name) and "count_scale" not in taken(name):
            assert mapped(5, 0, size=3, k=3) == (0 if options.get("release") == "set" else math.inf)


@pytest.mark.quick
@EVERY
def test_one_candidate_costs_nothing(name: str, options: dict[str, Any]) -> None:
    if not {"k", "optimize"} & taken(name) or name in ("make_select_then_count", "make_noisy_top_k_with_gaps"):
        return
    for measure in (*ROWS[name].measures, tk.PrivacyProfile()):
        for size in (1, 2):
            made = getattr(tk, name)(sized(size), UP, measure, **given(name, options, 2, k=1))
            free = [measure.at_most(made.map(d_in), 0) for d_in in (1, 7, Fraction(7, 3), 1e300)]
            assert free == [size == 1] * 4


@pytest.mark.parametrize("size", [3, None])
@pytest.mark.parametrize("name", ["make_canonical_top_k", "make_joint_top_k"])
def test_a_set_with_no_choice(name: str, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda n: pytest.fail("randomness was drawn"))
    everyone = built(name, {} if "canonical" in name else {"release": "set"}, sized(size), 2, k=3)
    assert everyone([5, 9, 1]).tolist() == [0, 1, 2]
    assert everyone.distribution([5, 9, 1]) == {(0, 1, 2): 1}
    assert (everyone.map(1) == 0) == (size is not None)


@pytest.mark.parametrize(("name", "options"), [one for one in VARIANTS if "canonical" in one[0] or "joint" in one[0]])
def test_many_winners_of_many_candidates(name: str, options: dict[str, Any]) -> None:
    zipf = (10**5 / np.arange(1, 2001)).astype(np.int64)
    for k, scale in ((200, 0.01), (200, 1000), (1999, 10), (1, 10)):
        chosen = built(name, options, sized(None), scale, k=k)(zipf).tolist()
        assert len(set(chosen)) == k
        assert (name, options) == ("make_joint_top_k", {}) or chosen == sorted(chosen)


ONE, K, TWICE = math.log(50 / 0.1), math.log(150 / 0.1), math.log(100 / 0.1)
BOUNDS = {"Gumbel": K, "Exponential": ONE, "HalfLogistic": TWICE, "Laplace": 2 * ONE, "Logistic": 2 * TWICE}
ACCURATE: list[tuple[str, dict[str, Any], float]] = [
    *(("make_report_noisy_top_k", {"noise": noise}, BOUNDS[noise.name]) for noise in NOISES),
    *(("make_noisy_top_k_with_gaps", {"noise": noise}, BOUNDS[noise.name]) for noise in NOISES),
    *((name, {}, ONE) for name in ("make_exponential_mechanism", "make_permute_and_flip", "make_select_then_count")),
    *(("make_peeled_top_k", {"mechanism": one}, K) for one in ("exponential", "permute_and_flip")),
    ("make_canonical_top_k", {}, 2 * math.log(math.comb(50, 3) / 0.1)),
    ("make_joint_top_k", {}, math.log(math.perm(50, 3) / 0.1)),
    ("make_joint_top_k", {"release": "set"}, math.log(math.comb(50, 3) / 0.1)),
]


@pytest.mark.parametrize(("name", "options", "bound"), ACCURATE)
def test_accuracy_is_the_theorem(name: str, options: dict[str, Any], bound: float) -> None:
    """Three of fifty candidates at alpha = 1/10."""
    noisy, exact = (built(name, options, sized(None), scale, k=3) for scale in (2, 0))
    assert noisy.accuracy(50, 0.1) == pytest.approx(2 * bound)
    assert exact.accuracy(50, 0.1) == 0


WRONG: dict[str, list[tuple[Any, type[Exception], str]]] = {
    "k": [(6, ParameterError, "k must be at most the size of input_domain (5)")],
    "scale": [(-1.0, ParameterError, "scale must be >= 0"), (math.inf, ParameterError, "scale must be finite")],
    "optimize": [("largest", ParameterError, "optimize must be one of 'max', 'min'")],
    "release": [("list", ParameterError, "release must be one of 'ranking', 'set'")],
    "utility": [("published", ParameterError, "utility must be one of 'margin', 'distance'")],
    "mechanism": [("gumbel", ParameterError, "mechanism must be one of 'exponential', 'permute_and_flip'")],
    "granularity": [(1, ParameterError, "granularity must be omitted")],
    "gamma": [
        *(
            (one, ParameterError, "gamma must be between 0 and 1")
            for one in (-0.01, Fraction(101, 100), math.nan, math.inf)
        ),
        *((one, ParameterTypeError, "gamma must be a number in [0, 1]") for one in (True, "1/2", None)),
    ],
    "noise": [(one, ParameterTypeError, "noise must be Gumbel()") for one in (tk.noise.Gumbel, "Gumbel")],
    "input_domain": [(one, SpaceError, "does not measure") for one in (tk.AtomDomain(int), tk.FrameDomain("u", "i"))],
}
"""Beyond what every constructor refuses of such parameters."""


@pytest.mark.parametrize("name", ROWS)
def test_bad_arguments(name: str) -> None:
    row = ROWS[name]
    right = {"input_domain": sized(5), "input_metric": row.metric, "output_measure": row.measures[0]}
    right |= given(name, row.variants[0], 1.0)
    getattr(tk, name)(**right)
    metric = f"{type(row.metric).__name__}("
    measure = "" if "gaussian" in taken(name) else f"{type(row.measures[0]).__name__}("  # else it follows the measure
    strange: list[Any] = [one for one in (tk.L1Distance(), tk.L2Distance()) if one != row.metric]
    cases = WRONG | {
        "input_metric": [
            (one, ParameterTypeError, f"input_metric must be {metric}") for one in (*strange, tk.UserDistance())
        ],
        "output_measure": [
            (one, ParameterTypeError, f"output_measure must be {measure}")
            for one in (tk.Approximate(RANGE), tk.Approximate(MAX))
        ],
    }
    own: list[Wrong] = [(one, *case) for one in taken(name) & cases.keys() for case in cases[one]]
    if name in ON_A_GRID:
        own.append(("input_domain", FLOATS, ParameterError, "granularity must be given"))
    for parameter, value, error, words in (*own, *row.wrong):
        raises_exactly(error, functools.partial(getattr(tk, name), **right | {parameter: value}), words)


# Releases of every mechanism against its law: an error of one in twenty on the likeliest outcome is detected.


SPECIMENS = [
    pytest.param(specimen, id=f"{name}-{n}", marks=[] if specimen.draws else pytest.mark.slow)
    for name in sorted(shipped.find_constructors())
    for n, specimen in enumerate(specimens_of(name))
]


@pytest.mark.parametrize("specimen", SPECIMENS)
def test_an_error_of_five_percent_would_be_noticed(specimen: Specimen) -> None:
    law = specimen.law(specimen.pair[0])
    counts = Counter(specimen.samples(enough(max(law.values()))))
    assert_follows(counts, law, detects=0.05)
    for planted in (0.05, -0.05):
        assert p_value(counts, tilted(law, planted)) < ODDS


def test_every_mechanism_that_draws_from_scores_is_sampled() -> None:
    assert set(MECHANISMS) <= set(shipped.find_constructors())
    assert len(SPECIMENS) >= len(shipped.find_constructors())
    assert LARGEST_ERROR <= 0.05


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("error", [0.05, 0.01])
def test_the_power_that_is_stated_is_the_power(p: float, error: float) -> None:
    """Half of the arc to the error is left to chance on each side: just beyond its middle samples are refused."""
    n = enough(p, error)
    assert error * 0.999 < smallest_error(n, p) <= error
    assert smallest_error(n - n // 50, p) > error
    law: dict[Any, float] = {True: p, False: 1 - p}
    arc = min(abs(math.asin(math.sqrt(p * (1 + sign * error))) - math.asin(math.sqrt(p))) for sign in (1, -1))
    for sign in (1, -1):
        refused, accepted = (_share(math.asin(math.sqrt(p)) + sign * part * arc, n) for part in (0.51, 0.45))
        assert p_value(refused, law) < ODDS < p_value(accepted, law)
        with pytest.raises(AssertionError, match="deviate"):
            assert_follows(refused, law, detects=error)


def _share(angle: float, n: int) -> dict[Any, int]:
    found = round(n * math.sin(angle) ** 2)
    return {True: found, False: n - found}


def test_a_test_that_detects_too_little_must_say_so() -> None:
    law, counts = {"a": 0.5, "b": 0.5}, {"a": 500, "b": 500}
    with pytest.raises(AssertionError, match="1000 samples detect an error of 0"):
        assert_follows(counts, law)
    assert_follows(counts, law, detects=0.42)
    assert smallest_error(100, 0.01) == float("inf")


@pytest.mark.parametrize("expected", [0.5, 20, 60, 200])
def test_odds_are_exact_where_little_is_expected(expected: float) -> None:
    """The first count of a cell that is refused is the first whose binomial tail is its part of the odds."""
    n, cells = 100_000, 200
    p = expected / n
    law = {"most": 1 - cells * p} | dict.fromkeys(range(cells), p)

    def refused(count: int) -> bool:
        others = {i: int((i + 1) * expected) - int(i * expected) for i in range(1, cells)}
        counts = {0: count} | others
        return p_value(counts | {"most": n - sum(counts.values())}, law) < ODDS

    def beyond(count: int) -> float:
        with mpmath.workdps(40):
            return float(mpmath.betainc(count, n - count + 1, 0, p, regularized=True))

    likely = int(expected + 6 * math.sqrt(expected))
    exact = next(count for count in itertools.count(likely) if 8 * cells * beyond(count) < ODDS)
    assert [refused(exact - 1), refused(exact)] == [False, True]


# Sources that repeat themselves or fall short: an error at once, or after few reads, and never an endless loop.


Source = Callable[[int], bytes]
CONSTRUCTORS = [name for name in tk.__all__ if name.startswith("make_")]
ALIKE = np.zeros(3000, dtype=np.int64)
COUNTS = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
FAIR = os.urandom
MOST_READS, MOST_BYTES = 20_000, 2**28


class Endless(BaseException):
    """More was read than any release needs."""


class Stream:
    """The bytes of a source one after another, each handed out once."""

    def __init__(self, chunks: Callable[[], bytes]) -> None:
        self.chunks, self.left = chunks, b""

    def __call__(self, n: int) -> bytes:
        while len(self.left) < n:
            self.left += self.chunks()
        found, self.left = self.left[:n], self.left[n:]
        return found


def period(n: int, seed: int = 7) -> Source:
    round_ = random.Random(seed).randbytes(n) * (2**12 // n + 1)
    return Stream(lambda: round_)


def stuck() -> Source:
    """The last bit of every byte is never set; the others are fair."""
    return lambda n: bytes(byte & 0xFE for byte in FAIR(n)) if n < 2**16 else bytes(n)


AT_ONCE: dict[str, Source] = {
    "zeros": bytes,
    "ones": lambda n: b"\xff" * n,
    "alternating bits": lambda n: b"\xaa" * n,
    "the other alternating bits": lambda n: b"\x55" * n,
    "alternating bytes": lambda n: (b"\x00\xff" * n)[:n],
    "a period of 3": period(3),
    "a period of 16": period(16),
    "a period of 29": period(29),
    "one byte too few": lambda n: FAIR(n)[1:],
    "no bytes": lambda _: b"",
    "a byte too many": lambda n: FAIR(n) + b"a",
}
SOON: dict[str, Callable[[], Source]] = {
    "the same for the same question": lambda: lambda n: random.Random(n).randbytes(n),
    "a period of 256": lambda: period(256),
    "a period of 1000": lambda: period(1000),
    "a stuck bit": stuck,
}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Source], list[int]]:
    """Let this be the system's source; what it was asked for."""

    def install(source: Source) -> list[int]:
        asked: list[int] = []

        def urandom(n: int) -> bytes:
            asked.append(n)
            if len(asked) > MOST_READS or sum(asked) > MOST_BYTES:
                raise Endless
            return source(n)

        monkeypatch.setattr(entropy, "_WATCH", entropy._RepetitionDetector())
        monkeypatch.setattr(os, "urandom", urandom)
        return asked

    return install


def releases() -> dict[str, Callable[[], Any]]:
    """Releases of every kind that draw, of scores that are alike, so that much has to be drawn."""
    noise = tk.make_laplace(COUNTS[0], tk.L1Distance(), PURE, scale=Fraction(200, 3))
    gaussian = tk.make_gaussian(COUNTS[0], tk.L2Distance(), ZCDP, scale=Fraction(7, 3))
    made: dict[str, tuple[Any, Any]] = {
        "one-shot exponential": (COUNTS >> tk.then_report_noisy_top_k(PURE, k=3, scale=2.0), ALIKE),
        "one-shot Gumbel": (COUNTS >> tk.then_report_noisy_top_k(ZCDP, k=3, scale=2.0), ALIKE),
        "a long vector": (COUNTS >> tk.then_report_noisy_top_k(ZCDP, k=3, scale=2.0), np.zeros(10**5, dtype=np.int64)),
        "a set": (COUNTS >> tk.then_report_noisy_top_k(PURE, k=50, scale=2.0, release="set"), ALIKE),
        "peeled": (COUNTS >> tk.then_peeled_top_k(PURE, k=5, scale=2.0, mechanism="exponential"), ALIKE),
        "peeled by flips": (COUNTS >> tk.then_peeled_top_k(PURE, k=5, scale=2.0, mechanism="permute_and_flip"), ALIKE),
        "canonical": (COUNTS >> tk.then_canonical_top_k(PURE, k=5, scale=2.0, noise=tk.noise.Gumbel()), ALIKE),
        "canonical exponential": (
            COUNTS >> tk.then_canonical_top_k(PURE, k=5, scale=2, noise=tk.noise.Exponential()),
            ALIKE,
        ),
        "joint": (COUNTS >> tk.then_joint_top_k(PURE, k=5, scale=2.0), ALIKE),
        "joint set": (COUNTS >> tk.then_joint_top_k(PURE, k=5, scale=2.0, release="set"), ALIKE),
        "gaps": (COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=5, scale=2.0), ALIKE),
        "counts": (COUNTS >> tk.then_select_then_count(ZCDP, k=5, scale=2.0, count_scale=9), ALIKE),
        "a value of Laplace noise": (noise, ALIKE[:1]),
        "values of Laplace noise": (noise, ALIKE),
        "a value of Gaussian noise": (gaussian, ALIKE[:1]),
        "values of Gaussian noise": (gaussian, ALIKE),
        "many values of Gaussian noise": (gaussian, np.zeros(2**19, dtype=np.int64)),
    }
    return {name: lambda one=one: one[0](one[1]) for name, one in made.items()}  # type: ignore[misc]


RELEASES = releases()


def again_and_again(release: Callable[[], Any]) -> None:
    while True:
        release()


@pytest.mark.quick(kind=("zeros", "a period of 29", "one byte too few"))
@pytest.mark.parametrize("kind", AT_ONCE)
@pytest.mark.parametrize("release", RELEASES)
def test_a_broken_source_ends_the_first_read(release: str, kind: str, broken: Callable[[Source], list[int]]) -> None:
    asked = broken(AT_ONCE[kind])
    raises_exactly(PlatformError, lambda: RELEASES[release](), "source of randomness")
    assert len(asked) == 1


@pytest.mark.quick(kind="the same for the same question")
@pytest.mark.parametrize("kind", SOON)
@pytest.mark.parametrize("release", RELEASES)
def test_repeating_sources_are_noticed_soon(release: str, kind: str, broken: Callable[[Source], list[int]]) -> None:
    broken(SOON[kind]())
    raises_exactly(PlatformError, lambda: again_and_again(RELEASES[release]), "returned repeated values")


def noticed(release: Callable[[], Any]) -> bool:
    """Whether one of five releases tells of the source."""
    try:
        for _ in range(5):
            release()
    except PlatformError:
        return True
    return False


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_constructor_draws_nothing_or_tells_of_a_source(name: str, broken: Callable[[Source], list[int]]) -> None:
    for specimen in specimens_of(name):
        for source in (AT_ONCE["zeros"], AT_ONCE["one byte too few"], SOON["the same for the same question"]()):
            asked = broken(source)
            assert noticed(lambda: specimen.cell(specimen.released, specimen.pair[0])) == bool(asked)  # noqa: B023


PASSED_ON = ("_to_", "approximate", "fix_delta", "followed_by", "padded", "minimum_users", "_user_")
"""Links that have the parameters of another one, or of somebody else."""


def test_parameters_name_the_constructor() -> None:
    """Plans, records and audits tell measurements by them."""
    for name in (one for one in tk.__all__ if one.startswith("make_")):
        link, own = specimens_of(name)[0].link, name.removeprefix("make_")
        if not any(part in name for part in PASSED_ON):
            assert own in (link.parameters.get("mechanism"), link.parameters.get("transformation")), name
