"""Plans and records of releases: the query, the measurement with the least noise that meets it, and its accuracy.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators and apps.ledger.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .comparison import Comparison, Recommendation, compare
    from .verification import release_with_record

_MODULES = {
    "Comparison": ".comparison",
    "Recommendation": ".comparison",
    "compare": ".comparison",
    "release_with_record": ".verification",
}

__all__ = ["Comparison", "Recommendation", "compare", "release_with_record"]


def __getattr__(name: str) -> _typing.Any:
    """Load a public name when it is first used: a release does not compare mechanisms."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module(_MODULES[name], __name__), name)
