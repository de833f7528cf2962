"""Differentially private selection and top-k: exact sampling, tight privacy maps, a proof for every claim.

Build a measurement from a space and a constructor, ask its privacy map, then release::

    import opendp_topk as tk

    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    top10 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=20.0)
    top10.map(1)
"""

from .candidates import index_candidates
from .core import Measurement, Transformation
from .domains import AtomDomain, Domain, FrameDomain, VectorDomain
from .errors import (
    CandidatesError,
    CapacityError,
    ColumnError,
    DataError,
    DataLengthError,
    DataTypeError,
    DistanceError,
    EntropyError,
    MapError,
    MissingExtraError,
    NonFiniteError,
    NotDeclaredError,
    OutOfBoundsError,
    ParameterError,
    ParameterTypeError,
    ProofError,
    SearchError,
    SpaceError,
    TableError,
    TopKError,
)
from .measurements.gaussian import make_gaussian, then_gaussian
from .measurements.laplace import make_laplace, then_laplace
from .measurements.report_noisy_top_k import make_report_noisy_top_k, then_report_noisy_top_k
from .measurements.select_then_count import SelectedCounts, make_select_then_count, then_select_then_count
from .measurements.user import make_user_measurement, then_user_measurement
from .measures import Approximate, MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence
from .metrics import L1Distance, L2Distance, LInfDistance, Metric, RangeDistance, UserDistance
from .partials import Partial
from .proof import Proof
from .search import binary_search_chain, binary_search_param
from .tables import read_table
from .transformations.count_by_item import make_count_by_item, then_count_by_item
from .transformations.user import make_user_transformation, then_user_transformation

__all__ = [
    "Approximate",
    "AtomDomain",
    "CandidatesError",
    "CapacityError",
    "ColumnError",
    "DataError",
    "DataLengthError",
    "DataTypeError",
    "DistanceError",
    "Domain",
    "EntropyError",
    "FrameDomain",
    "L1Distance",
    "L2Distance",
    "LInfDistance",
    "MapError",
    "MaxDivergence",
    "Measure",
    "Measurement",
    "Metric",
    "MissingExtraError",
    "NonFiniteError",
    "NotDeclaredError",
    "OutOfBoundsError",
    "ParameterError",
    "ParameterTypeError",
    "Partial",
    "Proof",
    "ProofError",
    "RangeDistance",
    "RangeDivergence",
    "SearchError",
    "SelectedCounts",
    "SpaceError",
    "TableError",
    "TopKError",
    "Transformation",
    "UserDistance",
    "VectorDomain",
    "ZeroConcentratedDivergence",
    "binary_search_chain",
    "binary_search_param",
    "index_candidates",
    "make_count_by_item",
    "make_gaussian",
    "make_laplace",
    "make_report_noisy_top_k",
    "make_select_then_count",
    "make_user_measurement",
    "make_user_transformation",
    "read_table",
    "then_count_by_item",
    "then_gaussian",
    "then_laplace",
    "then_report_noisy_top_k",
    "then_select_then_count",
    "then_user_measurement",
    "then_user_transformation",
]
