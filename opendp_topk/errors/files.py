"""Files that people name: which are opened, and how a new one takes the place of an old one."""

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

# Files that somebody names: an ordinary file is opened, at once; a pipe, a device, a folder is an error in words.
#
# A pipe would let its reader wait for ever, a device fill the memory, and what the system says of either is no advice.

_LONGEST = 200  # of a path that an error shows: both ends of a longer one
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"))
_KINDS = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe: write what comes out of it to a file first",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a device",
    stat.S_IFBLK: "is a device",
}
_FAILURES = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist",
    errno.EACCES: "may not be read by this account",
    errno.EPERM: "may not be read by this account",
    errno.ENAMETOOLONG: "is longer than the name of a file can be",
    errno.ELOOP: "is a link that leads to itself",
}


def path_text(path: Any, name: str) -> str:
    """``path`` as text.

    Raises:
        ParameterTypeError: It is neither a string nor a path of strings; ``name`` is the parameter.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ParameterTypeError(f"{name} must be a string or a pathlib.Path, not {type(path).__name__}")
    return text


def quote_path(path: str) -> str:
    """A path as an error shows it: in quotes, what cannot be printed escaped, and the middle of a long one left out."""
    if len(path) > _LONGEST:
        path = f"{path[: _LONGEST // 2]}...{path[-_LONGEST // 2 :]}"
    return repr(path)


def irregular_file_reason(mode: int) -> str:
    """What a file is that is no ordinary one, by the mode that the system tells; nothing of one that is."""
    kind = stat.S_IFMT(mode)
    return "" if kind == stat.S_IFREG else _KINDS.get(kind, "is no ordinary file")


def stat_regular_file(path: Any, name: str, error: type[TopKError]) -> os.stat_result:
    """What the system says of the file at ``path``, which is ordinary and may be read. Nothing waits or is read.

    Args:
        path: A string or a path; links are followed.
        name: What the file is, for errors, such as "the record".
        error: What is raised.

    Raises:
        error: There is none, it is no ordinary file (a pipe, a socket, a device, a folder), or may not be read.
        ParameterTypeError: ``path`` is no path.
    """
    with open_regular_file(path, name, error) as stream:
        return os.fstat(stream.fileno())


def open_regular_file(path: Any, name: str, error: type[TopKError]) -> BinaryIO:
    """The ordinary file at ``path``, open for reading; otherwise as :func:`stat_regular_file`."""
    text = path_text(path, name)
    handle, reason = _open_descriptor(text)
    if handle is None:
        raise error(f"{name} must be a readable file, but {quote_path(text)} {reason}")
    return os.fdopen(handle, "rb")


def read_regular_file(path: Any, name: str, error: type[TopKError], *, at_most: int) -> bytes:
    """All bytes of the ordinary file at ``path``, which are at most so many; otherwise as :func:`stat_regular_file`."""
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
    """A descriptor of the ordinary file, or why there is none."""
    try:
        os.fsencode(path)
        strange = irregular_file_reason(os.stat(path).st_mode)  # before it is opened: that alone can move a tape
        if strange:
            return None, strange
        handle = os.open(path, _FLAGS)
    except OSError as failure:
        return None, _FAILURES.get(failure.errno or 0, "cannot be opened")
    except ValueError:
        return None, "has a character that no name of a file can have (NUL, or half of a character)"
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle, ""
    os.close(handle)
    return None, "was exchanged for something else while it was opened"


# Files that are made: whole on the disk under their name, or not there at all.
#
# A draft is made beside the place, as a new file and never through a link, and is written through the descriptor that
# was opened then. So who else may write in the folder can take the file away, which is noticed, and cannot lead what
# is written to another file. Who may read it, the process says by its umask, but for what is its owner's alone.

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL
_NEW |= sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"))
_FOLDER = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_CLOEXEC"))
_BY_FOLDER = {os.open, os.link, os.rename, os.stat, os.unlink} <= os.supports_dir_fd
_MODE, _OWN = 0o666, 0o600  # less the umask


class DraftFile:
    """A new file beside ``path``, which has another name until it is published; a context manager.

    Args:
        path: The file that is to be; its last part is not followed where it is a link.
        private: Whether its owner alone may read it.

    Raises:
        OSError: By each method: the system refuses, or the draft was exchanged for something else.
        ValueError: When it is made: ``path`` holds a character that no name can have.
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
        """Let the draft be these bytes, which may come in parts, on the disk."""
        assert self._handle is not None
        with os.fdopen(os.dup(self._handle), "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(stream.fileno())

    def publish(self, *, replace: bool = False) -> None:
        """Give the draft its name; a file that has it is replaced only if that is said."""
        if not self._is_draft(self._draft):
            raise OSError(errno.ESTALE, "the file was exchanged for another while it was written")
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
        with (
            os.fdopen(os.dup(self._handle), "rb") as source,
            os.fdopen(os.open(place, _NEW, self._mode, **self._folder_options("dir_fd")), "wb") as stream,
        ):
            source.seek(0)
            shutil.copyfileobj(source, stream)
            stream.flush()
            os.fsync(stream.fileno())

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
        """Remove what has not got its name, and let go of the folder."""
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
    """A file with these bytes, through a :class:`DraftFile`.

    Raises:
        FileExistsError: There is a file of that name, and ``replace`` is not said.
        OSError: It could not be written; nothing of it is left.
        ValueError: ``path`` holds a character that no name can have.
    """
    with DraftFile(path, private=private) as draft:
        draft.write_content(content)
        draft.publish(replace=replace)
