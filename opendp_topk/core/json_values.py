"""Releases and parameters as what ``json.dumps`` writes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import ParameterTypeError


def json_values(value: Any) -> Any:
    """Return a release, or the parameters of a measurement, as values that ``json.dumps`` writes.

    Arrays and tuples become lists, and named tuples dictionaries by field. So does a mapping whose keys are strings;
    another one becomes a list of pairs ``[key, value]``. Fractions and Decimals become strings, which are exact, and
    so do infinities and NaN, which JSON does not have. Dates are written in ISO 8601.

    Args:
        value: What a measurement has released, or :attr:`Measurement.parameters`.

    Returns:
        None, a bool, a number, a string, or lists and dictionaries of such.

    Raises:
        ParameterTypeError: It holds something else, such as a queryable.

    Example:
        >>> import json
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> exact = space >> tk.then_noisy_top_k_with_gaps(tk.MaxDivergence(), k=1, scale=0.0)
        >>> json.dumps(tk.json_values(exact([3, 9, 4])))
        '{"indices": [1], "gaps": [5.0]}'
    """
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.ndarray | np.generic):
        return json_values(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else str(float(value))
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if hasattr(value, "_asdict"):
        return json_values(value._asdict())
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {str(key): json_values(one) for key, one in value.items()}
        return [[json_values(key), json_values(one)] for key, one in value.items()]
    if isinstance(value, list | tuple | range):
        return [json_values(one) for one in value]
    raise ParameterTypeError(
        f"value must be a release or parameters, and holds an object of type {type(value).__name__}"
    )
