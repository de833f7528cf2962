"""Plans and records of releases: the query, the measurement with the least noise that meets it, and its accuracy.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators and apps.ledger.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .comparison import Comparison as Comparison
    from .comparison import Recommendation as Recommendation
    from .comparison import compare as compare
    from .question import PrivacyBudget as PrivacyBudget
    from .question import TableUnit as TableUnit
    from .question_above_threshold import AboveThreshold as AboveThreshold
    from .question_coverage import Coverage as Coverage
    from .question_gap import TopKByGap as TopKByGap
    from .question_in_groups import InGroups as InGroups
    from .question_partitions import Partitions as Partitions
    from .question_quantile import Quantile as Quantile
    from .question_top_k import TopK as TopK
    from .question_unknown_domain import UnknownDomainTopK as UnknownDomainTopK
    from .questions import question_from_dict as question_from_dict
    from .several import Repeated as Repeated
    from .verification import release_with_record as release_with_record

_MODULES = {
    ".comparison": "Comparison Recommendation compare",
    ".question": "PrivacyBudget TableUnit",
    ".question_above_threshold": "AboveThreshold",
    ".question_coverage": "Coverage",
    ".question_gap": "TopKByGap",
    ".question_in_groups": "InGroups",
    ".question_partitions": "Partitions",
    ".question_quantile": "Quantile",
    ".question_top_k": "TopK",
    ".question_unknown_domain": "UnknownDomainTopK",
    ".questions": "question_from_dict",
    ".several": "Repeated",
    ".verification": "release_with_record",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> _typing.Any:
    """Load a public name when it is first used: a release does not compare mechanisms."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module(_HOMES[name], __name__), name)
