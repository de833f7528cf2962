"""Files of a table, also at remote addresses: listed once, by one rule, and checked again after reading."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import TableError
from ..errors.files import path_text, quote_path, stat_regular_file
from .guard import run_guarded

PARQUET = ".parquet"
_CHANGED = "the files of the table were changed while they were read: nothing was released. Read a stable copy"


@dataclass(frozen=True)
class TableFile:
    """A file of a table, as it was when it was listed: its absolute path or address, and its name below the given path.

    ``stamp`` is its modification time; for a local file also its device and inode.
    """

    place: str
    name: str
    size: int
    stamp: tuple[int, ...]


@dataclass(frozen=True)
class FileList:
    """All files of a table, in the order of their names. ``look`` returns the current state of a file."""

    files: tuple[TableFile, ...]
    look: Callable[[str, str], TableFile]

    @property
    def file_locations(self) -> list[str]:
        return [file.place for file in self.files]

    def require_unchanged(self) -> None:
        """Raise TableError if a file has changed since it was listed, by size, modification time or (locally) inode."""
        now = []
        for file in self.files:
            try:
                now.append(self.look(file.place, file.name))
            except TableError:
                break
        if tuple(now) != self.files:
            raise TableError(_CHANGED)

    def to_json_lines(self, key: str) -> bytes:
        """Return the list as JSON lines: first ``key``, number of files and total size, then one line per file."""
        import json

        head = {"key": key, "files": len(self.files), "bytes": sum(file.size for file in self.files)}
        lines = [head, *({"name": file.name, "bytes": file.size} for file in self.files)]
        return "".join(json.dumps(line) + "\n" for line in lines).encode()


def list_files(path: Any) -> FileList:
    """Return the files of the table at ``path`` here, by the rule above. A single file may have any ending."""
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
    """Return whether a path can mean several files: a folder, or a pattern that is not the name of a file."""
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path))


def sort_and_check_files(files: Iterable[TableFile], path: str) -> tuple[TableFile, ...]:
    """Return the files in the order of their names. Raise TableError if there are none or one is empty."""
    found = tuple(sorted(files, key=lambda file: file.name))
    if not found:
        raise TableError(f"path must contain .parquet files, but there are none in {quote_path(path)}")
    for file in found:
        if not file.size:
            raise TableError(f"path must be a readable file, but {quote_path(file.place)} is empty")
    return found


def require_distinct(
    files: Iterable[TableFile], identity: Callable[[TableFile], Any] = lambda file: file.stamp[1:]
) -> None:
    """Raise TableError if two files have the same ``identity``: by default device and inode, which links share."""
    seen: dict[Any, str] = {}
    for file in files:
        other = seen.setdefault(identity(file), file.place)
        if other != file.place:
            raise TableError(
                f"path must contain each file once, but {quote_path(other)} and {quote_path(file.place)} are "
                "the same file"
            )


def is_parquet(name: str) -> bool:
    """Return whether a file of this name belongs to a folder that is read as a table."""
    return name.lower().endswith(PARQUET)


def is_excluded_name(name: str, *, folder: bool) -> bool:
    """Return whether a file or folder of this name is excluded from tables."""
    return name.startswith(".") or (name.startswith("_") and not (folder and "=" in name))


def _stat_file(place: str, name: str) -> TableFile:
    seen = stat_regular_file(place, "path", TableError)
    if not place.isascii() and any("\ud800" <= letter <= "\udfff" for letter in place):
        raise TableError(
            "path must contain only UTF-8 file names, because engines cannot open others, but "
            f"{quote_path(place)} is not: rename it, or give a link to it"
        )
    return TableFile(place, name.replace(os.sep, "/"), seen.st_size, (seen.st_mtime_ns, seen.st_dev, seen.st_ino))


def _walk_parquet_files(folder: str) -> Iterator[str]:
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
    return TableError(f"path must contain each folder once, but {quote_path(folder)} leads to one of them")


def _expand_to_parquet(place: str) -> Iterator[str]:
    if os.path.isdir(place):
        yield from _walk_parquet_files(place)
    elif is_parquet(place):
        yield place


def _scan_folder(folder: str) -> list[tuple[os.DirEntry[str], bool]]:
    """Return the entries of a folder, each with whether it is a folder or a link to one."""
    try:
        with os.scandir(folder) as entries:
            return [(entry, entry.is_dir()) for entry in entries]
    except (OSError, ValueError):
        pass
    raise TableError(f"path must contain only readable folders, but {quote_path(folder)} cannot")


def _split_pattern(pattern: str) -> tuple[str, list[str]]:
    """Return the folder at which a pattern begins, and the parts of the pattern below it."""
    root, *parts = Path(pattern).parts if os.path.isabs(pattern) else (os.getcwd(), *Path(pattern).parts)
    while not glob.has_magic(parts[0]) or os.path.lexists(os.path.join(root, parts[0])):
        root = os.path.join(root, parts.pop(0))
    return os.path.abspath(root), parts


def _matching_paths(folder: str, parts: list[str], above: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths below a folder that match the rest of a pattern. ``above`` are the folders that ``**`` passed."""
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


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(path: str) -> bool:
    """Return whether ``path`` is an address, and not the name of a local file."""
    return _ADDRESS.match(path) is not None and not os.path.lexists(path)


def list_hadoop_files(session: Any, address: str) -> FileList:
    """Return the file at ``address``, or all .parquet files of a folder, which have the same columns."""
    jvm, settings = session._jvm, session._jsc.hadoopConfiguration()
    root = run_guarded(lambda: jvm.org.apache.hadoop.fs.Path(address))
    system = run_guarded(lambda: root.getFileSystem(settings))
    if not run_guarded(lambda: system.exists(root)):
        raise TableError(f"path must be a file or a folder, but {quote_path(address)} does not exist")
    top = run_guarded(lambda: system.getFileStatus(root))
    base = str(top.getPath().toString() if top.isDirectory() else top.getPath().getParent().toString())
    files = sort_and_check_files(
        run_guarded(lambda: [_build_file(status, base) for status in _walk_remote_files(system, top)]), address
    )
    require_distinct(files, _file_identity)

    def read_schema(place: str) -> str:
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            jvm.org.apache.hadoop.fs.Path(place), settings
        )
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            return str(reader.getFooter().getFileMetaData().getSchema().toString())
        finally:
            reader.close()

    first = run_guarded(lambda: read_schema(files[0].place))
    for file in files[1:]:
        if run_guarded(lambda file=file: read_schema(file.place)) != first:  # type: ignore[misc]
            raise TableError(
                f"path must match files with the same columns and types, but {quote_path(files[0].place)} and "
                f"{quote_path(file.place)} differ"
            )

    def look_up_file(place: str, _: str) -> TableFile:
        return run_guarded(lambda: _build_file(system.getFileStatus(jvm.org.apache.hadoop.fs.Path(place)), base))

    return FileList(files, look_up_file)


def _file_identity(file: TableFile) -> Any:
    """Return the device and inode of a local file; files elsewhere are identified by their address."""
    if not file.place.startswith("file:"):
        return file.place
    seen = run_guarded(lambda: os.stat(file.place.removeprefix("file:")))
    return seen.st_dev, seen.st_ino


def _walk_remote_files(system: Any, top: Any) -> Iterator[Any]:
    """Yield Hadoop's status of one file, or of each .parquet file in a folder and its subfolders."""
    if not top.isDirectory():
        yield top
        return
    waiting = [top.getPath()]
    while waiting:
        for status in system.listStatus(waiting.pop()):
            name, is_folder = str(status.getPath().getName()), status.isDirectory()
            if is_excluded_name(name, folder=is_folder):
                continue
            if is_folder:
                waiting.append(status.getPath())
            elif is_parquet(name):
                yield status


def _build_file(status: Any, base: str) -> TableFile:
    place = str(status.getPath().toString())
    return TableFile(
        place, place.removeprefix(base).strip("/"), int(status.getLen()), (int(status.getModificationTime()),)
    )
