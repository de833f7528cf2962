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
from typing import Any, BinaryIO

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
    """Return ``path`` as a string.

    Raises:
        ParameterTypeError: ``path`` is neither a string nor a path of strings; ``name`` is the parameter.
    """
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

    Raises:
        error: The file does not exist, is not a regular file (but a pipe, a socket, a device or a folder), or may not
            be read.
        ParameterTypeError: ``path`` is not a path.
    """
    with open_regular_file(path, name, error) as stream:
        return os.fstat(stream.fileno())


def open_regular_file(path: Any, name: str, error: type[TopKError]) -> BinaryIO:
    """Return the regular file at ``path``, open for reading; arguments and errors as in :func:`stat_regular_file`."""
    text = path_text(path, name)
    handle, reason = _open_descriptor(text)
    if handle is None:
        raise error(f"{name} must be a readable file, but {quote_path(text)} {reason}")
    return os.fdopen(handle, "rb")


def read_regular_file(path: Any, name: str, error: type[TopKError], *, at_most: int) -> bytes:
    """Return all bytes of the regular file at ``path``; other arguments and errors as in :func:`stat_regular_file`.

    Raises:
        error: Also if the file has more than ``at_most`` bytes.
    """
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
_FOLDER = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_CLOEXEC"))
_BY_FOLDER = {os.open, os.link, os.rename, os.stat, os.unlink} <= os.supports_dir_fd
_MODE, _OWN = 0o666, 0o600  # less the umask


class DraftFile:
    """A context manager for a new file beside ``path``, with another name until it is published.

    Args:
        path: The future file; if its last part is a link, the link is not followed.
        private: Whether only its owner may read the file; default False.

    Raises:
        OSError: By each method: the operation fails, or the draft was exchanged for another file.
        ValueError: By the constructor: ``path`` contains a character that a file name cannot have.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self._place = path
        self._mode = _OWN if private else _MODE
        self._draft = path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex[:12]}.partial")
        self._folder = os.open(path.parent, _FOLDER) if _BY_FOLDER else None
        try:
            self._handle: int | None = os.open(
                self._relative_name(self._draft), _NEW, self._mode, **self._folder_options("dir_fd")
            )
        except BaseException:
            self._close_folder()
            raise

    def write_content(self, content: bytes | Iterable[bytes]) -> None:
        """Write these bytes, which may be an iterable of parts, to the draft and flush them to the disk."""
        assert self._handle is not None
        with os.fdopen(os.dup(self._handle), "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(stream.fileno())

    def publish(self, *, replace: bool = False) -> None:
        """Give the draft its name; an existing file is replaced only if ``replace`` is true."""
        if not self._is_draft(self._draft):
            raise OSError(errno.ESTALE, "the file was replaced by another while it was written")
        if replace:
            self._close_file()
            os.replace(
                self._relative_name(self._draft),
                self._relative_name(self._place),
                **self._folder_options("src_dir_fd", "dst_dir_fd"),
            )
        else:
            self._link_draft()

    def _link_draft(self) -> None:
        draft, place = self._relative_name(self._draft), self._relative_name(self._place)
        options = self._folder_options("src_dir_fd", "dst_dir_fd") | _KEPT
        try:
            os.link(draft, place, **options)
            return
        except FileExistsError:
            raise
        except OSError:
            pass  # a file system without hard links
        assert self._handle is not None
        copy = os.open(place, _NEW, self._mode, **self._folder_options("dir_fd"))
        try:
            with os.fdopen(os.dup(self._handle), "rb") as source, os.fdopen(copy, "wb") as stream:
                source.seek(0)
                shutil.copyfileobj(source, stream)
                stream.flush()
                os.fsync(stream.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(place, **self._folder_options("dir_fd"))
            raise

    def _is_draft(self, path: Path) -> bool:
        assert self._handle is not None
        found = os.stat(self._relative_name(path), follow_symlinks=False, **self._folder_options("dir_fd"))
        return os.path.samestat(found, os.fstat(self._handle))

    def _relative_name(self, path: Path) -> str:
        return str(path) if self._folder is None else path.name

    def _folder_options(self, *names: str) -> dict[str, Any]:
        return {} if self._folder is None else dict.fromkeys(names, self._folder)

    def __enter__(self) -> DraftFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Remove the draft's own name, and close the file and the folder."""
        self._close_file()
        with contextlib.suppress(OSError):
            os.unlink(self._relative_name(self._draft), **self._folder_options("dir_fd"))
        self._close_folder()

    def _close_file(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _close_folder(self) -> None:
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


_KEPT: dict[str, Any] = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}


def write_atomically(
    path: Path, content: bytes | Iterable[bytes], *, replace: bool = False, private: bool = False
) -> None:
    """Write a file with these bytes through a :class:`DraftFile`.

    Raises:
        FileExistsError: The file exists, and ``replace`` is false.
        OSError: The file could not be written. No part of it is left.
        ValueError: ``path`` contains a character that a file name cannot have.
    """
    with DraftFile(path, private=private) as draft:
        draft.write_content(content)
        draft.publish(replace=replace)
