"""Specimens of every mechanism: three scores far enough apart that one outcome is likely, and laws by brute force."""

import itertools
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

import opendp_topk as tk
from opendp_topk.sampling.noises.noise import Noise
from tests.oracles import canonical, discrete, floats, gaps, joint

from .links import as_outcome
from .specimens import Law, Specimen

SCALE = 2
PAIR = (8, 4, 0), (8, 5, 1)
"""In scales 4, 2 and 0; a step of the range distance raises both that are behind, or one of them."""
CLOSER, LAST = ((8, 4, 0), (8, 5, 0)), ((8, 4, 0), (8, 4, 1))
HALF = Fraction(1, 2)
CUTS = (1.0,)
MAX = tk.MaxDivergence()
INTEGERS = tk.VectorDomain(tk.AtomDomain(int))
NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
Rows = Callable[[Any], Any]


def _built(make: Callable[..., Any], metric: tk.Metric | None = None, measure: tk.Measure = MAX, **options: Any) -> Any:
    return make(INTEGERS, metric or tk.RangeDistance(), measure, **{"scale": SCALE} | options)


def _enumerated(rows: Rows, k: int = 0) -> Callable[[Any], Law]:
    """The law of rankings of ``k`` winners, or of one index where ``k`` is 0, from that of a row of scores."""

    def law(x: Any) -> Law:
        outcomes: list[Any] = list(itertools.permutations(range(len(x)), k)) if k else list(range(len(x)))
        return dict(zip(outcomes, rows(np.array([x]) / SCALE)[0].tolist(), strict=True))

    return law


def _one_shot(noise: Any, k: int) -> Callable[[Any], Law]:
    return _enumerated(lambda scores: floats.one_shot(noise.name, scores, k), k)


def _single(make: Callable[..., Any], choice: Rows) -> list[Specimen]:
    return [Specimen(_built(make), PAIR, _enumerated(choice))]


def _canonical() -> list[Specimen]:
    found = []
    for noise, law in ((tk.noise.Gumbel(), canonical.gumbel_law), (tk.noise.Exponential(), canonical.flip_law)):
        link = _built(tk.make_canonical_top_k, k=2, noise=noise)
        found.append(Specimen(link, CLOSER, lambda x, law=law: law(x, 2, Fraction(SCALE), HALF, "margin")))
    return found


def _joint() -> list[Specimen]:
    """Rankings are drawn many at once, sets one by one."""

    def together(n: int) -> list[Hashable]:
        return list(map(as_outcome, tk.make_repeat(ranking, times=n)(LAST[0])))

    def law(ordered: bool) -> Callable[[Any], Law]:
        return lambda x: joint.law(x, 2, Fraction(SCALE), ordered)

    ranking, members = (_built(tk.make_joint_top_k, k=2, release=release) for release in ("ranking", "set"))
    ranked = Specimen(ranking, LAST, law(True), share=0.4, draws=together)
    return [ranked, Specimen(members, LAST, law(False), share=0.4)]


def _peeled() -> list[Specimen]:
    return [
        Specimen(
            _built(tk.make_peeled_top_k, k=2, mechanism=name),
            PAIR,
            _enumerated(lambda scores, choice=choice: floats.peeled(choice, scores, 2), 2),
        )
        for name, choice in (("exponential", floats.softmax), ("permute_and_flip", floats.flip))
    ]


def _report_noisy() -> list[Specimen]:
    return [
        *(
            Specimen(_built(tk.make_report_noisy_top_k, measure=measure, k=2), PAIR, _one_shot(noise, 2))
            for measure, noise in ((MAX, tk.noise.Exponential()), (tk.RangeDivergence(), tk.noise.Gumbel()))
        ),
        *(
            Specimen(_built(tk.make_report_noisy_top_k, k=2, noise=noise), PAIR, _one_shot(noise, 2), share=0.3)
            for noise in NOISES
        ),
    ]


def _with_gaps() -> list[Specimen]:
    """The gap of the winner is above one scale, or not."""

    def cell(measurement: Any, x: Any) -> Hashable:
        found = measurement(x)
        return tuple(found.indices.tolist()), tuple(sum(gap / SCALE > cut for cut in CUTS) for gap in found.gaps)

    def law(x: Any, noise: Any) -> Law:
        return gaps.binned(noise.name, [score / SCALE for score in x], 1, CUTS)

    return [
        Specimen(
            _built(tk.make_noisy_top_k_with_gaps, k=1, noise=noise),
            PAIR,
            lambda x, noise=noise: law(x, noise),
            cell=cell,
            share=0.3,
        )
        for noise in NOISES
    ]


def _counted(name: str, measure: tk.Measure, winner: Noise) -> Specimen:
    """The winner, and its noisy count, merged where it is further than 3 from what the first neighbour has."""
    select = _one_shot(winner, 1)

    def cell(measurement: Any, x: Any) -> Hashable:
        found = measurement(x)
        winner = int(found.indices[0])
        return (winner, *discrete.counted((int(found.counts[0]) - PAIR[0][winner],), -3, 3))

    def law(x: Any) -> Law:
        counts = [_shifted(name, score - first) for score, first in zip(x, PAIR[0], strict=True)]
        return {(i, z): p * q for (i,), p in select(x).items() for z, q in counts[i].items()}

    metric = tk.LInfDistance(monotonic=True)
    link = _built(tk.make_select_then_count, metric, measure, k=1, count_scale=HALF)
    return Specimen(link, PAIR, law, cell=cell)


def _shifted(name: str, score: int) -> Law:
    """A score with noise of scale 1/2, merged beyond -3 and 3."""
    with mpmath.workdps(45):
        return discrete.pooled({z + score: p for z, p in discrete.masses(name, HALF).items()}, -3, 3)


FEW = tk.L01InfDistance(changes=1)


def _noisy_scores(make: Callable[..., Any], metric: tk.Metric, measure: tk.Measure, name: str) -> list[Specimen]:
    """One score, moved by one; many independent releases of it are one release of many scores."""
    link = make(INTEGERS, metric, measure, scale=HALF)

    def cells(x: Any) -> list[Hashable]:
        return list(discrete.counted(link(x).tolist(), -3, 3).elements())

    return [
        Specimen(
            link,
            ((0,), (1,)),
            lambda x: _shifted(name, x[0]),
            cell=lambda _, x: cells(x)[0],
            draws=lambda n: cells(np.zeros(n, dtype=np.int64)),
        )
    ]


MECHANISMS: dict[str, Callable[[], list[Specimen]]] = {
    "make_canonical_top_k": _canonical,
    "make_exponential_mechanism": lambda: _single(tk.make_exponential_mechanism, floats.softmax),
    "make_gaussian": lambda: _noisy_scores(
        tk.make_gaussian, tk.L2Distance(), tk.ZeroConcentratedDivergence(), "gaussian"
    ),
    "make_joint_top_k": _joint,
    "make_laplace": lambda: _noisy_scores(tk.make_laplace, tk.L1Distance(), MAX, "laplace"),
    "make_noisy_histogram": lambda: [
        *_noisy_scores(tk.make_noisy_histogram, FEW, MAX, "laplace"),
        *_noisy_scores(tk.make_noisy_histogram, FEW, tk.ZeroConcentratedDivergence(), "gaussian"),
    ],
    "make_noisy_top_k_with_gaps": _with_gaps,
    "make_peeled_top_k": _peeled,
    "make_permute_and_flip": lambda: _single(tk.make_permute_and_flip, floats.flip),
    "make_report_noisy_top_k": _report_noisy,
    "make_select_then_count": lambda: [
        _counted("laplace", MAX, tk.noise.Exponential()),
        _counted("gaussian", tk.ZeroConcentratedDivergence(), tk.noise.Gumbel()),
    ],
}
"""How every mechanism that draws from scores is tried; the first specimen of each is the plainest."""
