"""Differentially private selection and top-k: exact sampling, tight privacy maps, a proof for every claim."""

import importlib as _importlib
import typing as _typing

from .core.public_names import HOMES as _HOMES

if _typing.TYPE_CHECKING:
    from . import audit as audit
    from .bridge.incoming import from_opendp
    from .bridge.outgoing import to_opendp
    from .combinators.adaptive_composition import make_adaptive_composition, then_adaptive_composition
    from .combinators.approximate import make_approximate, make_fix_delta
    from .combinators.composition import make_composition
    from .combinators.from_pureDP import make_pureDP_to_range, make_pureDP_to_zCDP
    from .combinators.from_range import make_range_to_approxDP, make_range_to_pureDP, make_range_to_zCDP
    from .combinators.from_zCDP import make_zCDP_to_approxDP
    from .combinators.fully_adaptive_composition import (
        Odometer,
        make_fully_adaptive_composition,
        then_fully_adaptive_composition,
    )
    from .combinators.partition_by import make_partition_by, then_partition_by
    from .combinators.privacy_filter import make_privacy_filter
    from .combinators.queryable import Queryable
    from .combinators.repeat import make_repeat
    from .core.binary_search import binary_search_chain, binary_search_param
    from .core.candidates import index_candidates
    from .core.measurement import Measurement
    from .core.partials import Partial
    from .core.transformation import Transformation
    from .distributions.events import Enclosure
    from .errors import (
        BudgetError,
        CandidatesError,
        CapacityError,
        ColumnError,
        DataError,
        DataLengthError,
        DataTypeError,
        DistanceError,
        DistributionError,
        EntropyError,
        ForeignError,
        LedgerError,
        MapError,
        MissingExtraError,
        NonFiniteError,
        NotDeclaredError,
        OutOfBoundsError,
        ParameterError,
        ParameterTypeError,
        PickleError,
        PrivacyViolationError,
        ProofError,
        QueryError,
        SearchError,
        SpaceError,
        SubnormalError,
        TableError,
        TopKError,
    )
    from .ledger import Ledger
    from .measurements._comparison import Comparison, compare
    from .measurements.canonical_top_k import make_canonical_top_k, then_canonical_top_k
    from .measurements.exponential_mechanism import make_exponential_mechanism, then_exponential_mechanism
    from .measurements.gaussian import make_gaussian, then_gaussian
    from .measurements.joint_top_k import make_joint_top_k, then_joint_top_k
    from .measurements.laplace import make_laplace, then_laplace
    from .measurements.lipschitz_top_k import make_lipschitz_top_k, then_lipschitz_top_k
    from .measurements.noisy_top_k_with_gaps import (
        RankingWithGaps,
        make_noisy_top_k_with_gaps,
        then_noisy_top_k_with_gaps,
    )
    from .measurements.partition_selection import make_partition_selection, then_partition_selection
    from .measurements.peeled_top_k import make_peeled_top_k, then_peeled_top_k
    from .measurements.permute_and_flip import make_permute_and_flip, then_permute_and_flip
    from .measurements.report_noisy_top_k import make_report_noisy_top_k, then_report_noisy_top_k
    from .measurements.select_then_count import SelectedCounts, make_select_then_count, then_select_then_count
    from .measurements.stable_histogram import FoundCounts, make_stable_histogram, then_stable_histogram
    from .measurements.unknown_domain_top_k import FoundItems, make_unknown_domain_top_k, then_unknown_domain_top_k
    from .measurements.user import make_user_measurement, then_user_measurement
    from .noises.custom import CustomNoise
    from .noises.standard import Exponential, Gumbel, HalfLogistic, Laplace, Logistic
    from .numerics.arithmetic import Intervals
    from .proof import Proof
    from .spaces.curves.curve import PrivacyCurve
    from .spaces.domains import AtomDomain, Domain, FrameDomain, GroupedFrameDomain, VectorDomain
    from .spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
    from .spaces.measures import (
        Approximate,
        MaxDivergence,
        Measure,
        PrivacyProfile,
        RangeDivergence,
        ZeroConcentratedDivergence,
    )
    from .spaces.metrics import L1Distance, L2Distance, LInfDistance, Metric, RangeDistance, UserDistance
    from .tables.files import read_table
    from .transformations.count_by_item import make_count_by_item, then_count_by_item
    from .transformations.user import make_user_transformation, then_user_transformation

__all__ = [
    "Approximate",
    "AtomDomain",
    "BudgetError",
    "CandidatesError",
    "CapacityError",
    "ColumnError",
    "Comparison",
    "CustomNoise",
    "DataError",
    "DataLengthError",
    "DataTypeError",
    "DistanceError",
    "DistributionError",
    "Domain",
    "Enclosure",
    "EntropyError",
    "Exponential",
    "ForeignError",
    "FoundCounts",
    "FoundItems",
    "FrameDomain",
    "GroupedFrameDomain",
    "Gumbel",
    "HalfLogistic",
    "Intervals",
    "KeyedCountDistance",
    "KeyedCountsDomain",
    "L1Distance",
    "L2Distance",
    "LInfDistance",
    "Laplace",
    "Ledger",
    "LedgerError",
    "Logistic",
    "MapError",
    "MaxDivergence",
    "Measure",
    "Measurement",
    "Metric",
    "MissingExtraError",
    "NonFiniteError",
    "NotDeclaredError",
    "Odometer",
    "OutOfBoundsError",
    "ParameterError",
    "ParameterTypeError",
    "Partial",
    "PickleError",
    "PrivacyCurve",
    "PrivacyProfile",
    "PrivacyViolationError",
    "Proof",
    "ProofError",
    "QueryError",
    "Queryable",
    "RangeDistance",
    "RangeDivergence",
    "RankingWithGaps",
    "SearchError",
    "SelectedCounts",
    "SpaceError",
    "SubnormalError",
    "TableError",
    "TopKError",
    "Transformation",
    "UserDistance",
    "VectorDomain",
    "ZeroConcentratedDivergence",
    "binary_search_chain",
    "binary_search_param",
    "compare",
    "from_opendp",
    "index_candidates",
    "make_adaptive_composition",
    "make_approximate",
    "make_canonical_top_k",
    "make_composition",
    "make_count_by_item",
    "make_exponential_mechanism",
    "make_fix_delta",
    "make_fully_adaptive_composition",
    "make_gaussian",
    "make_joint_top_k",
    "make_laplace",
    "make_lipschitz_top_k",
    "make_noisy_top_k_with_gaps",
    "make_partition_by",
    "make_partition_selection",
    "make_peeled_top_k",
    "make_permute_and_flip",
    "make_privacy_filter",
    "make_pureDP_to_range",
    "make_pureDP_to_zCDP",
    "make_range_to_approxDP",
    "make_range_to_pureDP",
    "make_range_to_zCDP",
    "make_repeat",
    "make_report_noisy_top_k",
    "make_select_then_count",
    "make_stable_histogram",
    "make_unknown_domain_top_k",
    "make_user_measurement",
    "make_user_transformation",
    "make_zCDP_to_approxDP",
    "read_table",
    "then_adaptive_composition",
    "then_canonical_top_k",
    "then_count_by_item",
    "then_exponential_mechanism",
    "then_fully_adaptive_composition",
    "then_gaussian",
    "then_joint_top_k",
    "then_laplace",
    "then_lipschitz_top_k",
    "then_noisy_top_k_with_gaps",
    "then_partition_by",
    "then_partition_selection",
    "then_peeled_top_k",
    "then_permute_and_flip",
    "then_report_noisy_top_k",
    "then_select_then_count",
    "then_stable_histogram",
    "then_unknown_domain_top_k",
    "then_user_measurement",
    "then_user_transformation",
    "to_opendp",
]


def __getattr__(name: str) -> _typing.Any:
    """A public name is loaded when it is first asked for, and the audit with it: a release does not need all."""
    if name == "audit":
        return _importlib.import_module(".audit", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "audit"})
