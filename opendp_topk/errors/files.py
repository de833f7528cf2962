"""Files named by the user: regular files are opened for reading, and new files are written atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, BinaryIO

from . import ParameterTypeError, TopKError

# Reading: only regular files are opened, without blocking. A pipe, a device or a folder gives an error with advice.
#
# Reading a pipe could block forever, a device could fill the memory, and the system's own errors give no advice.

_LONGEST = 200  # characters of a path in an error; a longer one is shortened in the middle
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"))
_KINDS = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe: write its output to a file first",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a device",
    stat.S_IFBLK: "is a device",
}
_FAILURES = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist",
    errno.EACCES: "cannot be read by this account: permission denied",
    errno.EPERM: "cannot be read by this account: permission denied",
    errno.ENAMETOOLONG: "is longer than a file name can be",
    errno.ELOOP: "is a symbolic link to itself",
}


def path_text(path: Any, name: str) -> str:
    """Return ``path`` as a string."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ParameterTypeError(f"{name} must be a string or a pathlib.Path, not {type(path).__name__}")
    return text


def quote_path(path: str) -> str:
    """Return a path as an error shows it: quoted, with escapes, and without the middle if it is long."""
    if len(path) > _LONGEST:
        path = f"{path[: _LONGEST // 2]}...{path[-_LONGEST // 2 :]}"
    return repr(path)


def irregular_file_reason(mode: int) -> str:
    """Return why a file with this mode is not a regular file; empty if it is one."""
    kind = stat.S_IFMT(mode)
    return "" if kind == stat.S_IFREG else _KINDS.get(kind, "is not an ordinary file")


def stat_regular_file(path: Any, name: str, error: type[TopKError]) -> os.stat_result:
    """Return the status of the regular, readable file at ``path``, without blocking and without reading it.

    Args:
        path: A string or a path; links are followed.
        name: The word for the file in errors, such as "the record".
        error: The class of the error to raise.
    """
    with open_regular_file(path, name, error) as stream:
        return os.fstat(stream.fileno())


def open_regular_file(path: Any, name: str, error: type[TopKError]) -> BinaryIO:
    """Return the regular file at ``path``, open for reading; arguments as in :func:`stat_regular_file`."""
    text = path_text(path, name)
    handle, reason = _open_descriptor(text)
    if handle is None:
        raise error(f"{name} must be a readable file, but {quote_path(text)} {reason}")
    return os.fdopen(handle, "rb")


def read_regular_file(path: Any, name: str, error: type[TopKError], *, at_most: int) -> bytes:
    """Return all bytes of the regular file at ``path``; other arguments as in :func:`stat_regular_file`."""
    with open_regular_file(path, name, error) as stream:
        try:
            found, reason = stream.read(at_most + 1), ""
        except OSError:
            found, reason = b"", "cannot be read"
    if len(found) > at_most:
        reason = f"has more than {at_most} bytes"
    if reason:
        raise error(f"{name} must be a readable file, but {quote_path(path_text(path, name))} {reason}")
    return found


def _open_descriptor(path: str) -> tuple[int | None, str]:
    """Return a descriptor of the regular file and an empty reason, or None and the reason why there is none."""
    try:
        os.fsencode(path)
        strange = irregular_file_reason(os.stat(path).st_mode)  # before opening it, which can rewind a tape
        if strange:
            return None, strange
        handle = os.open(path, _FLAGS)
    except OSError as failure:
        return None, _FAILURES.get(failure.errno or 0, "cannot be opened")
    except ValueError:
        return None, "contains a character that is not allowed in file names (NUL, or half of a character)"
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle, ""
    os.close(handle)
    return None, "was replaced while it was opened"


# Writing: a file is complete on the disk under its name, or does not exist. The only exception is a file system without
# hard links, where a new file that must not replace another is copied: a crash meanwhile leaves a part of it.
#
# A draft is created in the same folder, as a new file and never through a link, and is written through the descriptor
# that was opened then. Another user who may write in the folder can remove the file, which is detected, but cannot
# redirect the content to another file. The umask of the process decides who may read the file, unless it is private.

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL
_NEW |= sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"))
_MODE, _OWN = 0o666, 0o600  # less the umask


class DraftFile:
    """A context manager for a new file beside ``path``, with another name until it is published.

    Entering it creates the file, and leaves none behind if it is interrupted, at whatever point. A link at ``path`` is
    not followed. If ``private`` is true, only the owner may read the file.
    Each method raises OSError if the operation fails, or if the draft was exchanged for another file.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self._place, self._mode = path, _OWN if private else _MODE
        self._draft = path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex[:12]}.partial")

    def write_content(self, content: bytes | Iterable[bytes]) -> None:
        """Write these bytes, which may be an iterable of parts, to the draft and flush them to the disk."""
        self._stream.writelines([content] if isinstance(content, bytes) else content)
        _flush(self._stream)

    def publish(self, *, replace: bool = False) -> None:
        """Give the draft its name; an existing file is replaced only if ``replace`` is true."""
        if not os.path.samestat(os.stat(self._draft, follow_symlinks=False), os.fstat(self._stream.fileno())):
            raise OSError(errno.ESTALE, "the file was replaced by another while it was written")
        if replace:
            os.replace(self._draft, self._place)
        else:
            self._link_draft()

    def _link_draft(self) -> None:
        try:
            os.link(self._draft, self._place, **_KEPT)
            return
        except FileExistsError:
            raise
        except OSError:
            pass  # a file system without hard links
        with os.fdopen(os.open(self._place, _NEW, self._mode), "wb") as copy:
            try:
                self._stream.seek(0)
                shutil.copyfileobj(self._stream, copy)
                _flush(copy)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._place.unlink()
                raise

    def __enter__(self) -> DraftFile:
        try:
            self._stream = os.fdopen(os.open(self._draft, _NEW, self._mode), "r+b")
            return self
        except OSError:
            raise  # no file was created; one of this name belongs to somebody else
        except BaseException:
            self.discard()
            raise

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Remove the draft's own name, and close the file."""
        with contextlib.suppress(OSError, AttributeError):  # there is no stream if creating the file was interrupted
            self._stream.close()
        with contextlib.suppress(OSError):
            self._draft.unlink()


def _flush(stream: IO[bytes]) -> None:
    stream.flush()
    os.fsync(stream.fileno())


_KEPT: dict[str, Any] = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}


def write_atomically(
    path: Path, content: bytes | Iterable[bytes], *, replace: bool = False, private: bool = False
) -> None:
    """Write a file with these bytes through a :class:`DraftFile`."""
    with DraftFile(path, private=private) as draft:
        draft.write_content(content)
        draft.publish(replace=replace)
