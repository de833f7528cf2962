"""A copy of the checkout in a folder of its own, in which one file at a time is made faulty."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

from opendp_topk.proof import findings, library

from .fault import Fault

ROOT = Path(__file__).resolve().parents[2]
_COUNT_STALE = """
import sys; from pathlib import Path; from opendp_topk.proof import library, status
with library.use_package_folder(Path(sys.argv[1])):
    print(sum(not one.current for one in status.derive_all_findings().values()))
"""
_PARTS = ("opendp_topk", "proofs", "tests", "docs", "README.md", "pyproject.toml")


class Checkout:
    """What the tests need of the checkout at ``source``, copied to ``root``."""

    def __init__(self, root: Path, source: Path = ROOT) -> None:
        self.root = root
        for part in _PARTS:
            _copy(source / part, root / part)

    @contextmanager
    def holding(self, fault: Fault) -> Iterator[None]:
        """The copy has ``fault`` for as long as this lasts.

        Raises:
            MovedError: The code has moved away from the fault.
        """
        path = self.root / fault.path
        sound = path.read_text(encoding="utf-8")
        try:
            write(path, fault.planted(sound))
            if not fault.pins:
                self._call_all_stale()
            yield
        finally:
            write(path, sound)

    def has_stale_proofs(self) -> bool:
        """Whether a proof's hash does not fit the code as it is now, by the sound code; without proofs none does."""
        if not (self.root / "proofs").is_dir():
            return False
        command = [sys.executable, "-c", _COUNT_STALE, str(self.root / "opendp_topk")]
        return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600).stdout) > 0

    def _call_all_stale(self) -> None:
        """Keep it as what was found of the proofs: to derive it takes seconds, and no killer may depend on it."""
        package, proofs = self.root / "opendp_topk", self.root / "proofs"
        kept = Path(cache_from_source(str(package / "proof" / "findings.py"))).with_suffix(".json")
        kept.parent.mkdir(parents=True, exist_ok=True)
        names = [path.relative_to(proofs).with_suffix("").as_posix() for path in proofs.glob("*/**/*.tex")]
        stale = findings.Finding(False, "0" * 64)
        with library.use_package_folder(package):
            state = findings.sources_digest.__wrapped__()
        findings.write_findings_file(kept, {state: dict.fromkeys(names, stale)})


def write(path: Path, text: str) -> None:
    """Put ``text`` into a module, and forget what was compiled from the text before."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
