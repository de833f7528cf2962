"""Temporary folders for ledgers: on a file system on which a ledger relies, wherever the tests are run.

In a container the usual folder may be layered or in memory. Then another one is taken for the whole run, also by the
processes that tests start; where there is none, the tests take what there is for a disk.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from opendp_topk.apps.ledger import files as mounts

ANY = "OPENDP_TOPK_TESTS_TAKE_ANY_FILE_SYSTEM"
_BESIDE = Path(__file__).parents[1] / "build"


def settle() -> None:
    """Let temporary folders lie where a ledger may."""
    if relied_on(Path(tempfile.gettempdir())):
        return
    for folder in _others():
        if relied_on(folder):
            os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
            return
    os.environ[ANY] = "1"
    take_any()


def take_any() -> None:
    """Where the environment says so, take every file system for a disk of this machine."""
    if os.environ.get(ANY):
        mounts.file_system_kind = lambda handle: None  # type: ignore[assignment]


def relied_on(folder: Path) -> bool:
    """Whether a ledger may lie in a folder, as far as the system tells."""
    try:
        with tempfile.TemporaryFile(dir=folder) as made:
            return not mounts.unreliability_reason(mounts.file_system_kind(made.fileno()))
    except OSError:
        return False


def _others() -> Iterator[Path]:
    yield Path("/var/tmp")
    yield Path.home()
    _BESIDE.mkdir(exist_ok=True)
    yield _BESIDE
