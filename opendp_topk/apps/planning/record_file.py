"""Reading and validating the record of a release."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import TableError
from ...errors.files import quote_path, read_regular_file
from ...numerics.arithmetic import to_fraction
from ..ledger.stated import LINES
from .questions import record_question
from .release_record import FORMAT, ReleaseRecord
from .units import split_item_parts

_MOST = 2**28  # most bytes of a record, ten times the size of one with 10^6 items
_LARGEST = sys.float_info.max  # pages show numbers as floats

Check = Callable[[Any], bool]


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST  # excludes NaN


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and _is_finite_number(value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _none_or(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _at_least(least: int, check: Check) -> Check:
    return lambda value: check(value) and value >= least


def _one_of_values(*values: str) -> Check:
    return lambda value: _is_string(value) and value in values


def _text_matching(pattern: str) -> Check:
    return lambda value: _is_string(value) and re.fullmatch(pattern, value, re.ASCII) is not None


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _mapping_with(**fields: Check) -> Check:
    """Return a check for mappings that have all these fields with valid values; other fields are allowed."""
    return lambda value: (
        isinstance(value, Mapping) and all(name in value and check(value[name]) for name, check in fields.items())
    )


def _mapping_only(**fields: Check) -> Check:
    """Return a check for mappings that have only these fields, each optional, with valid values."""
    return lambda value: (
        isinstance(value, Mapping) and all(name in fields and fields[name](one) for name, one in value.items())
    )


_NOT_NEGATIVE = _at_least(0, _is_finite_number)
_STATUS = _one_of_values("current", "stale", "missing", "unproven")
_PROMISE = _mapping_with(
    alpha=_is_finite_number, within_users=_none_or(_at_least(0, _is_whole_number)), words=_is_string
)
_VERSION = _mapping_with(name=_is_string, version=_is_string)
# The fields of a record that the pages use; docs/release.schema.json describes all of them.
_RECORD = _mapping_with(
    time=_is_string,
    items=_list_of(
        lambda value: _is_string(value) or _is_whole_number(value) or (_list_of(_is_string)(value) and len(value) > 1)
    ),
    k=_none_or(_at_least(1, _is_whole_number)),
    release=_one_of_values("ranking", "set"),
    measure=_is_string,
    symbol=_one_of_values("epsilon", "rho", "(epsilon, delta)", "(rho, delta)"),
    neighbors=_one_of_values("add_remove", "replace"),
    d_in=_at_least(1, _is_whole_number),
    d_out=lambda value: _NOT_NEGATIVE(value) or (_list_of(_NOT_NEGATIVE)(value) and len(value) == 2),
    mechanism=_mapping_with(mechanism=_is_string, user=_is_string, candidates=_none_or(_at_least(0, _is_whole_number))),
    scale=_none_or(_NOT_NEGATIVE),
    accuracy=_PROMISE,
    ledger=_none_or(
        _mapping_with(
            dataset=_is_string,
            entry=_is_whole_number,
            time=_is_string,
            claim=_is_string,
            head=_text_matching(r"\d{1,18}-[0-9a-f]{64}"),
            salt=_text_matching("[0-9a-f]{64}"),
        )
    ),
    proof=_mapping_with(
        status=_STATUS,
        documents=_list_of(_mapping_with(document=_none_or(_is_string), status=_STATUS, claim=_none_or(_is_string))),
    ),
    engine=_VERSION,
    library=_VERSION,
)
_BESIDE: dict[str, Check] = {
    "question": _mapping_with(kind=_is_string, version=_is_whole_number),
    "counts": _list_of(_is_finite_number),
    "gaps": _list_of(_is_finite_number),
    "other": _is_finite_number,
    "groups": lambda value: _list_of(_is_string)(value) or _list_of(_is_whole_number)(value),
    "count_accuracy": _PROMISE,
    "where": _is_string,
    "files": _is_string,
    "candidate_list": _text_matching("sha256:[0-9a-f]{64}"),
    "group_list": _text_matching("sha256:[0-9a-f]{64}"),
    "padded": _at_least(0, _is_finite_number),
    "stated": _mapping_only(
        **dict.fromkeys(("label", *LINES, "person", "column"), _is_string),
        at_most=_at_least(1, _is_whole_number),
        shared=lambda value: value is True,
    ),
}


def read_record(path: str) -> ReleaseRecord:
    """Read the record in a file.

    Raises:
        TableError: The file cannot be read or is not a record, or the record has another format or is inconsistent.
    """
    return ReleaseRecord.from_dict(read_fields(path))


def read_fields(path: str) -> dict[str, Any]:
    """Return all fields of the record in a file, including those that are never shown.

    Raises:
        TableError: As :func:`read_record`.
    """
    content, found = read_regular_file(path, "the record", TableError, at_most=_MOST), None
    try:
        found = json.loads(content.decode("utf-8"), object_pairs_hook=_unique_fields)
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise TableError(f"the record {quote_path(path)} cannot be read: it is not JSON, or contains a field twice")
    if not isinstance(found, dict) or not str(found.get("format", "")).startswith("opendp_topk.release."):
        raise TableError(f"{quote_path(path)} is not a release record, as `opendp-topk release --out` writes")
    if found["format"] != FORMAT:
        raise TableError(
            f"{quote_path(path)} has the format {quote_path(found['format'])}, but this library reads only "
            f"{FORMAT}: open it with the version of opendp_topk that wrote it"
        )
    if not _is_consistent(found):
        raise TableError(f"the record {quote_path(path)} is incomplete or invalid: fields were removed or changed")
    return found


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON mapping if none is repeated: programs differ in which duplicate they read."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _is_consistent(record: dict[str, Any]) -> bool:
    if not _RECORD(record) or not all(check(record[name]) for name, check in _BESIDE.items() if name in record):
        return False
    length, asked = len(record["items"]), record_question(record.get("question"), record["mechanism"])
    fits = all(len(record[name]) == length for name in ("counts", "gaps", "groups") if name in record)
    paired = isinstance(record["d_out"], list) == record["symbol"].startswith("(")
    alone = "groups" not in record or "partition" in record["mechanism"]
    return (
        fits
        and paired
        and alone
        and asked is not None
        and asked.is_valid_record(record)
        and _has_valid_numbers(record, asked.numbers)
    )


def _has_column_entries(items: list[Any], column: str) -> bool:
    """Whether either no item has several columns, or all items have an entry for each of the columns."""
    widths = {len(one) if isinstance(one, list) else 0 for one in items}
    return widths <= {0} or widths == {len(split_item_parts(column))}


def _has_valid_numbers(record: dict[str, Any], numbers: bool) -> bool:
    """Whether sums and released ``numbers`` have a valid step and bounds, and sums fit into floats."""
    known = record["mechanism"]
    if not numbers and not (_is_string(known.get("item")) and _has_column_entries(record["items"], known["item"])):
        return False
    if known.get("value") is None:
        return True
    step, bounds = known.get("granularity"), [known.get(name) for name in ("lower", "upper")]
    if not (_NOT_NEGATIVE(step) and all(map(_is_finite_number, bounds))):
        return False
    if record["scale"] is None:
        return False
    scales = record["scale"], known.get("test_scale", 0)
    sums = [to_fraction(one) * to_fraction(step) for one in (*scales, *record.get("counts", ()))]
    return all(abs(one) <= _LARGEST for one in sums)
