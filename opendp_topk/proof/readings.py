"""The log of readings, ``proofs/readings.jsonl``: which proof was held against what, when and by whom.

A line with a ``document`` is a renewal of its pins. ``digest`` stands for the pins and the statements relied on, as
they were written then; ``checked`` quotes the hypothesis or tag that was checked again, and ``against`` the line of the
change against which it was. A line with a ``statement`` says that it has other words and the same meaning, from one
digest to another: what was recorded of the old words holds for the new ones.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import ProofError
from . import library
from .closures import pins
from .machine import checks
from .statements import relations


@dataclass(frozen=True)
class Reading:
    """A document was read again, and its pins were renewed."""

    document: str
    digest: str
    date: str
    by: str
    checked: str
    against: str
    because: str = ""

    def __str__(self) -> str:
        return f"{self.date}, {self.by}: {self.checked} | held against: {self.against}"


@dataclass(frozen=True)
class Rewording:
    """A statement has other words and means the same: ``old`` and ``new`` are its digests."""

    statement: str
    old: str
    new: str
    date: str
    by: str
    because: str


@dataclass(frozen=True)
class Migration:
    """Pins have another form and stand for the same code: ``digests`` has the new one of each old one."""

    digests: dict[str, str]
    date: str
    by: str
    because: str


Line = Reading | Rewording | Migration


def file() -> Path:
    """Where the log lies."""
    return library.folder() / "readings.jsonl"


def log() -> list[Line]:
    """All lines, oldest first.

    Raises:
        ProofError: A line is not one of either kind.
    """
    return list(_read(file()))


@functools.cache
def _read(path: Path) -> tuple[Line, ...]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return tuple(_line(number, line) for number, line in enumerate(lines, start=1))


def _line(number: int, text: str) -> Line:
    try:
        fields = json.loads(text)
        kind = Reading if "document" in fields else Migration if "digests" in fields else Rewording
        return kind(**fields)
    except (ValueError, TypeError):
        raise ProofError(f"line {number} of proofs/readings.jsonl is no reading, rewording or migration") from None


def append(lines: Iterable[Line]) -> None:
    """Add lines to the log.

    Raises:
        ProofError: A line lacks who, what was checked, or why.
    """
    written = []
    for line in lines:
        fields = asdict(line)
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        empty = [name for name, value in texts.items() if not value.strip() or not value.isprintable()]
        if empty:
            raise ProofError(f"a line of the log of readings needs {' and '.join(empty)}, in one line each")
        written.append(json.dumps(fields, ensure_ascii=False) + "\n")
    with file().open("a", encoding="utf-8") as stream:
        stream.write("".join(written))
    forget_readings()


def written(name: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a document's pins, marks and recorded statements as they stand.

    They are what is written, whether it is current or not. Errors are those of :func:`pins`.
    """
    said = [str(pin) for pin in pins(name)] + [check.mark(check.digest) for check in checks(name)]
    said += [f"{key} {digest}" for key, digest in sorted(library.relied_then(name).items())]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def begun(name: str, digest: str) -> str:
    """With what a line of the log begins that tells of a reading of this document at these pins."""
    return json.dumps({"document": name, "digest": digest}, ensure_ascii=False).removesuffix("}")


def last(name: str) -> Reading | None:
    """The last reading of a document, or None where the log has none."""
    return next((line for line in reversed(log()) if isinstance(line, Reading) and line.document == name), None)


def is_read(name: str) -> bool:
    """Whether the last reading of a document was of its pins as they are written, or as they were migrated from."""
    digest = ""
    for line in log():
        if isinstance(line, Reading) and line.document == name:
            digest = line.digest
        elif isinstance(line, Migration):
            digest = line.digests.get(digest, digest)
    return digest == written(name)


def strayed(name: str) -> list[str]:
    """The statements on which ``name`` relies that are not what was recorded, nor the same in other words."""
    then, now = library.relied_then(name), library.relied_now(name)
    return sorted(key for key in then.keys() | now.keys() if not _means(key, then.get(key), now.get(key)))


def _means(key: str, then: str | None, now: str | None) -> bool:
    steps = [line for line in log() if isinstance(line, Rewording) and line.statement == key] if then != now else []
    same = {then}
    while more := {step.new for step in steps if step.old in same} - same:
        same |= more
    return now in same


def recorded(target: str) -> dict[str, set[str]]:
    """The statements of a document on which others rely, each with the digests recorded that it has strayed from."""
    found: dict[str, set[str]] = {}
    for name in library.documents():
        keys = {library.key(one) for one in relations(library.text(name)) if one[0] == target}
        for key in keys.intersection(strayed(name)):
            if key in library.relied_then(name):
                found.setdefault(key, set()).add(library.relied_then(name)[key])
    return found


def forget_readings() -> None:
    """Read the log anew when it is next asked for."""
    _read.cache_clear()
