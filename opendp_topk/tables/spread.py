"""How many rows have each number of a grid, of no more than so many rows of each user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .capping import first_places
from .frames import _collect, kinds
from .guard import guarded, require_below
from .spark import exact
from .totals import in_steps

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# proof-region: spread
def rows_by_number(rows: Rows, step: float, farthest: int, bounds: tuple[int, int], most: int) -> NDArray[np.int64]:
    """For each whole number of steps within ``bounds``, in order, how many rows have it.

    A number becomes the whole number of steps nearest to it, as in ``totals_by_item``, and what is beyond a bound
    becomes this bound. Of a user with more than ``most`` rows so many count, evenly spaced in the order of their
    numbers: of n rows those at the places floor((2 j + 1) n / (2 most)), from 0. With one this is the median. Rows with
    a null or NaN are dropped.

    Args:
        rows: What ``identifier_columns`` returned for users and numbers.
        step: The step, > 0 and at most 2^22.
        farthest: As in ``totals_by_item``.
        bounds: The least and the greatest number, in steps, no more than ``farthest`` from 0.
        most: From 1 to 2^20.

    Raises:
        TableError: The back end failed.
        OutOfBoundsError: There are 2^32 rows or more.
    """
    types, held = kinds(rows), rows.held()  # [held]
    return guarded(lambda: _rows_by_number(held, types, step, farthest, bounds, most))


def _rows_by_number(
    rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int, bounds: tuple[int, int], most: int
) -> NDArray[np.int64]:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        rows = nw.from_native(exact(rows.to_native().toDF("user", "value"), "user"))  # [spark-columns]
    placed = in_steps(rows, ("user",), types, step, farthest)
    within = placed.with_columns(nw.col("value").clip(*bounds))  # [clamp]
    found = _collect(within.group_by("user", "value").agg(nw.len().alias("rows"))).sort("user", "value")  # [in-order]
    sizes, numbers = (found[name].to_numpy().astype(np.int64) for name in ("rows", "value"))
    require_below(float(sizes.sum(dtype=np.float64)), 32, "rows")  # [check-size]
    counts = np.zeros(bounds[1] - bounds[0] + 1, dtype=np.int64)
    np.add.at(counts, numbers - bounds[0], _spaced(sizes, first_places(found["user"]), most))  # [count]
    return counts


def _spaced(sizes: NDArray[np.int64], starts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """How many of ``sizes`` equal rows count, where those of a user lie side by side and begin at ``starts``."""
    upto = np.cumsum(sizes)
    upto -= (upto - sizes)[starts]  # [of-this-user]
    own = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(own, starts, sizes)
    own = own[starts]  # [all-of-this-user]
    kept = np.minimum(own, most)

    def among(first: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of the places that count are among the first so many of the user."""
        return (2 * kept * first + own - 1) // (2 * own)  # [places]

    return among(upto) - among(upto - sizes)


# end-proof-region: spread
