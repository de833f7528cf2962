"""Ledgers in files: accepted file systems, locks, and appending.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import functools
import heapq
import io
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ...errors import LedgerError, ParameterError
from ...errors.files import irregular_file_reason, quote_path, write_atomically
from ...errors.locking import run_holding_lock
from . import locks
from .records import (
    DAMAGED,
    DAMAGED_FILE,
    EXISTS,
    Record,
    accepted_kinds_in,
    convert_to_ledger_error,
    ledger_error,
    unseal_record,
)
from .turns import BUSY, LedgerLock, busy_debit_key

# Files that are closed at the end of a block, whatever interrupts it.
#
# A signal handler may raise between any two calls: even if a file is open and its descriptor is not stored yet, or at
# the start of the function that would close it. So a file is opened and wrapped into an object in one call, and the
# object's own ``with`` closes it, without a line of Python in between.

# Opening must not block on a pipe. On other platforms these flags do not exist or have no effect.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"))
_OWNER = 0o600  # a ledger shows what was released and when, so only its owner may read it


# proof-region: handles
def iter_opened_file(path: Path, flags: int) -> Iterator[io.FileIO]:
    """Return an iterator for ``with next(...) as stream``, which opens the file; a new file is only for its owner."""
    return map(io.FileIO, map(os.open, (path,), (flags | _FLAGS,), (_OWNER,)), ("rb",))  # [one-step]


# end-proof-region: handles


# Type of the file system of a file, as Linux reports it. A ledger cannot rely on some types.

_REMOTE = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"),
    *("nfs4", "ocfs2", "orangefs", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
)
_MEMORY = "devtmpfs", "hugetlbfs", "ramfs", "rootfs", "tmpfs"
_LAYERS = "aufs", "overlay", "overlayfs", "unionfs"
UNKNOWN = "unknown"  # the table of mounts does not contain that of the file, for example in a chroot
_WHY = {
    UNKNOWN: "because the mount table of this process does not contain it, for example after chroot",
    **dict.fromkeys(_REMOTE, "to which other machines can write, so its locks are not reliable"),
    **dict.fromkeys(_MEMORY, "which is in memory and not on a disk"),
    **dict.fromkeys(_LAYERS, "in which each mount of the same folder has the whole budget again"),
}
_FUSE = "which is implemented by a program, so its locks and its disk are not reliable"


def unreliability_reason(kind: str | None) -> str:
    """Return why a ledger cannot rely on a type of file system; an empty string if it can, or if the type is None."""
    if kind is None:
        return ""
    return _FUSE if kind == "fuse" or kind.startswith("fuse.") else _WHY.get(kind, "")


def parse_accepted_kind(kind: str | None) -> frozenset[str]:
    """Return the set with the type of file system that a caller accepts although it would be refused."""
    if kind is None:
        return frozenset()
    if not isinstance(kind, str) or not unreliability_reason(kind):
        raise ParameterError("accept_file_system must be the file system in the error, such as 'overlay' or 'tmpfs'")
    return frozenset((kind,))


# proof-region: mounts
def file_system_kind(handle: int) -> str | None:
    """Return the type of the open file's file system, or None if the system has no table of mounts."""
    table = _read_proc_file("/proc/self/mountinfo")
    if table is None:
        return None
    found = find_mount_kind(
        table, _parse_mount_id(_read_proc_file(f"/proc/self/fdinfo/{handle}") or ""), os.fstat(handle).st_dev
    )
    return UNKNOWN if found is None else found  # [unlisted]


def find_mount_kind(table: str, mount: str | None, device: int) -> str | None:
    """Return the type in Linux's ``table`` of mounts by the mount's number, or by the device if that number is unknown.

    A file on an overlay may have the device of the folder below it, so the device alone is not sufficient.
    """
    numbers = f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        found = fields.split()
        if len(found) > 2 and rest.split() and (found[0] == mount if mount else found[2] == numbers):  # [mounted]
            return rest.split()[0]
    return None


def _parse_mount_id(told: str) -> str | None:
    """Return the number of the mount through which a file was opened."""
    for line in told.splitlines():
        if line.startswith("mnt_id:"):
            return line.split()[1]
    return None


def _read_proc_file(name: str) -> str | None:
    """Return the content of a file of /proc: None if it does not exist, and empty if access is denied."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        with open(name, "rb", buffering=0) as stream:
            return os.fsdecode(stream.readall())
    except (FileNotFoundError, NotADirectoryError):  # [missing-alone]
        return None
    except PermissionError:
        return ""


# end-proof-region: mounts


# Log of a ledger in one file, to which records are only ever appended.
#
# A record is a separator, its text and a line feed. An append that a crash or a full disk interrupted stays in the file
# and is not a record: it lacks the line feed or a matching digest. There are no other files, so a copy is complete, and
# two names of one file are the same log.

T = TypeVar("T")
SEPARATOR = b"\x1e"
_END = b"\n"
_BLOCK = 1 << 14  # bytes that usually contain the last record
_LARGEST = 64 * _BLOCK  # maximum bytes of one read
_NUMBERED = re.compile(rb'[0-9a-f]{64} \{"number":(\d+),')  # beginning of a record


class FileLog:
    """Log in one file, given by its path. No file stays open between calls, and a fork waits for a write to finish."""

    def __init__(self, path: Path, accepts: frozenset[str] = frozenset()) -> None:
        self.path = path
        self.accepts = accepts
        self.place = str(path)
        self.turn = LedgerLock()
        self._seen = [(-1, 0, "")]  # last record seen by this object: position, length, digest

    # proof-region: files
    @convert_to_ledger_error("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """See :class:`Log`. ``make`` is called under an exclusive lock. If it raises, the file is unchanged.

        Other processes may write while this waits for the disk.
        """
        with self._open_file(os.O_RDWR) as other:  # before the write, so it reports every disk error
            # Records of others are read before locking, so others wait less.
            self._remember_record(self._read_last_record(other.fileno())[0])
            made = self._run_on_locked_file(
                lambda handle: self._append_record(handle, make), other.fileno(), charges=durable
            )
            if durable:
                _sync_to_disk(other.fileno())  # [durable]
        self._remember_record(made)
        return made

    @convert_to_ledger_error("written")
    def run_exclusively(self, work: Callable[[int, bytes], T]) -> T:
        """Return the result of ``work`` on the open file and all its bytes, under an exclusive lock."""
        with self._open_file(os.O_RDWR) as other:
            return self._run_on_locked_file(
                lambda one: work(one, _read_bytes(one, 0, os.fstat(one).st_size)), other.fileno()
            )

    def _run_on_locked_file(self, work: Callable[[int], T], other: int, *, charges: bool = True) -> T:
        """Return the result of ``work`` on a locked handle. ``other`` is another handle of the file, without a lock."""
        if not locks.has_file_locks():
            raise ledger_error(self.place, "written", "this Python does not support file locks: use PostgreSQL")
        return run_holding_lock(self.turn.lock, lambda: self._run_in_turn(work, other, charges))  # [in-turn]

    def _run_in_turn(self, work: Callable[[int], T], other: int, charges: bool) -> T:
        with self._open_file(os.O_RDWR | os.O_APPEND) as stream:  # [released]
            handle = stream.fileno()
            if charges:
                self.require_reliable_storage(handle, lambda: accepted_kinds_in(self._read_last_record(handle)[0]))
            status = os.fstat(handle)
            mine = busy_debit_key((status.st_dev, status.st_ino))
            if mine in BUSY:  # [not-within]
                raise ledger_error(self.place, "written", _WITHIN)
            try:
                BUSY.add(mine)
                return self._lock_file_and_run(handle, work, other)
            finally:
                BUSY.discard(mine)

    def _lock_file_and_run(self, handle: int, work: Callable[[int], T], other: int) -> T:
        """Lock, work and unlock. If this is interrupted, closing the file at the end of its block unlocks it."""
        if not locks.acquire_lock(handle):  # [exclusive]
            raise ledger_error(
                self.place, "written", f"another process kept it locked for {locks.PATIENCE:.0f} seconds"
            )
        try:
            names = os.stat(self.path), os.fstat(other)
            if not all(os.path.samestat(os.fstat(handle), one) for one in names):  # [same-file]
                raise ledger_error(self.place, "written", "another process is replacing the file")
            if locks.try_lock(other):  # [lock-holds]
                raise ledger_error(self.place, "written", _NO_LOCKS)
            return work(handle)
        finally:
            locks.release_lock(handle)

    def _append_record(self, handle: int, make: Callable[[Record], str]) -> Record:
        last, end = self._read_last_record(handle)
        text = make(last)
        data = SEPARATOR + text.encode("ascii") + _END
        write_all_bytes(handle, data)  # [append]
        if _read_bytes(handle, end, len(data) + 1) != data:  # [read-back]
            raise ledger_error(self.place, "written", _NO_LOCKS)
        made = unseal_record(text, end)
        assert made is not None
        return made

    def _open_file(self, flags: int) -> io.FileIO:
        """Open the file for a ``with`` block. It must be regular, since other files may block or are not on a disk."""
        self._require_ordinary(os.stat(self.path).st_mode)
        return next(iter_opened_file(self.path, flags))

    def _require_ordinary(self, mode: int) -> None:
        strange = irregular_file_reason(mode)
        if strange:  # [ordinary]
            raise ledger_error(
                self.place, "opened", f"it {strange.partition(':')[0]}, but a ledger must be an ordinary file"
            )

    def require_reliable_storage(self, handle: int, recorded: Callable[[], Sequence[str]] = tuple) -> None:
        """Raise LedgerError if the file system is unreliable, unless the caller or the records accept its type."""
        kind = file_system_kind(handle)
        reason = unreliability_reason(kind)
        if reason and kind not in self.accepts and kind not in recorded():  # [fit]
            advice = (
                f"move it to a local disk, use PostgreSQL, or accept it by accept_file_system={kind!r} or "
                "`opendp-topk ledger accept`, for a new ledger with --accept-file-system"
            )
            raise ledger_error(self.place, "written", f"its file system is {kind}, {reason}; {advice}")

    def _read_last_record(self, handle: int) -> tuple[Record, int]:
        """Return the last record and the size of the file, after checking all records since the last one seen."""
        self._require_seen(handle)
        start, size = max(self._seen[0][0], 0), os.lseek(handle, 0, os.SEEK_END)
        most, before, behind = -1, b"", []
        for place, piece in self._iter_pieces(start, size, _BLOCK, functools.partial(_read_bytes, handle)):
            found = _NUMBERED.match(piece)
            if found is None or not (piece.endswith(_END) or self._parse_record(piece, place)):
                behind.append((place, piece))  # it was left unfinished, or is damaged
                continue
            if (number := int(found[1])) <= most:
                raise ledger_error(self.place, "read", _SET_BACK)  # [rising]
            if behind:
                before = behind[0][1] if most >= 0 else b""
            most, behind = number, [(place, piece)]
        return self._find_last_record(behind, before), size  # [last]

    def _find_last_record(self, pieces: list[tuple[int, bytes]], before: bytes) -> Record:
        """Return the last record in ``pieces``, which must follow the record ``before``."""
        for place, piece in reversed(pieces):
            record = self._parse_record(piece, place)
            if record is not None:
                if before and record.fields.get("previous") != before.partition(b" ")[0].decode("ascii"):
                    raise ledger_error(self.place, "read", _SET_BACK)  # [linked]
                return record
        raise ledger_error(self.place, "read", DAMAGED_FILE if pieces else _EMPTY)

    def _parse_record(self, piece: bytes, place: int) -> Record | None:
        """Return the record of a piece, or None if it is unfinished. Raise LedgerError if it is damaged."""
        text = piece.decode("ascii", "replace")
        record = unseal_record(text.removesuffix("\n"), place)
        if record is None and ("\n" in text or unseal_record(text[:-1])):  # [finished]
            raise ledger_error(self.place, "read", DAMAGED_FILE)
        return record

    def _remember_record(self, record: Record) -> None:
        """Remember a record unless one at a later position is remembered. This is one step, so threads need no lock."""
        heapq.heappushpop(self._seen, _record_marker(record))

    def _require_seen(self, handle: int) -> None:
        """Raise LedgerError unless the last record seen is still there, unchanged."""
        ((place, size, digest),) = self._seen
        if not digest:
            return
        found = unseal_record(
            _read_bytes(handle, place, 1 + size).decode("ascii", "replace").removeprefix(SEPARATOR.decode())
        )
        if found is None or found.digest != digest:  # [mark]
            raise ledger_error(self.place, "read", _REPLACED)

    # end-proof-region: files

    @convert_to_ledger_error("opened")
    def first_record(self) -> Record:
        with self._open_file(os.O_RDONLY) as stream:
            data = _read_bytes(stream.fileno(), 0, _BLOCK)
        if not data:
            raise ledger_error(self.place, "opened", _EMPTY)
        found = self._parse_record(data.split(SEPARATOR)[1], 0) if data.startswith(SEPARATOR) else None
        if found is None:
            raise ledger_error(self.place, "opened", f"it is not a ledger, or {DAMAGED.removeprefix('it is ')}")
        return found

    @convert_to_ledger_error("read")
    def last_record(self) -> Record:
        """Return the last record. This needs no lock, and no permission to write."""
        with self._open_file(os.O_RDONLY) as stream:
            found, _ = self._read_last_record(stream.fileno())
        self._remember_record(found)
        return found

    # proof-region: reading
    def iter_records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """See :class:`Log`. Records are read as they are requested, up to the end of the file at the first request."""
        start = 0 if after is None else after.place + 1 + after.size  # [behind]
        last = None
        for last in self._iter_records_from(start, self._checked_file_size(), holding=holding.encode("ascii")):
            yield last
        if last is not None:
            self._remember_record(last)

    def find_first_record(self, reached: Callable[[Record], bool]) -> Record | None:
        low, end = 0, self._checked_file_size()
        high = end
        while high - low > _BLOCK:
            middle = (low + high) // 2
            one = next(self._iter_records_from(middle, end), None)
            if one is None or one.place >= high or reached(one):
                high = middle
            else:
                low = one.place
        return next(filter(reached, self._iter_records_from(low, end)), None)

    def _iter_records_from(self, start: int, end: int, block: int = _BLOCK, holding: bytes = b"") -> Iterator[Record]:
        """Yield the records that begin at ``start`` or later, and end before ``end``."""
        for place, piece in self._iter_pieces(start, end, block, self._read_block):
            record = self._parse_record(piece, place) if holding in piece else None
            if record is not None:
                yield record

    @convert_to_ledger_error("read")
    def _checked_file_size(self) -> int:
        with self._open_file(os.O_RDONLY) as stream:
            self._require_seen(stream.fileno())
            return os.fstat(stream.fileno()).st_size

    def _iter_pieces(
        self, start: int, end: int, block: int, read: Callable[[int, int], bytes]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the position and the content of each piece between separators, from ``start`` to ``end``."""
        rest: bytes | None = None  # beginning of a piece that continues in the next block
        while start < end:
            data, block = read(start, min(block, end - start)), min(2 * block, _LARGEST)
            if not data:
                return
            first, *others = data.split(SEPARATOR)
            rest = None if rest is None else rest + first
            start += len(first)
            for piece in others:
                if rest is not None:
                    yield start - len(rest) - 1, rest  # [pieces]
                rest, start = piece, start + 1 + len(piece)
        if rest is not None:
            yield start - len(rest) - 1, rest

    @convert_to_ledger_error("read")
    def _read_block(self, start: int, length: int) -> bytes:
        with self._open_file(os.O_RDONLY) as stream:
            return _read_bytes(stream.fileno(), start, length)

    # end-proof-region: reading

    @convert_to_ledger_error("read")
    def storage_flaws(self) -> list[str]:
        """Return the flaws of the file other than those of its records."""
        with self._open_file(os.O_RDONLY) as stream:
            return [] if _read_bytes(stream.fileno(), 0, 1) == SEPARATOR else ["the file does not begin with a record"]

    @convert_to_ledger_error("read")
    def sync_records(self) -> Record:
        with self._open_file(os.O_RDONLY) as stream:
            found, _ = self._read_last_record(stream.fileno())
            _sync_to_disk(stream.fileno())
        self._remember_record(found)
        return found

    def close(self) -> None:
        """Do nothing, since no file stays open."""


_EMPTY = "it is empty: restore it from a backup that is not older than the last release"
_SET_BACK = (
    "its last record does not follow the one before it, as if an older copy had been appended: `opendp-topk "
    "ledger repair` omits records that occur twice"
)
_NO_LOCKS = "the locks of its file system do not work: move it to a local disk"
_REPLACED = "it was truncated, or replaced by an older copy or another file, since it was opened"
_WITHIN = (
    "this thread is writing a debit to it: a signal handler must not release. Set a flag in the handler, and "
    "release after it has returned"
)


def _record_marker(record: Record) -> tuple[int, int, str]:
    return record.place, record.size, record.digest


def _read_bytes(handle: int, start: int, length: int) -> bytes:
    os.lseek(handle, start, os.SEEK_SET)
    parts = []
    while length > 0 and (part := os.read(handle, length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def write_all_bytes(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _sync_to_disk(handle: int) -> None:
    """Wait for the disk itself if the system can (macOS), otherwise for fsync."""
    if not locks.flush_to_disk(handle):
        os.fsync(handle)


# Creation of a ledger's file: it is complete on disk before it gets its name.


# proof-region: creation
@convert_to_ledger_error("created")
def create_log_file(log: FileLog, header: str) -> None:
    """Create the file of ``log`` with this first record, completely or not at all."""
    path = log.path
    draft = path.parent / f".{path.name[:20]}.{uuid.uuid4().hex[:12]}.new"
    try:
        write_new_file(draft, SEPARATOR + header.encode("ascii") + b"\n")  # [whole]
        with next(iter_opened_file(draft, os.O_RDONLY)) as stream:
            log.require_reliable_storage(stream.fileno())  # [fit-first]
        if not _publish_draft(draft, path):
            raise ledger_error(log.place, "created", EXISTS)
    finally:
        with suppress(OSError):
            draft.unlink()
    sync_folder(path.parent)


def _publish_draft(draft: Path, path: Path) -> bool:
    """Give the draft its name unless a file has it, and return True if the draft got it."""
    with suppress(FileExistsError):  # [no-replacement]
        try:
            os.link(draft, path)
        except FileExistsError:
            raise
        except OSError:  # the file system has no hard links
            write_new_file(path, draft.read_bytes())
        return True
    return False


def write_new_file(path: Path, content: bytes) -> None:
    """Create a file that only its owner may read. It is on disk when this returns."""
    with next(iter_opened_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)) as stream:
        try:
            write_all_bytes(stream.fileno(), content)
            os.fsync(stream.fileno())
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise


def sync_folder(folder: Path) -> None:
    """Flush the names in ``folder`` to disk, if this account may open the folder (never on Windows)."""
    opened: list[int] = []
    try:
        with suppress(PermissionError):  # [folder]
            opened.extend(map(os.open, (folder,), (os.O_RDONLY,)))  # in one step, like files
        for handle in opened:
            os.fsync(handle)
    finally:
        for handle in opened:
            os.close(handle)


# end-proof-region: creation


def write_report(path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
    """Write a new file beside a ledger: a report or a copy. If ``private`` is true, only its owner may read it."""
    try:
        write_atomically(path, content, private=private)
        return
    except FileExistsError:
        reason = "it exists already: choose another name"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the name is not a valid file name"
    raise LedgerError(f"the file {quote_path(str(path))} could not be written: {reason}")
