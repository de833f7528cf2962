"""Exceptions, and the checks of arguments that raise them.

It may import nothing of the package.

Messages and attributes never contain a score, a count, an identifier or a noise value. A message names the parameter,
what is required, and what to do. The only exception is ``PrivacyViolationError``: it contains a pair of inputs that
the verifier generated, or that were given to it as public.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BudgetError",
    "CapacityError",
    "DataError",
    "DataTypeError",
    "DeadlineError",
    "ExperimentalWarning",
    "ForeignError",
    "LedgerError",
    "MissingExtraError",
    "NotDeclaredError",
    "ParameterError",
    "ParameterTypeError",
    "PlatformError",
    "PrivacyViolationError",
    "ProofError",
    "QueryError",
    "SearchError",
    "SpaceError",
    "TableError",
    "TopKError",
]


class TopKError(Exception):
    """Base of every exception of this library."""


class ParameterError(TopKError, ValueError):
    """An argument of a constructor or a map is outside what is allowed, or a pickle was written by other sources."""


class ParameterTypeError(ParameterError, TypeError):
    """An argument of a constructor has the wrong type, or an object cannot be pickled."""


class SpaceError(TopKError, TypeError):
    """A metric does not fit a domain, or the two sides of a chain do not match."""


class DataError(TopKError, ValueError):
    """An argument of a call is not a member of the input domain. Nothing was drawn."""


class DataTypeError(DataError, TypeError):
    """The data are in a wrong container, or their elements or a column have the wrong type."""


class TableError(TopKError, OSError):
    """A file could not be read as a table, or a result could not be written."""


class QueryError(TopKError, RuntimeError):
    """A queryable is closed, busy with another query, or used from another thread or process."""


class SearchError(TopKError, ValueError):
    """No parameter meets the privacy target, or every parameter does."""


class CapacityError(TopKError, ValueError):
    """An exact enumeration would be too large."""


class NotDeclaredError(TopKError, AttributeError):
    """The measurement declares no exact distribution or no accuracy theorem."""


class PrivacyViolationError(TopKError, AssertionError):
    """Two neighbouring inputs refute a privacy map.

    ``report`` contains the claim, the loss and the witness: inputs that the verifier generated, or was given as public.
    """

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class PlatformError(TopKError, OSError):
    """The machine or the thread has no sound randomness or arithmetic. Nothing was released."""


class LedgerError(TopKError, OSError):
    """The file of a ledger is damaged, has a newer format, or could not be read or written."""


class BudgetError(TopKError, ValueError):
    """A release or a query exceeds the remaining budget. Nothing was debited and nothing was drawn."""


class DeadlineError(TopKError, TimeoutError):
    """A padded release took longer than its public deadline. Nothing is released, and the budget stays spent."""


class ForeignError(TopKError, RuntimeError):
    """A function of the caller or of another library failed, or returned something that cannot be used."""


class ProofError(TopKError, LookupError):
    """A proof document, or the code region that it pins, is missing or malformed."""


class MissingExtraError(TopKError, ImportError):
    """An optional dependency is not installed."""


class ExperimentalWarning(FutureWarning):
    """The called function may change or be removed in any minor version; docs/versions.md lists such names."""
