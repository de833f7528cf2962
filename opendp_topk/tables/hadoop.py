"""The files behind an address such as hdfs://store/visits or s3a://bucket/visits, by the rule for those of a folder.

A session of Spark in the driver lists them through Hadoop's file systems. An address is a file or a folder; patterns
are for folders of this machine. Nothing here is read but names, sizes, times and the columns that files declare.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ..errors import TableError
from ..errors.files import quoted
from .guard import guarded
from .listing import File, FileList, is_parquet, left_out, ordered, require_distinct

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(path: str) -> bool:
    """Whether ``path`` is an address, and not the name of something on this machine."""
    return _ADDRESS.match(path) is not None and not os.path.lexists(path)


def listed(session: Any, address: str) -> FileList:
    """The .parquet files at ``address``, all with the same columns.

    Raises:
        TableError: There are none, one is empty or damaged, two differ in their columns, or Hadoop failed.
    """
    jvm, settings = session._jvm, session._jsc.hadoopConfiguration()
    root = guarded(lambda: jvm.org.apache.hadoop.fs.Path(address))
    system = guarded(lambda: root.getFileSystem(settings))
    if not guarded(lambda: system.exists(root)):
        raise TableError(f"path must name a file or a folder, but {quoted(address)} does not exist")
    top = guarded(lambda: system.getFileStatus(root))
    base = str(top.getPath().toString() if top.isDirectory() else top.getPath().getParent().toString())
    files = ordered(guarded(lambda: [_file(status, base) for status in _below(system, top)]), address)
    require_distinct(files, _identity)

    def schema(place: str) -> str:
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            jvm.org.apache.hadoop.fs.Path(place), settings
        )
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            return str(reader.getFooter().getFileMetaData().getSchema().toString())
        finally:
            reader.close()

    first = guarded(lambda: schema(files[0].place))
    for file in files[1:]:
        if guarded(lambda file=file: schema(file.place)) != first:  # type: ignore[misc]
            raise TableError(
                f"path must name files with the same columns and types, but {quoted(files[0].place)} and "
                f"{quoted(file.place)} differ"
            )

    def look(place: str, _: str) -> File:
        return guarded(lambda: _file(system.getFileStatus(jvm.org.apache.hadoop.fs.Path(place)), base))

    return FileList(files, look)


def _identity(file: File) -> Any:
    """Device and inode of a file of this machine; elsewhere a file has one name."""
    if not file.place.startswith("file:"):
        return file.place
    seen = guarded(lambda: os.stat(file.place.removeprefix("file:")))
    return seen.st_dev, seen.st_ino


def _below(system: Any, top: Any) -> Iterator[Any]:
    """What Hadoop says of the .parquet files of a folder and of those below it, or of one file."""
    if not top.isDirectory():
        yield top
        return
    waiting = [top.getPath()]
    while waiting:
        for status in system.listStatus(waiting.pop()):
            name, is_folder = str(status.getPath().getName()), status.isDirectory()
            if left_out(name, folder=is_folder):
                continue
            if is_folder:
                waiting.append(status.getPath())
            elif is_parquet(name):
                yield status


def _file(status: Any, base: str) -> File:
    place = str(status.getPath().toString())
    return File(place, place.removeprefix(base).strip("/"), int(status.getLen()), (int(status.getModificationTime()),))
