"""Table files at an address such as hdfs://store/visits or s3a://bucket/visits, by the same rule as in a local folder.

A Spark session in the driver lists them through Hadoop's file systems. An address is a file or a folder; patterns are
supported only for local folders. Only names, sizes, times and file schemas are read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ..errors import TableError
from ..errors.files import quote_path
from .guard import run_guarded
from .listing import FileList, TableFile, is_excluded_name, is_parquet, require_distinct, sort_and_check_files

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(path: str) -> bool:
    """Return whether ``path`` is an address, and not the name of a local file."""
    return _ADDRESS.match(path) is not None and not os.path.lexists(path)


def list_hadoop_files(session: Any, address: str) -> FileList:
    """Return the file at ``address``, or the .parquet files of a folder and its subfolders; all have the same columns.

    Raises:
        TableError: There are no files, one is empty or damaged, two differ in their columns or are the same file, or
            Hadoop failed.
    """
    jvm, settings = session._jvm, session._jsc.hadoopConfiguration()
    root = run_guarded(lambda: jvm.org.apache.hadoop.fs.Path(address))
    system = run_guarded(lambda: root.getFileSystem(settings))
    if not run_guarded(lambda: system.exists(root)):
        raise TableError(f"path must be a file or a folder, but {quote_path(address)} does not exist")
    top = run_guarded(lambda: system.getFileStatus(root))
    base = str(top.getPath().toString() if top.isDirectory() else top.getPath().getParent().toString())
    files = sort_and_check_files(
        run_guarded(lambda: [_build_file(status, base) for status in _walk_parquet_files(system, top)]), address
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


def _walk_parquet_files(system: Any, top: Any) -> Iterator[Any]:
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
