"""Every exception, and the checks of arguments that raise them.

It may import nothing of the package.

No message and no attribute of any of them holds a score, a count, an identifier or a noise value: they name
the parameter, state what was required, and say what to do. The one exception is ``PrivacyViolationError``, which
carries a pair of inputs that the verifier made up, or was given as public. ::

    TopKError
    ├── ParameterError (ValueError)        an argument of a constructor is outside what it allows
    │   ├── ParameterTypeError (TypeError)     ... it has the wrong type (True is not an integer here)
    │   └── CandidatesError                    ... the public items are empty, repeated or unhashable
    ├── DistanceError (ValueError)         d_in or d_out is negative, NaN or not a number
    ├── MapError (ValueError)              a map supplied by the caller returned no distance
    ├── SpaceError (TypeError)             a metric does not fit a domain, or two links of a chain differ
    ├── DataError (ValueError)             an argument of a call is not a member of the input domain
    │   ├── DataTypeError (TypeError)          ... wrong container or element type
    │   ├── DataLengthError                    ... empty, or another length than declared
    │   ├── NonFiniteError                     ... NaN or an infinity
    │   ├── OutOfBoundsError                   ... outside the declared bounds
    │   └── ColumnError (LookupError)          ... a column is missing or has an unusable type
    ├── TableError (OSError)               a file could not be read or written
    ├── PickleError (TypeError)            a measurement cannot be written into a pickle, or read from one here
    ├── QueryError (RuntimeError)          a queryable is closed, busy, or used from another thread or process
    ├── SearchError (ValueError)           no parameter meets the privacy target, or every one does
    ├── CapacityError (ValueError)         an exact enumeration would be too large
    ├── NotDeclaredError (AttributeError)  a measurement has no exact distribution or accuracy theorem
    ├── DistributionError (ValueError)     a declared distribution is none: a mass is negative, or they miss 1
    ├── PrivacyViolationError (AssertionError)  two neighbouring inputs refute a privacy map
    ├── EntropyError (OSError)             the operating system gave no randomness
    ├── SubnormalError (FloatingPointError)  the thread flushes subnormal floats to zero
    ├── LedgerError (OSError)              a ledger's file is damaged, newer, or cannot be read or written
    ├── DeadlineError (TimeoutError)       a padded release took longer than its public deadline
    ├── BudgetError (ValueError)           a release or a query does not fit with what is left of a budget
    ├── ForeignError (RuntimeError)        a function of the caller or of another library failed, or cannot be used
    ├── ProofError (LookupError)           a proof document or a code region is missing or malformed
    └── MissingExtraError (ImportError)    an optional dependency is not installed

No exception is ``experimental.ExperimentalWarning``, a warning of names that may change.
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
    """A stability or privacy map supplied by the caller returned something that is no distance."""


class SpaceError(TopKError, TypeError):
    """A metric does not fit a domain, or the two sides of a chain do not meet."""


class DataError(TopKError, ValueError):
    """An argument of a call is not a member of the input domain. Nothing was drawn."""


class DataTypeError(DataError, TypeError):
    """The data have the wrong container or element type."""


class DataLengthError(DataError):
    """The data are empty, or have another length than the domain declares."""


class NonFiniteError(DataError):
    """The data hold a NaN or an infinity."""


class OutOfBoundsError(DataError):
    """The data leave the bounds that the domain declares."""


class ColumnError(DataError, LookupError):
    """A table lacks a column, or the column has a type that cannot hold identifiers."""


class TableError(TopKError, OSError):
    """A file could not be read as a table, or a result could not be written."""


class QueryError(TopKError, RuntimeError):
    """A queryable is closed, busy with another query, or used from another thread or process."""


class PickleError(TopKError, TypeError):
    """Something cannot be pickled, or a pickle was written by a library with other claims."""


class SearchError(TopKError, ValueError):
    """No parameter meets the privacy target, or every parameter does."""


class CapacityError(TopKError, ValueError):
    """An exact enumeration would be too large."""


class NotDeclaredError(TopKError, AttributeError):
    """The measurement declares no exact distribution or no accuracy theorem."""


class DistributionError(TopKError, ValueError):
    """A declared distribution is none: a probability is negative or NaN, or they do not sum to 1."""


class PrivacyViolationError(TopKError, AssertionError):
    """Two neighbouring inputs refute a privacy map.

    ``report`` holds the claim, the loss and the witness: inputs that the verifier made up, or was given as public.
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
    """A release or a query does not fit with what is left of a budget. Nothing was debited and nothing was drawn."""


class DeadlineError(TopKError, TimeoutError):
    """What is padded took longer than its public deadline: nothing is released, and what was paid stays paid."""


class ForeignError(TopKError, RuntimeError):
    """A function of the caller or of another library failed in a bridge, or its release cannot be used here."""


class ProofError(TopKError, LookupError):
    """A proof document, or the code region that it pins, is missing or malformed."""


class MissingExtraError(TopKError, ImportError):
    """An optional dependency is not installed."""
