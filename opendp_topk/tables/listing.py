"""Which files a table is: listed once, by one rule, for every engine, and looked at again when all was read.

The rule. A file is itself, whatever its name looks like. A folder is all files in it, and in folders below, whose names
end in .parquet, in any case. Left out are names that begin with ``.``, and those that begin with ``_`` but for folders
``_name=value``. Links are followed; what two names lead to, by links of either kind, is refused. A pattern, where
nothing has this very name, stands for the files and the folders that it fits: ``*``, ``?`` and ``[...]`` within a name,
``**`` for folders of any depth; a name that is left out fits only a part of the pattern that begins with the same
letter.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import TableError
from ..errors.files import path_text, quote_path, stat_regular_file

PARQUET = ".parquet"
_CHANGED = (
    "the files of the table were changed while it was read: nothing was released. Read a copy that stays as it is"
)


@dataclass(frozen=True)
class TableFile:
    """A file of a table, as it was when it was listed.

    Args:
        place: Its whole path, or address.
        name: Its name below the path that was given.
        size: Its bytes.
        stamp: When it was last written, and on this machine which file it is.
    """

    place: str
    name: str
    size: int
    stamp: tuple[int, ...]


@dataclass(frozen=True)
class FileList:
    """All files of a table, in the order of their names; ``look`` says what a place holds now."""

    files: tuple[TableFile, ...]
    look: Callable[[str, str], TableFile]

    @property
    def file_locations(self) -> list[str]:
        """Where they are."""
        return [file.place for file in self.files]

    def require_unchanged(self) -> None:
        """Raise TableError unless each file has the size, and the time of its last change, with which it was listed."""
        now = []
        for file in self.files:
            try:
                now.append(self.look(file.place, file.name))
            except TableError:
                break
        if tuple(now) != self.files:
            raise TableError(_CHANGED)

    def to_json_lines(self, key: str) -> bytes:
        """The list as JSON lines, to be kept: a first line with ``key``, number and total size, and one a file."""
        import json

        head = {"key": key, "files": len(self.files), "bytes": sum(file.size for file in self.files)}
        lines = [head, *({"name": file.name, "bytes": file.size} for file in self.files)]
        return "".join(json.dumps(line) + "\n" for line in lines).encode()


def list_files(path: Any) -> FileList:
    """The files of the table at ``path`` on this machine, by the rule above; a file may end as it likes.

    Raises:
        TableError: There are none; a file or a folder cannot be read, is empty, is no ordinary file, or has two names.
        ParameterTypeError: ``path`` is no path.
    """
    text = path_text(path, "path")
    if os.path.isdir(text):
        root = os.path.abspath(text)
        places = list(_walk_parquet_files(root))
    elif is_folder_or_pattern(text):
        root, parts = _split_pattern(text)
        places = sorted({one for fit in _matching_paths(root, parts, ()) for one in _expand_to_parquet(fit)})
    else:
        root, places = os.path.split(os.path.abspath(text))[0], [os.path.abspath(text)]
    files = sort_and_check_files((_stat_file(one, os.path.relpath(one, root)) for one in places), text)
    require_distinct(files)
    return FileList(files, _stat_file)


def is_folder_or_pattern(path: str) -> bool:
    """Whether a path stands for as many files as there are: a folder, or a pattern that is no name."""
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path))


def sort_and_check_files(files: Iterable[TableFile], path: str) -> tuple[TableFile, ...]:
    """The files in the order of their names, if there are any and none is empty."""
    found = tuple(sorted(files, key=lambda file: file.name))
    if not found:
        raise TableError(f"path must name .parquet files, and there are none in {quote_path(path)}")
    for file in found:
        if not file.size:
            raise TableError(f"path must name a readable file, but {quote_path(file.place)} is empty")
    return found


def require_distinct(
    files: Iterable[TableFile], identity: Callable[[TableFile], Any] = lambda file: file.stamp[1:]
) -> None:
    """Raise TableError if two of the files are one, by links of either kind: by device and inode, if not told."""
    seen: dict[Any, str] = {}
    for file in files:
        other = seen.setdefault(identity(file), file.place)
        if other != file.place:
            raise TableError(
                f"path must name each file once, but {quote_path(other)} and {quote_path(file.place)} are one"
            )


def is_parquet(name: str) -> bool:
    """Whether a file of this name is one of a folder that is a table."""
    return name.lower().endswith(PARQUET)


def is_excluded_name(name: str, *, folder: bool) -> bool:
    """Whether a file or a folder of this name is not part of a table."""
    return name.startswith(".") or (name.startswith("_") and not (folder and "=" in name))


def _stat_file(place: str, name: str) -> TableFile:
    seen = stat_regular_file(place, "path", TableError)
    if not place.isascii() and any("\ud800" <= letter <= "\udfff" for letter in place):
        raise TableError(
            f"path must name files by names that are UTF-8, since engines open no others, and {quote_path(place)} "
            f"is none: "
            "rename it, or give a link to it"
        )
    return TableFile(place, name.replace(os.sep, "/"), seen.st_size, (seen.st_mtime_ns, seen.st_dev, seen.st_ino))


def _walk_parquet_files(folder: str) -> Iterator[str]:
    """The .parquet files of a folder and of those below it."""
    waiting, seen = [folder], {os.path.realpath(folder)}
    while waiting:
        for entry, is_folder in _scan_folder(waiting.pop()):
            if is_excluded_name(entry.name, folder=is_folder):
                continue
            if not is_folder:
                yield from _expand_to_parquet(entry.path)
                continue
            real = os.path.realpath(entry.path)
            if real in seen:
                raise _repeated_folder_error(entry.path)
            seen.add(real)
            waiting.append(entry.path)


def _repeated_folder_error(folder: str) -> TableError:
    return TableError(f"path must name each folder once, but {quote_path(folder)} leads to one that it has already")


def _expand_to_parquet(place: str) -> Iterator[str]:
    if os.path.isdir(place):
        yield from _walk_parquet_files(place)
    elif is_parquet(place):
        yield place


def _scan_folder(folder: str) -> list[tuple[os.DirEntry[str], bool]]:
    """What is in a folder, each with whether it is a folder or a link to one."""
    try:
        with os.scandir(folder) as entries:
            return [(entry, entry.is_dir()) for entry in entries]
    except (OSError, ValueError):
        pass
    raise TableError(f"path must name folders that can be read, but {quote_path(folder)} cannot")


def _split_pattern(pattern: str) -> tuple[str, list[str]]:
    """The folder at which a pattern begins, and the names that it asks for below."""
    root, *parts = Path(pattern).parts if os.path.isabs(pattern) else (os.getcwd(), *Path(pattern).parts)
    while not glob.has_magic(parts[0]) or os.path.lexists(os.path.join(root, parts[0])):
        root = os.path.join(root, parts.pop(0))
    return os.path.abspath(root), parts


def _matching_paths(folder: str, parts: list[str], above: tuple[str, ...]) -> Iterator[str]:
    """What is below a folder and fits the rest of a pattern; ``above`` are the folders on the way."""
    if not parts:
        yield folder
        return
    if not os.path.isdir(folder):
        return
    wanted, rest = parts[0], parts[1:]
    real = os.path.realpath(folder)
    if wanted == "**":
        if real in above:
            raise _repeated_folder_error(folder)
        yield from _matching_paths(folder, rest, ())
    for entry, is_folder in _scan_folder(folder):
        hidden = is_excluded_name(entry.name, folder=is_folder)
        if wanted == "**":
            if is_folder and not hidden:
                yield from _matching_paths(entry.path, parts, (*above, real))
        elif fnmatch.fnmatch(entry.name, wanted) and not (hidden and entry.name[0] != wanted[0]):
            yield from _matching_paths(entry.path, rest, ())
