"""Exceptions of back ends, replaced by exceptions without data.

A back end's exception may quote a value that it could not read. So error messages repeat nothing from a table, and the
original exception is not chained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import DataError, MissingExtraError, TableError, TopKError

T = TypeVar("T")


def run_guarded(step: Callable[[], T]) -> T:
    """Return the value of ``step()``, and replace any exception of a back end by one that contains no data.

    Exceptions of this package, which contain no data, and requests to stop are re-raised unchanged.
    """
    try:
        return step()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, TopKError):
        raise
    except ImportError as error:
        name, failure = error.name or "a separate package", ""
        advice = "install it with pip in addition to opendp_topk[tables]"
        if not isinstance(error, ModuleNotFoundError):
            advice = "its import failed; check that none of your files has this name, or reinstall it"
    except BaseException as error:  # a panic in polars is not a subclass of Exception
        name, failure, advice = "", type(error).__name__, ""
    if advice:
        raise MissingExtraError(f"the table's back end requires {name}: {advice}")
    raise TableError(
        f"the table could not be read: its back end failed with {failure}. Check that the file is complete and "
        "well formed, and that every step of a lazy frame succeeds on all rows"
    )


def require_below(found: float, exponent: int, what: str) -> None:
    """Raise DataError if sums over a table might overflow 64 bits."""
    if not found < 2.0**exponent:
        raise DataError(f"the table has 2^{exponent} {what} or more, so sums might overflow: split it")
