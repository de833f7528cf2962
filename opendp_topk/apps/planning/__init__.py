"""Plans and records of releases: the query, the measurement with the least noise that meets it, and its accuracy.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators and apps.ledger.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .comparison import Comparison, Recommendation, compare
    from .question import PrivacyBudget, TableUnit
    from .question_above_threshold import AboveThreshold
    from .question_coverage import Coverage
    from .question_gap import TopKByGap
    from .question_in_groups import InGroups
    from .question_partitions import Partitions
    from .question_quantile import Quantile
    from .question_top_k import TopK
    from .question_unknown_domain import UnknownDomainTopK
    from .questions import question_from_dict
    from .several import Repeated
    from .verification import release_with_record

_MODULES = {
    "AboveThreshold": ".question_above_threshold",
    "Comparison": ".comparison",
    "Coverage": ".question_coverage",
    "InGroups": ".question_in_groups",
    "Partitions": ".question_partitions",
    "PrivacyBudget": ".question",
    "Quantile": ".question_quantile",
    "Recommendation": ".comparison",
    "Repeated": ".several",
    "TableUnit": ".question",
    "TopK": ".question_top_k",
    "TopKByGap": ".question_gap",
    "UnknownDomainTopK": ".question_unknown_domain",
    "compare": ".comparison",
    "question_from_dict": ".questions",
    "release_with_record": ".verification",
}

__all__ = [
    "AboveThreshold",
    "Comparison",
    "Coverage",
    "InGroups",
    "Partitions",
    "PrivacyBudget",
    "Quantile",
    "Recommendation",
    "Repeated",
    "TableUnit",
    "TopK",
    "TopKByGap",
    "UnknownDomainTopK",
    "compare",
    "question_from_dict",
    "release_with_record",
]


def __getattr__(name: str) -> _typing.Any:
    """Load a public name when it is first used: a release does not compare mechanisms."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module(_MODULES[name], __name__), name)
