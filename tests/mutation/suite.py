"""Run some of the ordinary tests on a copy of the checkout, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .checkout import Checkout
from .recorder import VARIABLE

_SECONDS = 600


class StrayError(Exception):
    """The tests did not run on the copy."""


@dataclass(frozen=True)
class Ran:
    """The tests that passed and those that failed, each with its seconds.

    Where a process hangs, or cannot even read a test, nothing failed: that kills no fault.
    """

    passed: dict[str, float]
    failed: dict[str, float]


def outcome_of(
    copy: Checkout, tests: Sequence[str], *, without: Sequence[str] = (), most: int = 0, quick: bool = False
) -> Ran:
    """What became of ``tests``, which are node ids or files, in the copy.

    Args:
        copy: Where they run.
        tests: At least one.
        without: Node ids to leave out.
        most: Stop after so many failures; 0 never stops.
        quick: Leave out what plain pytest leaves out, such as slow tests.

    Raises:
        StrayError: Another package than the copy's was tested, or none.
    """
    with tempfile.TemporaryDirectory(prefix="record-") as folder:
        record = Path(folder) / "record"
        _run(
            copy,
            [*tests, *(f"--deselect={one}" for one in without), f"--maxfail={most}", *([] if quick else ["-m", ""])],
            record,
        )
        lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    if not lines or Path(lines[0].get("package", "")) != (copy.root / "opendp_topk").resolve():
        raise StrayError(f"the tests did not run on the copy at {copy.root}")
    failed = {line["test"]: line["seconds"] for line in lines[1:] if line["failed"]}
    passed = {line["test"]: line["seconds"] for line in lines[1:] if line["test"] not in failed}
    return Ran(passed, failed)


def _run(copy: Checkout, arguments: Sequence[str], record: Path) -> None:
    shared = {"PYTHONPATH": str(copy.root), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", VARIABLE: str(record)}
    options = ["-q", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-p", "tests.mutation.recorder"]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=copy.root,
            env=os.environ | shared | {"PYTEST_ADDOPTS": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_SECONDS,
        )
