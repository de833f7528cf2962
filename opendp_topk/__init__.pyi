from . import errors as errors
from . import tables as tables
from .apps import audit as audit
from .apps import bridge
from .apps import ledger as ledger
from .apps import planning as planning
from .combinators.composition import make_adaptive_composition as make_adaptive_composition
from .combinators.composition import make_composition as make_composition
from .combinators.composition import make_repeat as make_repeat
from .combinators.composition import then_adaptive_composition as then_adaptive_composition
from .combinators.conversions import make_approximate as make_approximate
from .combinators.conversions import make_fix_delta as make_fix_delta
from .combinators.conversions import make_pureDP_to_range as make_pureDP_to_range
from .combinators.conversions import make_pureDP_to_zCDP as make_pureDP_to_zCDP
from .combinators.conversions import make_range_to_approxDP as make_range_to_approxDP
from .combinators.conversions import make_range_to_pureDP as make_range_to_pureDP
from .combinators.conversions import make_range_to_zCDP as make_range_to_zCDP
from .combinators.conversions import make_zCDP_to_approxDP as make_zCDP_to_approxDP
from .combinators.followed_by import make_followed_by as make_followed_by
from .combinators.fully_adaptive_composition import Odometer as Odometer
from .combinators.fully_adaptive_composition import make_fully_adaptive_composition as make_fully_adaptive_composition
from .combinators.fully_adaptive_composition import make_privacy_filter as make_privacy_filter
from .combinators.fully_adaptive_composition import then_fully_adaptive_composition as then_fully_adaptive_composition
from .combinators.padded import make_padded as make_padded
from .combinators.partition_by import make_partition_by as make_partition_by
from .combinators.partition_by import then_partition_by as then_partition_by
from .combinators.pay_what_you_get import make_pay_what_you_get as make_pay_what_you_get
from .combinators.pay_what_you_get import then_pay_what_you_get as then_pay_what_you_get
from .combinators.private_selection import make_private_selection as make_private_selection
from .combinators.private_selection import make_select_private_candidate as make_select_private_candidate
from .combinators.repetitions import Poisson as Poisson
from .combinators.repetitions import TruncatedNegativeBinomial as TruncatedNegativeBinomial
from .core.binary_search import binary_search_chain as binary_search_chain
from .core.binary_search import binary_search_param as binary_search_param
from .core.candidates import candidate_remarks as candidate_remarks
from .core.candidates import counts_from as counts_from
from .core.candidates import index_candidates as index_candidates
from .core.candidates import largest_counts as largest_counts
from .core.measurement import Measurement as Measurement
from .core.partials import Partial as Partial
from .core.queryable import Queryable as Queryable
from .core.releases import Release as Release
from .core.releases import json_values as json_values
from .core.serialization import from_json as from_json
from .core.serialization import to_json as to_json
from .core.transformation import Transformation as Transformation
from .measurements._in_parts import release_in_parts as release_in_parts
from .measurements._in_parts import release_spark as release_spark
from .measurements.above_threshold import make_above_threshold as make_above_threshold
from .measurements.above_threshold import then_above_threshold as then_above_threshold
from .measurements.additive_noise import make_gaussian as make_gaussian
from .measurements.additive_noise import make_laplace as make_laplace
from .measurements.additive_noise import make_noisy_histogram as make_noisy_histogram
from .measurements.additive_noise import then_gaussian as then_gaussian
from .measurements.additive_noise import then_laplace as then_laplace
from .measurements.additive_noise import then_noisy_histogram as then_noisy_histogram
from .measurements.canonical_top_k import make_canonical_top_k as make_canonical_top_k
from .measurements.canonical_top_k import then_canonical_top_k as then_canonical_top_k
from .measurements.continual_top_k import make_continual_top_k as make_continual_top_k
from .measurements.continual_top_k import then_continual_top_k as then_continual_top_k
from .measurements.exponential_mechanism import make_exponential_mechanism as make_exponential_mechanism
from .measurements.exponential_mechanism import then_exponential_mechanism as then_exponential_mechanism
from .measurements.joint_top_k import make_joint_top_k as make_joint_top_k
from .measurements.joint_top_k import then_joint_top_k as then_joint_top_k
from .measurements.noisy_top_k_with_gaps import make_noisy_top_k_with_gaps as make_noisy_top_k_with_gaps
from .measurements.noisy_top_k_with_gaps import then_noisy_top_k_with_gaps as then_noisy_top_k_with_gaps
from .measurements.normalised_top_k import make_normalised_top_k as make_normalised_top_k
from .measurements.normalised_top_k import then_normalised_top_k as then_normalised_top_k
from .measurements.partition_selection import make_partition_selection as make_partition_selection
from .measurements.partition_selection import then_partition_selection as then_partition_selection
from .measurements.peeled_top_k import make_peeled_top_k as make_peeled_top_k
from .measurements.peeled_top_k import then_peeled_top_k as then_peeled_top_k
from .measurements.permute_and_flip import make_permute_and_flip as make_permute_and_flip
from .measurements.permute_and_flip import then_permute_and_flip as then_permute_and_flip
from .measurements.quantiles import make_quantiles as make_quantiles
from .measurements.quantiles import then_quantiles as then_quantiles
from .measurements.report_noisy_top_k import make_report_noisy_top_k as make_report_noisy_top_k
from .measurements.report_noisy_top_k import then_report_noisy_top_k as then_report_noisy_top_k
from .measurements.select_then_count import make_select_then_count as make_select_then_count
from .measurements.select_then_count import then_select_then_count as then_select_then_count
from .measurements.stable_histogram import make_stable_histogram as make_stable_histogram
from .measurements.stable_histogram import then_stable_histogram as then_stable_histogram
from .measurements.top_k_by_gap import make_top_k_by_gap as make_top_k_by_gap
from .measurements.top_k_by_gap import then_top_k_by_gap as then_top_k_by_gap
from .measurements.top_k_coverage import make_top_k_coverage as make_top_k_coverage
from .measurements.top_k_coverage import then_top_k_coverage as then_top_k_coverage
from .measurements.unknown_domain_counts import make_unknown_domain_counts as make_unknown_domain_counts
from .measurements.unknown_domain_counts import then_unknown_domain_counts as then_unknown_domain_counts
from .measurements.unknown_domain_top_k import make_unknown_domain_top_k as make_unknown_domain_top_k
from .measurements.unknown_domain_top_k import then_unknown_domain_top_k as then_unknown_domain_top_k
from .measurements.user import make_user_measurement as make_user_measurement
from .measurements.user import then_user_measurement as then_user_measurement
from .measurements.weighted_partition_selection import (
    make_weighted_partition_selection as make_weighted_partition_selection,
)
from .measurements.weighted_partition_selection import (
    then_weighted_partition_selection as then_weighted_partition_selection,
)
from .sampling import noises
from .spaces.curves.curve import PrivacyCurve as PrivacyCurve
from .spaces.domains import AtomDomain as AtomDomain
from .spaces.domains import Domain as Domain
from .spaces.domains import FrameDomain as FrameDomain
from .spaces.domains import VectorDomain as VectorDomain
from .spaces.keyed_counts import KeyedCountDistance as KeyedCountDistance
from .spaces.keyed_counts import KeyedCountsDomain as KeyedCountsDomain
from .spaces.measures import Approximate as Approximate
from .spaces.measures import MaxDivergence as MaxDivergence
from .spaces.measures import Measure as Measure
from .spaces.measures import PrivacyProfile as PrivacyProfile
from .spaces.measures import RangeDivergence as RangeDivergence
from .spaces.measures import ZeroConcentratedDivergence as ZeroConcentratedDivergence
from .spaces.metrics import L01InfDistance as L01InfDistance
from .spaces.metrics import L1Distance as L1Distance
from .spaces.metrics import L2Distance as L2Distance
from .spaces.metrics import LInfDistance as LInfDistance
from .spaces.metrics import Metric as Metric
from .spaces.metrics import PerCandidateDistance as PerCandidateDistance
from .spaces.metrics import RangeDistance as RangeDistance
from .spaces.metrics import UserDistance as UserDistance
from .transformations.bound_contributions import make_bound_contributions as make_bound_contributions
from .transformations.bound_contributions import make_drop_groups as make_drop_groups
from .transformations.bound_contributions import make_keep_groups as make_keep_groups
from .transformations.bound_contributions import then_bound_contributions as then_bound_contributions
from .transformations.bound_contributions import then_drop_groups as then_drop_groups
from .transformations.bound_contributions import then_keep_groups as then_keep_groups
from .transformations.count_by_item import make_count_by_item as make_count_by_item
from .transformations.count_by_item import then_count_by_item as then_count_by_item
from .transformations.count_outside import make_count_outside as make_count_outside
from .transformations.count_outside import then_count_outside as then_count_outside
from .transformations.minimum_users import add_to_counts as add_to_counts
from .transformations.minimum_users import make_minimum_users as make_minimum_users
from .transformations.minimum_users import then_minimum_users as then_minimum_users
from .transformations.quantile_scores import make_cap_scores as make_cap_scores
from .transformations.quantile_scores import make_count_by_number as make_count_by_number
from .transformations.quantile_scores import make_quantile_scores as make_quantile_scores
from .transformations.quantile_scores import multiples as multiples
from .transformations.quantile_scores import then_cap_scores as then_cap_scores
from .transformations.quantile_scores import then_count_by_number as then_count_by_number
from .transformations.quantile_scores import then_quantile_scores as then_quantile_scores
from .transformations.sum_by_item import make_sum_by_item as make_sum_by_item
from .transformations.sum_by_item import then_sum_by_item as then_sum_by_item
from .transformations.user import make_user_transformation as make_user_transformation
from .transformations.user import then_user_transformation as then_user_transformation

opendp = bridge
noise = noises

__version__: str

__all__ = [
    "Approximate",
    "AtomDomain",
    "Domain",
    "FrameDomain",
    "KeyedCountDistance",
    "KeyedCountsDomain",
    "L01InfDistance",
    "L1Distance",
    "L2Distance",
    "LInfDistance",
    "MaxDivergence",
    "Measure",
    "Measurement",
    "Metric",
    "Odometer",
    "Partial",
    "PerCandidateDistance",
    "Poisson",
    "PrivacyCurve",
    "PrivacyProfile",
    "Queryable",
    "RangeDistance",
    "RangeDivergence",
    "Release",
    "Transformation",
    "TruncatedNegativeBinomial",
    "UserDistance",
    "VectorDomain",
    "ZeroConcentratedDivergence",
    "add_to_counts",
    "binary_search_chain",
    "binary_search_param",
    "candidate_remarks",
    "counts_from",
    "from_json",
    "index_candidates",
    "json_values",
    "largest_counts",
    "make_above_threshold",
    "make_adaptive_composition",
    "make_approximate",
    "make_bound_contributions",
    "make_canonical_top_k",
    "make_cap_scores",
    "make_composition",
    "make_continual_top_k",
    "make_count_by_item",
    "make_count_by_number",
    "make_count_outside",
    "make_drop_groups",
    "make_exponential_mechanism",
    "make_fix_delta",
    "make_followed_by",
    "make_fully_adaptive_composition",
    "make_gaussian",
    "make_joint_top_k",
    "make_keep_groups",
    "make_laplace",
    "make_minimum_users",
    "make_noisy_histogram",
    "make_noisy_top_k_with_gaps",
    "make_normalised_top_k",
    "make_padded",
    "make_partition_by",
    "make_partition_selection",
    "make_pay_what_you_get",
    "make_peeled_top_k",
    "make_permute_and_flip",
    "make_privacy_filter",
    "make_private_selection",
    "make_pureDP_to_range",
    "make_pureDP_to_zCDP",
    "make_quantile_scores",
    "make_quantiles",
    "make_range_to_approxDP",
    "make_range_to_pureDP",
    "make_range_to_zCDP",
    "make_repeat",
    "make_report_noisy_top_k",
    "make_select_private_candidate",
    "make_select_then_count",
    "make_stable_histogram",
    "make_sum_by_item",
    "make_top_k_by_gap",
    "make_top_k_coverage",
    "make_unknown_domain_counts",
    "make_unknown_domain_top_k",
    "make_user_measurement",
    "make_user_transformation",
    "make_weighted_partition_selection",
    "make_zCDP_to_approxDP",
    "multiples",
    "release_in_parts",
    "release_spark",
    "then_above_threshold",
    "then_adaptive_composition",
    "then_bound_contributions",
    "then_canonical_top_k",
    "then_cap_scores",
    "then_continual_top_k",
    "then_count_by_item",
    "then_count_by_number",
    "then_count_outside",
    "then_drop_groups",
    "then_exponential_mechanism",
    "then_fully_adaptive_composition",
    "then_gaussian",
    "then_joint_top_k",
    "then_keep_groups",
    "then_laplace",
    "then_minimum_users",
    "then_noisy_histogram",
    "then_noisy_top_k_with_gaps",
    "then_normalised_top_k",
    "then_partition_by",
    "then_partition_selection",
    "then_pay_what_you_get",
    "then_peeled_top_k",
    "then_permute_and_flip",
    "then_quantile_scores",
    "then_quantiles",
    "then_report_noisy_top_k",
    "then_select_then_count",
    "then_stable_histogram",
    "then_sum_by_item",
    "then_top_k_by_gap",
    "then_top_k_coverage",
    "then_unknown_domain_counts",
    "then_unknown_domain_top_k",
    "then_user_measurement",
    "then_user_transformation",
    "then_weighted_partition_selection",
    "to_json",
]
