"""A copy of the package's sources and of the proofs, which a test may spoil."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opendp_topk import proof
from opendp_topk.proof import library

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def copied_sources(folder: Path) -> Iterator[Path]:
    """``folder`` has ``opendp_topk`` and ``proofs``, which are read in place of the real ones."""
    for name in ("opendp_topk", "proofs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pdf"))
    proof.clear_cache()
    with library.use_package_folder(folder / "opendp_topk"):
        yield folder
    proof.clear_cache()


def spoil(path: Path, old: str, new: str) -> None:
    """Replace a text of a file, which must be there, and let the file be read anew."""
    text = path.read_text("utf-8")
    assert old in text, path
    path.write_text(text.replace(old, new), "utf-8")
    proof.clear_cache()
