"""Reading and validating the record of a release."""

from __future__ import annotations

import json
import math
import sys
from contextlib import suppress
from typing import Any

from ...errors import ParameterError, TableError
from ...errors.files import quote_path, read_regular_file
from ...numerics.arithmetic import to_fraction
from .questions import record_question
from .release_record import FORMAT, ReleaseRecord
from .units import parse_signed, split_item_parts

_MOST = 2**28  # most bytes of a record, ten times the size of one with 10^6 items


def read_fields(path: str) -> dict[str, Any]:
    """Return all fields of the record in a file, including those that are never shown.

    Raises:
        TableError: The file cannot be read or is not a record, or the record has another format or is inconsistent.
    """
    content, found = read_regular_file(path, "the record", TableError, at_most=_MOST), None
    try:
        found = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique_fields,
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_parse_float,
        )
    except (ValueError, RecursionError):
        found = None
    named = f"the record {quote_path(path)}"
    if found is None:
        raise TableError(
            f"{named} cannot be read: it is not JSON, contains a field twice, or a number is beyond all floats"
        )
    if not isinstance(found, dict) or not str(found.get("format", "")).startswith("opendp_topk.release."):
        raise TableError(f"{quote_path(path)} is not a release record, as `opendp-topk release --out` writes")
    if found["format"] != FORMAT:
        raise TableError(
            f"{quote_path(path)} has the format {quote_path(found['format'])}, but this library reads only "
            f"{FORMAT}: open it with the version of opendp_topk that wrote it"
        )
    reason = "its fields do not fit together: some were removed or changed"
    try:
        if _is_consistent(ReleaseRecord.from_dict(found)):
            return found
    except TableError as error:
        reason = str(error)
    raise TableError(f"{named} is invalid: {reason}")


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON mapping if none is repeated: programs differ in which duplicate they read."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _parse_int(text: str) -> int:
    _parse_float(text)
    return int(text)


def _parse_float(text: str) -> float:
    """Return a number that can be shown as a float."""
    if not math.isfinite(number := float(text)):
        raise ValueError
    return number


def _is_consistent(record: ReleaseRecord) -> bool:
    asked, released, known = record.asked, record.released, record.mechanism
    beside = (released.counts, released.gaps, released.groups)
    return (
        record_question(None, known) is asked
        and all(one is None or len(one) == len(released.items) for one in beside)
        and isinstance(record.d_out, tuple) == record.symbol.startswith("(")
        and isinstance(record.target or record.d_out, tuple) == record.symbol.startswith("(")
        and (released.groups is None or "partition" in known)
        and asked.is_valid_record(record)
        and asked.numbers is ("item" not in known)
        and (
            all(map(_is_number, released.items))
            if asked.numbers
            else _has_column_entries(released.items, known["item"])
        )
        and (known.get("value") is None or _has_shown_sums(record))
    )


def _is_number(item: Any) -> bool:
    """Whether a released number is in the notation of records: an integer, or a text such as "-0.25" or "37/3"."""
    with suppress(ParameterError):
        return isinstance(item, int) or (
            isinstance(item, str) and abs(parse_signed(item, "item")) <= sys.float_info.max
        )
    return False


def _has_column_entries(items: list[Any], column: str) -> bool:
    """Whether either no item has several columns, or all items have an entry for each of the columns."""
    widths = {len(one) if isinstance(one, list) else 0 for one in items}
    return widths <= {0} or widths == {len(split_item_parts(column))}


def _has_shown_sums(record: ReleaseRecord) -> bool:
    """Whether sums and quantiles have a step, bounds and a scale, and sums fit into floats."""
    known = record.mechanism
    if record.scale is None or not {"granularity", "lower", "upper"} <= known.keys():
        return False
    step, scores = to_fraction(known["granularity"]), (record.scale, known.get("test_scale", 0), *(record.counts or ()))
    return all(abs(to_fraction(one) * step) <= sys.float_info.max for one in scores)
