"""``python -m docs.site FOLDER``: write the sources of the site, then build it with warnings as errors."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import sources

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; the exit code is that of Sphinx."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/site"), help="open its index.html")
    parser.add_argument("--pdf", action="store_true", help="build the proofs as PDFs, too (needs TeX, minutes)")
    parser.add_argument(
        "--without-audit", action="store_true", help="leave out the verifier's findings, which take a minute"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        room = Path(scratch)
        sources.write(room, ROOT, pdf=options.pdf, audit=not options.without_audit)
        return _sphinx(room, options.folder)


def _sphinx(room: Path, folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-b", "html"]
    return subprocess.run([*command, "-d", str(room / "doctrees"), str(room), str(folder)], cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main())
