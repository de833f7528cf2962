"""What of an argument can be refused without a look at its rows or elements, so that nothing is paid for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import DataTypeError
from ..errors.extras import LOADING
from .domains import Domain, FrameDomain, GroupedFrameDomain, VectorDomain
from .valued_frames import NumberFrameDomain, ValuedFrameDomain


def require_readable(domain: Domain, value: Any, listed: Mapping[tuple[str, str], Any]) -> None:
    """Raise if the type of ``value``, or a column's name or type, shows that it is not a member of ``domain``.

    ``listed`` has an entry of each public list with which a column is compared, by the column and by what the list is
    of. Libraries that reading it needs are imported.

    Raises:
        DataTypeError: It is no table, or no vector.
        ColumnError: A column is missing, or its type does not fit the domain or a list.
        MissingExtraError: A library is missing.
        TableError: The back end failed to tell the columns, or this process cannot use it.
    """
    if isinstance(domain, VectorDomain):
        if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
            raise DataTypeError(f"scores must be a one-dimensional array, list or tuple, not {type(value).__name__}")
        if isinstance(value, np.ndarray):
            domain.element_domain.validate_array(value[:0] if value.ndim else value)  # its type, and no element
    elif isinstance(domain, FrameDomain | GroupedFrameDomain | ValuedFrameDomain | NumberFrameDomain):
        with LOADING:
            from ..tables import frames
        roles = {role: getattr(domain, role) for role in ("user", "item", "group") if hasattr(domain, role)}
        chosen = frames.require_columns(value, roles, getattr(domain, "value", None))
        frames.require_kinds(chosen, listed)
