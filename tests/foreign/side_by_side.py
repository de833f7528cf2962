"""Quantiles, a good candidate, a threshold: here, and as people would do it otherwise.

``python -m tests.foreign.side_by_side`` writes the table into the tutorial on quantiles. Errors of this library are by
its exact law where it is one choice; others are drawn. It needs the extras ``foreign`` and ``cli``.
"""

import datetime
import inspect
import math
import re
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "quantiles.md"
HALF, QUARTERS = (Fraction(1, 2),), tuple(Fraction(n, 4) for n in (1, 2, 3))
BOUNDS = 0, 120
DISTINCT = list(range(121))
AGES = [18 + n * n % 61 for n in range(1000)]
EPSILONS = 1.0, 0.1
JOBS = {
    "median of 121 numbers": (DISTINCT, HALF),
    "median of 1,000 ages": (AGES, HALF),
    "9/10 of 1,000 ages": (AGES, (Fraction(9, 10),)),
    "quartiles of 121 numbers": (DISTINCT, QUARTERS),
}
Draw = Callable[[], Sequence[float]]
_NODES = 64  # with which Gauss and Legendre integrate polynomials of degree 127: more than the candidates have


def here(data: list[int], shares: Sequence[Fraction], epsilon: float) -> Draw:
    """This library, from a table of people."""
    import polars as pl

    table = pl.DataFrame({"person": range(len(data)), "value": data})
    rows, pure = (tk.FrameDomain("person", value="value"), tk.UserDistance()), tk.MaxDivergence()

    def make(scale: float) -> Any:
        if len(shares) == 1:
            scores: Any = rows >> tk.then_quantile_scores(quantile=shares[0], bounds=BOUNDS)
            return scores >> tk.then_report_noisy_top_k(pure, k=1, scale=scale)
        counts: Any = rows >> tk.then_count_by_number(bounds=BOUNDS)
        return counts >> tk.then_quantiles(pure, quantiles=list(shares), scale=scale, places=1)

    release = tk.binary_search_chain(make, d_in=1, d_out=epsilon) >> tk.index_candidates(tk.multiples(BOUNDS))
    return lambda: release(table)


def opendp(data: list[int], shares: Sequence[Fraction], epsilon: float) -> Draw:
    """OpenDP, whose quantiles are composed."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space, grid = (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()), list(range(BOUNDS[1] + 1))
    pure, each = dp.max_divergence(), epsilon / len(shares)

    def least(share: Fraction) -> Any:
        def make(scale: float) -> Any:
            return space >> dp.m.then_private_quantile(pure, grid, float(share), scale)

        return dp.binary_search_chain(make, d_in=1, d_out=each, T=float)

    found = list(map(least, shares))
    return lambda: [one(data) for one in found]


def diffprivlib(data: list[int], shares: Sequence[Fraction], epsilon: float) -> Draw:
    """Diffprivlib, whose quantiles are composed."""
    from diffprivlib import tools

    given = list(map(float, shares))
    return lambda: np.ravel(tools.quantile(data, given, epsilon=epsilon, bounds=BOUNDS)).tolist()


def by_hand(data: list[int], shares: Sequence[Fraction], epsilon: float) -> Draw:
    """The exponential mechanism over the same candidates, as textbooks have it."""
    ordered, grid, random = np.sort(data), np.arange(BOUNDS[1] + 1), np.random.default_rng()

    def one(share: Fraction) -> float:
        utility = -np.abs(np.searchsorted(ordered, grid) - float(share) * len(data))
        odds = np.exp(epsilon / len(shares) * utility / 2)
        return float(random.choice(grid, p=odds / odds.sum()))

    return lambda: list(map(one, shares))


WAYS: dict[str, Callable[[list[int], Sequence[Fraction], float], Draw]] = {
    "opendp_topk": here,
    "OpenDP": opendp,
    "diffprivlib": diffprivlib,
    "NumPy, by hand": by_hand,
}


def off(data: list[int], share: Fraction, number: float) -> float:
    """By how many rows a number fails to be the quantile."""
    values, q = np.asarray(data), float(share)
    below, above = int((values < number).sum()), int((values > number).sum())
    return max(below - q * len(values), above - (1 - q) * len(values), 0.0)


def unequal(data: list[int], share: Fraction, number: float) -> float:
    """How unequal the sides beside a number are, which is what OpenDP scores."""
    values, q = np.asarray(data), float(share)
    return abs((1 - q) * int((values < number).sum()) - q * int((values > number).sum()))


def exact(
    data: list[int], share: Fraction, epsilon: float, score: Callable[[list[int], Fraction, float], float] = off
) -> float:
    """The mean error of permute-and-flip by a score of which one row moves as much as it does one of the sides.

    With exponential noise on each score the best one has the same law.
    """
    numbers = range(BOUNDS[0], BOUNDS[1] + 1)
    fails = np.array([off(data, share, number) for number in numbers])
    scores = np.array([score(data, share, number) for number in numbers])
    weights = np.exp((scores.min() - scores) * epsilon / (2 * float(max(share, 1 - share))))
    nodes, sizes = np.polynomial.legendre.leggauss(_NODES)
    factors = 1 - weights * (nodes[:, None] + 1) / 2
    chances = [weights[one] * (sizes / 2 * np.delete(factors, one, 1).prod(1)).sum() for one in range(len(fails))]
    assert abs(sum(chances) - 1) < 1e-9
    return float(np.dot(chances, fails))


def drawn(data: list[int], shares: Sequence[Fraction], draw: Draw, draws: int) -> tuple[float, float]:
    """The mean error of the farthest quantile, and its standard error."""
    found = [max(off(data, *pair) for pair in zip(shares, draw(), strict=True)) for _ in range(draws)]
    return statistics.fmean(found), statistics.stdev(found) / math.sqrt(draws)


def lines(way: Callable[..., Any]) -> int:
    """How many lines of code somebody writes."""
    body = re.sub(r'""".*?"""', "", inspect.getsource(way), flags=re.DOTALL).splitlines()
    return sum(bool(line.strip()) for line in body) - 1


def candidate_price(epsilon: float, stop: float) -> dict[str, float]:
    """What the first of many runs that is good enough costs, where a run costs epsilon."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    kind = {"TO": "(f64, ExtrinsicObject)"}
    run = dp.m.make_user_measurement(
        *space, dp.max_divergence(), lambda rows: (1.0, rows), lambda d_in: d_in * epsilon, **kind
    )
    theirs = dp.c.make_select_private_candidate(run, stop_probability=stop, threshold=0.5)
    own = tk.make_user_measurement(
        tk.VectorDomain(tk.AtomDomain(int)),
        tk.LInfDistance(monotonic=True),
        tk.MaxDivergence(),
        function=lambda rows: (1, rows),
        privacy_map=lambda d_in: d_in * epsilon,
    )
    ours = tk.make_select_private_candidate(own, stop_probability=stop, threshold=0.5)
    return {"opendp_topk": ours.map(1), "OpenDP": theirs.map(1)}


def threshold_distance(epsilon: float, failing: float) -> dict[str, float]:
    """How far from a threshold a count must be for the answer to be right but for ``failing``.

    Exponential noise of scale 2 / epsilon on both sides here, whose difference has a Laplace law; by hand Laplace noise
    of scale 2 / epsilon on the threshold and 4 / epsilon on the count, as in Dwork and Roth's textbook.
    """
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    watch = space >> tk.then_above_threshold(tk.MaxDivergence(), threshold=0, scale=2 / epsilon, ask=[0])
    assert watch.map(1) <= epsilon
    own = 2 / epsilon * math.log(1 / (2 * failing))
    low, high = 0.0, 100 / epsilon
    while high - low > 1e-9 / epsilon:
        middle = (low + high) / 2
        tail = (4 * math.exp(-middle * epsilon / 4) - math.exp(-middle * epsilon / 2)) / 6
        low, high = (middle, high) if tail > failing else (low, middle)
    return {"opendp_topk": own, "NumPy, by hand": high}


def table(draws: int = 1000) -> str:
    """Every job in every way."""
    head = ["| job | way | lines | rows off, epsilon 1 | rows off, epsilon 0.1 | ms |", "|---|---|--:|--:|--:|--:|"]
    for job, (data, shares) in JOBS.items():
        for name, way in WAYS.items():
            errors = []
            for epsilon in EPSILONS:
                if way is here and len(shares) == 1:
                    errors.append(f"{exact(data, shares[0], epsilon):.2f}")
                else:
                    errors.append("{:.2f} ± {:.2f}".format(*drawn(data, shares, way(data, shares, epsilon), draws)))
            time_of_one = f"{_milliseconds(way(data, shares, 1.0)):.1f}"
            head.append(f"| {job} | {name} | {lines(way)} | {' | '.join(errors)} | {time_of_one} |")
    return "\n".join([*head, "", f"({datetime.date.today()}, {draws:,} draws)"])


def _milliseconds(draw: Draw, turns: int = 25) -> float:
    found = []
    for _ in range(turns):
        start = time.thread_time()
        draw()
        found.append(time.thread_time() - start)
    return 1000 * statistics.median(found)


def main() -> None:
    """Write the table into the page."""
    warnings.simplefilter("ignore")
    text = PAGE.read_text("utf-8")
    new = re.sub(
        r"(?<=<!-- side by side -->\n).*?(?=<!-- end -->)", lambda _: f"\n{table()}\n\n", text, flags=re.DOTALL
    )
    PAGE.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
