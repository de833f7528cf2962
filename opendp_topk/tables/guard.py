"""What back ends raise, replaced by what holds no data.

No message repeats anything that a table holds, and no exception of a back end stays attached to ours: some quote the
value that they could not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import MissingExtraError, OutOfBoundsError, TableError, TopKError

T = TypeVar("T")


def run_guarded(step: Callable[[], T]) -> T:
    """The value of ``step``; whatever a back end raises becomes an exception that holds no data, as ours are already.

    Raises:
        MissingExtraError: The back end needs a package that is not installed, or whose import fails.
        TableError: Anything else went wrong.
    """
    try:
        return step()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, TopKError):
        raise
    except ImportError as error:
        name, failure = error.name or "a package of its own", ""
        advice = "pip install it beside opendp_topk[tables]"
        if not isinstance(error, ModuleNotFoundError):
            advice = "its import failed; check that no file beside yours has this name, or install it again"
    except BaseException as error:  # a panic inside polars is no Exception
        name, failure, advice = "", type(error).__name__, ""
    if advice:
        raise MissingExtraError(f"the table's back end needs {name}: {advice}")
    raise TableError(
        f"the table could not be read: its back end failed with {failure}. Check that the file is complete and "
        "well formed, and that every step of a lazy frame succeeds on all rows"
    )


def require_below(found: float, exponent: int, what: str) -> None:
    """Refuse a table on which sums might leave 64 bits.

    Args:
        found: How many there are.
        exponent: There must be fewer than two to this power.
        what: Of what, in words.

    Raises:
        OutOfBoundsError: There are as many, or more.
    """
    if not found < 2.0**exponent:
        raise OutOfBoundsError(f"the table has 2^{exponent} {what} or more, and sums of them might overflow: split it")
