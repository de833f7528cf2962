"""Files that somebody names: an ordinary file is opened, at once; a pipe, a device, a folder is an error in words.

A pipe would let its reader wait for ever, a device fill the memory, and what the system says of either is no advice.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, BinaryIO

from . import ParameterTypeError, TopKError

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


def quoted(path: str) -> str:
    """A path as an error shows it: in quotes, what cannot be printed escaped, and the middle of a long one left out."""
    if len(path) > _LONGEST:
        path = f"{path[: _LONGEST // 2]}...{path[-_LONGEST // 2 :]}"
    return repr(path)


def strangeness(mode: int) -> str:
    """What a file is that is no ordinary one, by the mode that the system tells; nothing of one that is."""
    kind = stat.S_IFMT(mode)
    return "" if kind == stat.S_IFREG else _KINDS.get(kind, "is no ordinary file")


def ordinary_file(path: Any, name: str, error: type[TopKError]) -> os.stat_result:
    """What the system says of the file at ``path``, which is ordinary and may be read. Nothing waits or is read.

    Args:
        path: A string or a path; links are followed.
        name: What the file is, for errors, such as "the record".
        error: What is raised.

    Raises:
        error: There is none, it is no ordinary file (a pipe, a socket, a device, a folder), or may not be read.
        ParameterTypeError: ``path`` is no path.
    """
    with open_ordinary(path, name, error) as stream:
        return os.fstat(stream.fileno())


def open_ordinary(path: Any, name: str, error: type[TopKError]) -> BinaryIO:
    """The ordinary file at ``path``, open for reading; otherwise as :func:`ordinary_file`."""
    text = path_text(path, name)
    handle, reason = _opened(text)
    if handle is None:
        raise error(f"{name} must be a readable file, but {quoted(text)} {reason}")
    return os.fdopen(handle, "rb")


def read_ordinary(path: Any, name: str, error: type[TopKError], *, at_most: int) -> bytes:
    """All bytes of the ordinary file at ``path``, which are at most so many; otherwise as :func:`ordinary_file`."""
    with open_ordinary(path, name, error) as stream:
        try:
            found, reason = stream.read(at_most + 1), ""
        except OSError:
            found, reason = b"", "cannot be read"
    if len(found) > at_most:
        reason = f"has more than {at_most} bytes"
    if reason:
        raise error(f"{name} must be a readable file, but {quoted(path_text(path, name))} {reason}")
    return found


def _opened(path: str) -> tuple[int | None, str]:
    """A descriptor of the ordinary file, or why there is none."""
    try:
        os.fsencode(path)
        strange = strangeness(os.stat(path).st_mode)  # before it is opened: that alone can move a tape
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
