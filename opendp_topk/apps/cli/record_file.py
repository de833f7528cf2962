"""Reading the record of a release back."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import TableError
from ...errors.files import quoted, read_ordinary
from ...numerics.arithmetic import exact
from ..ledger.stated import LINES
from ..planning.release_record import FORMAT, ReleaseRecord
from ..planning.units import parts_of

_MOST = 2**28  # bytes: a record of 10^6 items has a tenth of them
_LARGEST = sys.float_info.max  # pages show numbers as floats

Check = Callable[[Any], bool]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST  # and so no NaN


def _whole(value: Any) -> bool:
    return isinstance(value, int) and _number(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _none_or(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _at_least(least: int, check: Check) -> Check:
    return lambda value: check(value) and value >= least


def _among(*values: str) -> Check:
    return lambda value: _text(value) and value in values


def _like(pattern: str) -> Check:
    return lambda value: _text(value) and re.fullmatch(pattern, value, re.ASCII) is not None


def _each(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _with(**fields: Check) -> Check:
    """A mapping that has these fields, which hold what they should; it may have others."""
    return lambda value: (
        isinstance(value, Mapping) and all(name in value and check(value[name]) for name, check in fields.items())
    )


def _only(**fields: Check) -> Check:
    """A mapping that has some of these fields, which hold what they should, and no others."""
    return lambda value: (
        isinstance(value, Mapping) and all(name in fields and fields[name](one) for name, one in value.items())
    )


_NOT_NEGATIVE = _at_least(0, _number)
_STATUS = _among("current", "stale", "missing", "unproven")
_PROMISE = _with(alpha=_number, within_users=_none_or(_at_least(0, _whole)), words=_text)
_VERSION = _with(name=_text, version=_text)
# What the pages read of a record; docs/release.schema.json says more.
_RECORD = _with(
    time=_text,
    items=_each(lambda value: _text(value) or _whole(value) or (_each(_text)(value) and len(value) > 1)),
    k=_none_or(_at_least(1, _whole)),
    release=_among("ranking", "set"),
    measure=_text,
    symbol=_among("epsilon", "rho", "(epsilon, delta)", "(rho, delta)"),
    neighbors=_among("add_remove", "replace"),
    d_in=_at_least(1, _whole),
    d_out=lambda value: _NOT_NEGATIVE(value) or (_each(_NOT_NEGATIVE)(value) and len(value) == 2),
    mechanism=_with(mechanism=_text, user=_text, candidates=_none_or(_at_least(0, _whole))),
    scale=_none_or(_NOT_NEGATIVE),
    accuracy=_PROMISE,
    ledger=_none_or(
        _with(
            dataset=_text,
            entry=_whole,
            time=_text,
            claim=_text,
            head=_like(r"\d{1,18}-[0-9a-f]{64}"),
            salt=_like("[0-9a-f]{64}"),
        )
    ),
    proof=_with(
        status=_STATUS,
        documents=_each(_with(document=_none_or(_text), status=_STATUS, claim=_none_or(_text))),
    ),
    engine=_VERSION,
    library=_VERSION,
)
_SHARE = _like(r"[1-9]\d{0,2}/[1-9]\d{0,3}")
_NUMBERS = _with(value=_text, max_rows=_at_least(1, _whole))
_QUANTILE = _with(quantile=_SHARE)
_QUANTILES = _with(quantiles=_each(_SHARE), places=_at_least(1, _whole))
_BY_GAP = _with(test_scale=_NOT_NEGATIVE, candidates=_at_least(2, _whole))
_PARTITION = _with(group=_text, groups=_at_least(1, _whole))
_BESIDE: dict[str, Check] = {
    "counts": _each(_number),
    "gaps": _each(_number),
    "other": _number,
    "groups": lambda value: _each(_text)(value) or _each(_whole)(value),
    "count_accuracy": _PROMISE,
    "where": _text,
    "files": _text,
    "candidate_list": _like("sha256:[0-9a-f]{64}"),
    "group_list": _like("sha256:[0-9a-f]{64}"),
    "padded": _at_least(0, _number),
    "stated": _only(
        **dict.fromkeys(("label", *LINES, "person", "column"), _text),
        at_most=_at_least(1, _whole),
        shared=lambda value: value is True,
    ),
}


def read_record(path: str) -> ReleaseRecord:
    """The record in a file.

    Raises:
        TableError: There is none, or one of another format, or one that does not hold together.
    """
    return ReleaseRecord.from_dict(read_fields(path))


def read_fields(path: str) -> dict[str, Any]:
    """All fields of the record in a file, also those that nobody shows; otherwise as :func:`read_record`."""
    content, found = read_ordinary(path, "the record", TableError, at_most=_MOST), None
    try:
        found = json.loads(content.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise TableError(f"the record {quoted(path)} cannot be read: it is no JSON, or names a field twice")
    if not isinstance(found, dict) or not str(found.get("format", "")).startswith("opendp_topk.release."):
        raise TableError(f"{quoted(path)} is no record of a release: `opendp-topk release --out FILE.json` writes one")
    if found["format"] != FORMAT:
        raise TableError(
            f"{quoted(path)} has the format {quoted(found['format'])}, and this library reads {FORMAT} only: "
            "open it with the version of opendp_topk that wrote it"
        )
    if not _holds(found):
        raise TableError(f"the record {quoted(path)} is not whole: something was taken from it or changed")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a mapping, each of which is there once: of two, programs would read different ones."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _holds(record: dict[str, Any]) -> bool:
    if not _RECORD(record) or not all(check(record[name]) for name, check in _BESIDE.items() if name in record):
        return False
    length, k = len(record["items"]), record["k"]
    fits = all(len(record[name]) == length for name in ("counts", "gaps", "groups") if name in record)
    paired = isinstance(record["d_out"], list) == record["symbol"].startswith("(")
    few = _in_groups(record) if "groups" in record or "partition" in record["mechanism"] else k is None or length <= k
    return fits and paired and few and _measured(record)


def _in_groups(record: dict[str, Any]) -> bool:
    """Whether a list for each of several groups is told of as such."""
    partition, k = record["mechanism"].get("partition"), record["k"]
    return _PARTITION(partition) and k is not None and len(record.get("groups", ())) == partition["groups"] * k


def _wide(items: list[Any], column: str) -> bool:
    """Whether items of several columns have an entry for each, as all of them do or none."""
    widths = {len(one) if isinstance(one, list) else 0 for one in items}
    return widths <= {0} or widths == {len(parts_of(column))}


def _apart(record: dict[str, Any]) -> bool:
    """Whether a set that a gap sets apart has the scale of its test, and a largest number."""
    if record["mechanism"]["mechanism"] != "top_k_by_gap":
        return True
    return _BY_GAP(record["mechanism"]) and None not in (record["k"], record["scale"])


def _measured(record: dict[str, Any]) -> bool:
    """Whether sums, which a record has in steps, have steps and bounds, and are numbers that a page can show.

    So have quantiles, in the place of items.
    """
    known = record["mechanism"]
    if "quantile" in known or "quantiles" in known:
        asked = [known["quantile"]] if _QUANTILE(known) else known["quantiles"] if _QUANTILES(known) else []
        if not _NUMBERS(known) or not asked or len(record["items"]) not in (0, len(asked)):
            return False
    elif not _text(known.get("item")) or not _wide(record["items"], known["item"]) or not _apart(record):
        return False
    if known.get("value") is None:
        return True
    step, bounds = known.get("granularity"), [known.get(name) for name in ("lower", "upper")]
    if not (_NOT_NEGATIVE(step) and all(map(_number, bounds))):
        return False
    if record["scale"] is None:
        return False
    scales = record["scale"], known.get("test_scale", 0)
    sums = [exact(one) * exact(step) for one in (*scales, *record.get("counts", ()))]
    return all(abs(one) <= _LARGEST for one in sums)
