"""The scores of the benchmarks, and the release that most of them time."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opendp_topk as tk


def _zipf(d: int) -> Any:
    places = np.arange(1.0, d + 1)
    return np.divide(1e6, places, out=places)


def _one_peak(d: int) -> Any:
    x = np.zeros(d)
    x[d // 3] = 1e6
    return x


SHAPES: dict[str, Callable[[Any, int], Any]] = {
    "uniform": lambda draw, d: draw.uniform(0, 1000, d),
    "Zipf, sorted": lambda draw, d: _zipf(d),
    "Zipf, shuffled": lambda draw, d: draw.permutation(_zipf(d)),
    "equal": lambda draw, d: np.full(d, 7.0),
    "one peak": lambda draw, d: _one_peak(d),
    "normal": lambda draw, d: draw.normal(0, 100, d),
}


def shapes(d: int) -> Iterator[tuple[str, Any]]:
    """d scores of each shape, the same each time; one vector is there at a time."""
    draw = np.random.default_rng(0)
    for name, make in SHAPES.items():
        yield name, make(draw, d)


def scores(shape: str, d: int) -> Any:
    """d scores of a shape, the same as among all."""
    return next(x for name, x in shapes(d) if name == shape)


def ranking(x: Any, k: int, scale: float = 10.0, measure: tk.Measure | None = None, **options: Any) -> tk.Measurement:
    """The k best of scores as x are, by exponential noise where no measure is named."""
    kind = float if x.dtype.kind == "f" else int
    space = tk.VectorDomain(tk.AtomDomain(kind)), tk.LInfDistance(monotonic=True)
    return space >> tk.then_report_noisy_top_k(measure or tk.MaxDivergence(), k=k, scale=scale, **options)


def inexact(x: Any, k: int, noise: Callable[..., Any]) -> Any:
    """The same in float64, with the noise of a generator: the k largest sums, best first."""
    noisy = noise(scale=10.0, size=len(x))
    noisy += x
    best = np.argpartition(noisy, -k)[-k:]
    return best[np.argsort(-noisy[best])]


def inexact_rows(x: Any, k: int, noise: Callable[..., Any]) -> Any:
    """The same for each row of a table."""
    noisy = noise(scale=10.0, size=x.shape)
    noisy += x
    best = np.argpartition(noisy, -k, axis=1)[:, -k:]
    return np.take_along_axis(best, np.argsort(-np.take_along_axis(noisy, best, 1), axis=1), 1)
