"""``--files``: which files a table was, for those who may see it; a record holds no more of the list than its digest.

The number of files, their names and above all their sizes are exact functions of the rows: whoever knows all rows but
one person's would read off them whether that person is in the table. So they are kept apart from the record, which
is public. The list begins with 244 random bits, so that its SHA-256 tells nothing to those who do not have it; to those
who have it, it attests which files, by names below the path and by sizes, were counted. It says nothing of contents.
"""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ...errors import ParameterError, TableError
from ...errors.files import quoted
from ...tables.listing import FileList
from ..ledger.creation import write_new

FilesOption = Annotated[
    str | None,
    typer.Option(
        "--files",
        metavar="FILE",
        help="Write which files are read, with their sizes, to this new file, which is as private as the table; the "
        "record holds its SHA-256.",
        show_default=False,
    ),
]


@contextlib.contextmanager
def kept(path: str | None, files: FileList | None) -> Iterator[str | None]:
    """Write the list to a new file that only its owner may read; its digest. Where the block fails, it is removed.

    Raises:
        ParameterError: There are no files to list.
        TableError: The file exists, or cannot be written.
    """
    if path is None:
        yield None
        return
    if files is None:
        raise ParameterError("--files lists files, and standard input is none: leave it out")
    content, place, reason = files.written(uuid.uuid4().hex + uuid.uuid4().hex), Path(path), ""
    try:
        write_new(place, content)
    except FileExistsError:
        reason = "it exists already: choose another name"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
    if reason:
        raise TableError(f"--files {quoted(path)} cannot be written: {reason}")
    try:
        yield f"sha256:{hashlib.sha256(content).hexdigest()}"
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise
