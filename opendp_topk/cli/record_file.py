"""Reading the record of a release back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import TableError
from .record import FORMAT

_TEXT, _WHOLE, _NUMBER = (str,), (int,), (int, float)
# What the pages read of a record; docs/release.schema.json says more.
_FIELDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("time", "release", "measure", "symbol", "neighbors"), _TEXT),
    "d_in": _WHOLE,
    "k": (int, type(None)),
    **dict.fromkeys(("mechanism", "accuracy", "proof", "engine", "library"), (dict,)),
    "items": (list,),
    "scale": _NUMBER,
    "d_out": (*_NUMBER, list),
    "ledger": (dict, type(None)),
}
_OPTIONAL = ("where", "files")  # texts, where they are there
_INNER = {
    "mechanism": ("mechanism", "candidates"),
    "accuracy": ("alpha", "within_users", "words"),
    "count_accuracy": ("alpha", "within_users", "words"),
    "proof": ("status", "documents"),
    "engine": ("name", "version"),
    "library": ("name", "version"),
    "ledger": ("dataset", "entry", "time"),
}


def read_record(path: str) -> dict[str, Any]:
    """The record in a file.

    Raises:
        TableError: There is none, or one of another format.
    """
    reason = ""
    try:
        found = json.loads(Path(path).read_bytes().decode("utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (ValueError, RecursionError):
        reason = "it is no JSON"
    if reason:
        raise TableError(f"the record {path!r} cannot be read: {reason}")
    if not isinstance(found, dict) or not str(found.get("format", "")).startswith("opendp_topk.release."):
        raise TableError(f"{path!r} is no record of a release: `opendp-topk release --out FILE.json` writes one")
    if found["format"] != FORMAT:
        raise TableError(f"{path!r} has the format {found['format']}, and this version reads {FORMAT} alone")
    if not _whole(found):
        raise TableError(f"the record {path!r} is not whole: something was taken from it or changed")
    return found


def _whole(record: dict[str, Any]) -> bool:
    if any(not isinstance(record.get(name), types) for name, types in _FIELDS.items()):
        return False
    if any(not isinstance(record[name], str) for name in _OPTIONAL if name in record):
        return False
    inner = ((record[name], names) for name, names in _INNER.items() if record.get(name) is not None)
    if not all(isinstance(one, dict) and set(names) <= one.keys() for one, names in inner):
        return False
    beside = [record[name] for name in ("counts", "gaps") if name in record]
    return all(isinstance(one, list) and len(one) == len(record["items"]) for one in beside) and _paired(record)


def _paired(record: dict[str, Any]) -> bool:
    documents = record["proof"]["documents"]
    fits = not isinstance(record["d_out"], list) or len(record["d_out"]) == 2
    return fits and all(isinstance(one, dict) and {"document", "status", "claim"} <= one.keys() for one in documents)
