"""Exceptions, and the checks of arguments that raise them.

It may import nothing of the package.

Messages and attributes never contain a score, a count, an identifier or a noise value. A message names the parameter,
what is required, and what to do. The only exception is ``PrivacyViolationError``: it contains a pair of inputs that
the verifier generated, or that were given to it as public. ::

    TopKError
    ├── ParameterError (ValueError)        an argument of a constructor is outside what it allows
    │   ├── ParameterTypeError (TypeError)     ... it has the wrong type (True is not an integer here)
    │   └── CandidatesError                    ... the public items are empty, repeated or unhashable
    ├── DistanceError (ValueError)         d_in or d_out is negative, NaN or not a number
    ├── MapError (ValueError)              a map supplied by the caller returned something other than a distance
    ├── SpaceError (TypeError)             a metric does not fit a domain, or the two sides of a chain do not match
    ├── DataError (ValueError)             an argument of a call is not a member of the input domain
    │   ├── DataTypeError (TypeError)          ... wrong container or element type
    │   ├── DataLengthError                    ... empty, or another length than declared
    │   ├── NonFiniteError                     ... NaN or an infinity
    │   ├── OutOfBoundsError                   ... outside the declared bounds
    │   └── ColumnError (LookupError)          ... a column is missing or has an unusable type
    ├── TableError (OSError)               a file could not be read or written
    ├── PickleError (TypeError)            a measurement cannot be pickled, or a pickle cannot be loaded here
    ├── QueryError (RuntimeError)          a queryable is closed, busy, or used from another thread or process
    ├── SearchError (ValueError)           no parameter meets the privacy target, or every one does
    ├── CapacityError (ValueError)         an exact enumeration would be too large
    ├── NotDeclaredError (AttributeError)  a measurement has no exact distribution or accuracy theorem
    ├── DistributionError (ValueError)     declared probabilities are negative or NaN, or do not sum to 1
    ├── PrivacyViolationError (AssertionError)  two neighbouring inputs refute a privacy map
    ├── EntropyError (OSError)             the operating system gave no randomness
    ├── SubnormalError (FloatingPointError)  the thread flushes subnormal floats to zero
    ├── LedgerError (OSError)              a ledger's file is damaged, newer, or cannot be read or written
    ├── DeadlineError (TimeoutError)       a padded release took longer than its public deadline
    ├── BudgetError (ValueError)           a release or a query does not fit with what is left of a budget
    ├── ForeignError (RuntimeError)        a function of the caller or of another library failed, or cannot be used
    ├── ProofError (LookupError)           a proof document or a code region is missing or malformed
    └── MissingExtraError (ImportError)    an optional dependency is not installed

``experimental.ExperimentalWarning`` is a warning, not an exception of this tree: it marks names that may change.
"""

from __future__ import annotations

from typing import Any


class TopKError(Exception):
    """Base of every exception of this library."""


class ParameterError(TopKError, ValueError):
    """An argument of a constructor lies outside what the constructor allows."""


class ParameterTypeError(ParameterError, TypeError):
    """An argument of a constructor has the wrong type."""


class CandidatesError(ParameterError):
    """The public candidate items are empty, repeated or unhashable."""


class DistanceError(TopKError, ValueError):
    """A distance (``d_in`` or ``d_out``) is negative, NaN or not a number."""


class MapError(TopKError, ValueError):
    """A stability or privacy map supplied by the caller returned something that is not a distance."""


class SpaceError(TopKError, TypeError):
    """A metric does not fit a domain, or the two sides of a chain do not match."""


class DataError(TopKError, ValueError):
    """An argument of a call is not a member of the input domain. Nothing was drawn."""


class DataTypeError(DataError, TypeError):
    """The data have the wrong container or element type."""


class DataLengthError(DataError):
    """The data are empty, or have another length than the domain declares."""


class NonFiniteError(DataError):
    """The data contain a NaN or an infinity."""


class OutOfBoundsError(DataError):
    """The data are outside the bounds that the domain declares."""


class ColumnError(DataError, LookupError):
    """A column is missing from a table, or has a type that cannot be used."""


class TableError(TopKError, OSError):
    """A file could not be read as a table, or a result could not be written."""


class QueryError(TopKError, RuntimeError):
    """A queryable is closed, busy with another query, or used from another thread or process."""


class PickleError(TopKError, TypeError):
    """A value cannot be pickled, or a pickle was written by a library with other sources or proofs."""


class SearchError(TopKError, ValueError):
    """No parameter meets the privacy target, or every parameter does."""


class CapacityError(TopKError, ValueError):
    """An exact enumeration would be too large."""


class NotDeclaredError(TopKError, AttributeError):
    """The measurement declares no exact distribution or no accuracy theorem."""


class DistributionError(TopKError, ValueError):
    """The probabilities of a declared distribution are negative or NaN, or do not sum to 1."""


class PrivacyViolationError(TopKError, AssertionError):
    """Two neighbouring inputs refute a privacy map.

    ``report`` contains the claim, the loss and the witness: inputs that the verifier generated, or was given as public.
    """

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class EntropyError(TopKError, OSError):
    """The operating system's source of randomness failed."""


class SubnormalError(TopKError, FloatingPointError):
    """The calling thread flushes subnormal floats to zero. Nothing was released."""


class LedgerError(TopKError, OSError):
    """The file of a ledger is damaged, has a newer format, or could not be read or written."""


class BudgetError(TopKError, ValueError):
    """A release or a query exceeds the remaining budget. Nothing was debited and nothing was drawn."""


class DeadlineError(TopKError, TimeoutError):
    """A padded release took longer than its public deadline. Nothing is released, and the budget stays spent."""


class ForeignError(TopKError, RuntimeError):
    """A function of the caller or of another library failed in a bridge, or its release cannot be used."""


class ProofError(TopKError, LookupError):
    """A proof document, or the code region that it pins, is missing or malformed."""


class MissingExtraError(TopKError, ImportError):
    """An optional dependency is not installed."""
