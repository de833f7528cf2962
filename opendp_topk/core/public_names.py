"""The module of each public name and the package of each namespace; ``opendp_topk`` imports them on first use.

``opendp_topk/__init__.pyi`` repeats the names for type checkers; ``python -m tests.pages`` writes that file.
"""

import difflib
import importlib
import importlib.util

PUBLIC = {
    "combinators.composition": "make_adaptive_composition make_composition make_repeat then_adaptive_composition",
    "combinators.conversions": (
        "make_approximate make_fix_delta make_pureDP_to_range make_pureDP_to_zCDP make_range_to_approxDP "
        "make_range_to_pureDP make_range_to_zCDP make_zCDP_to_approxDP"
    ),
    "combinators.followed_by": "make_followed_by",
    "combinators.fully_adaptive_composition": (
        "make_fully_adaptive_composition make_privacy_filter Odometer then_fully_adaptive_composition"
    ),
    "combinators.padded": "make_padded",
    "combinators.partition_by": "make_partition_by then_partition_by",
    "combinators.pay_what_you_get": "make_pay_what_you_get then_pay_what_you_get",
    "combinators.private_selection": "make_private_selection make_select_private_candidate",
    "combinators.repetitions": "Poisson TruncatedNegativeBinomial",
    "core.binary_search": "binary_search_chain binary_search_param",
    "core.candidates": "candidate_remarks counts_from index_candidates largest_counts",
    "core.measurement": "Measurement",
    "core.partials": "Partial",
    "core.queryable": "Queryable",
    "core.releases": "json_values Release",
    "core.serialization": "from_json to_json",
    "core.transformation": "Transformation",
    "measurements._in_parts": "release_in_parts release_spark",
    "measurements.above_threshold": "make_above_threshold then_above_threshold",
    "measurements.additive_noise": (
        "make_gaussian make_laplace make_noisy_histogram then_gaussian then_laplace then_noisy_histogram"
    ),
    "measurements.canonical_top_k": "make_canonical_top_k then_canonical_top_k",
    "measurements.continual_top_k": "make_continual_top_k then_continual_top_k",
    "measurements.exponential_mechanism": "make_exponential_mechanism then_exponential_mechanism",
    "measurements.joint_top_k": "make_joint_top_k then_joint_top_k",
    "measurements.noisy_top_k_with_gaps": "make_noisy_top_k_with_gaps then_noisy_top_k_with_gaps",
    "measurements.normalised_top_k": "make_normalised_top_k then_normalised_top_k",
    "measurements.partition_selection": "make_partition_selection then_partition_selection",
    "measurements.peeled_top_k": "make_peeled_top_k then_peeled_top_k",
    "measurements.permute_and_flip": "make_permute_and_flip then_permute_and_flip",
    "measurements.quantiles": "make_quantiles then_quantiles",
    "measurements.report_noisy_top_k": "make_report_noisy_top_k then_report_noisy_top_k",
    "measurements.select_then_count": "make_select_then_count then_select_then_count",
    "measurements.stable_histogram": "make_stable_histogram then_stable_histogram",
    "measurements.top_k_by_gap": "make_top_k_by_gap then_top_k_by_gap",
    "measurements.top_k_coverage": "make_top_k_coverage then_top_k_coverage",
    "measurements.unknown_domain_counts": "make_unknown_domain_counts then_unknown_domain_counts",
    "measurements.unknown_domain_top_k": "make_unknown_domain_top_k then_unknown_domain_top_k",
    "measurements.user": "make_user_measurement then_user_measurement",
    "measurements.weighted_partition_selection": "make_weighted_partition_selection then_weighted_partition_selection",
    "spaces.curves.curve": "PrivacyCurve",
    "spaces.domains": "AtomDomain Domain FrameDomain VectorDomain",
    "spaces.keyed_counts": "KeyedCountDistance KeyedCountsDomain",
    "spaces.measures": "Approximate MaxDivergence Measure PrivacyProfile RangeDivergence ZeroConcentratedDivergence",
    "spaces.metrics": (
        "L01InfDistance L1Distance L2Distance LInfDistance Metric PerCandidateDistance RangeDistance UserDistance"
    ),
    "transformations.bound_contributions": (
        "make_bound_contributions make_drop_groups make_keep_groups then_bound_contributions then_drop_groups "
        "then_keep_groups"
    ),
    "transformations.count_by_item": "make_count_by_item then_count_by_item",
    "transformations.count_outside": "make_count_outside then_count_outside",
    "transformations.minimum_users": "add_to_counts make_minimum_users then_minimum_users",
    "transformations.quantile_scores": (
        "make_cap_scores make_count_by_number make_quantile_scores multiples then_cap_scores then_count_by_number "
        "then_quantile_scores"
    ),
    "transformations.sum_by_item": "make_sum_by_item then_sum_by_item",
    "transformations.user": "make_user_transformation then_user_transformation",
}
"""The public names of each module."""

HOMES = {name: f".{module}" for module, names in PUBLIC.items() for name in names.split()}
"""The module of each public name."""

NAMESPACES = {
    "audit": ".apps.audit",
    "errors": ".errors",
    "ledger": ".apps.ledger",
    "noise": ".sampling.noises",
    "opendp": ".apps.bridge",
    "planning": ".apps.planning",
    "tables": ".tables",
}
"""The package of each namespace: its ``__all__`` lists more public names."""

IN_OPENDP = {
    "Context": "planning.TopK with a ledger.Ledger",
    "approximate": "Approximate",
    "m": "the constructors in the module itself, such as make_laplace",
    "atom_domain": "AtomDomain",
    "deserialize": "from_json",
    "l01inf_distance": "KeyedCountDistance",
    "l1_distance": "L1Distance",
    "l2_distance": "L2Distance",
    "linf_distance": "LInfDistance",
    "loss_of": "planning.PrivacyBudget",
    "make_count_by": "make_count_by_item without a list of candidates",
    "make_count_by_categories": "make_count_by_item",
    "make_laplace_threshold": "make_stable_histogram, or make_unknown_domain_top_k",
    "make_noise_threshold": "make_stable_histogram, or make_unknown_domain_top_k",
    "make_noisy_max": "make_report_noisy_top_k with k=1, or make_permute_and_flip",
    "make_noisy_top_k": "make_report_noisy_top_k",
    "make_private_quantile": "make_quantile_scores, then make_report_noisy_top_k",
    "make_sequential_composition": "make_adaptive_composition",
    "max_divergence": "MaxDivergence",
    "serialize": "to_json",
    "smoothed_max_divergence": "PrivacyProfile",
    "t": "the constructors in the module itself, such as make_count_by_item",
    "symmetric_distance": "UserDistance, of a table",
    "unit_of": "planning.TableUnit",
    "vector_domain": "VectorDomain",
    "zero_concentrated_divergence": "ZeroConcentratedDivergence",
}
"""The name here of each name of OpenDP that is another one there."""


def name_hint(name: str) -> str:
    """Return the end of the error about an unknown public name: the name that may be meant; empty if there is none."""
    meant = [IN_OPENDP.get(name.replace("then_", "make_", 1), "")]
    package, plain = __name__.partition(".")[0], name.isidentifier() and not name.startswith("_")
    if plain and importlib.util.find_spec(f"{package}.{name}") is None:  # not a module that is being loaded
        spaces = {space: importlib.import_module(where, package) for space, where in NAMESPACES.items()}
        meant += [f"{space}.{name}" for space, module in spaces.items() if name in module.__all__]
        meant += difflib.get_close_matches(name, HOMES, n=1, cutoff=0.8)
    return next((f": use {one}" for one in meant if one), "")
