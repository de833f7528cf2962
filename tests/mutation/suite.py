"""Run some of the ordinary tests on a copy of the checkout, in a process of their own.

The processes are forks of one that has loaded what all tests need and nothing of the package, which saves most of the
time that a short test would take.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .checkout import ROOT, Checkout
from .recorder import VARIABLE

QUICK = "not slow and not further and not browser and not tex and not mutation and not foreign"
FURTHER = QUICK.replace("not further and ", "")
_SECONDS = 600
_ENDLESS = 30.0  # seconds after which a test is taken for one that does not end, if its process is out of time
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["pytest", "hypothesis", "numpy", "mpmath", "gmpy2"])


class StrayError(Exception):
    """The tests did not run on the copy."""


@dataclass(frozen=True)
class Ran:
    """The tests that passed and those that failed, each with its seconds.

    Where a process hangs, nothing failed: that kills no fault. A file that cannot be read failed, and where that is so
    of the conftest, all that was asked for did. ``endless`` is the test that ran when time was over, if it had done so
    for long. ``slow`` are those that are not among the :data:`QUICK` ones.
    """

    passed: dict[str, float]
    failed: dict[str, float]
    endless: str | None = None
    slow: frozenset[str] = frozenset()


def outcome_of(
    copy: Checkout,
    tests: Sequence[str],
    *,
    without: Sequence[str] = (),
    most: int = 0,
    only: str = "",
    limit: float = _SECONDS,
) -> Ran:
    """What became of ``tests``, which are node ids or files, in the copy.

    Args:
        copy: Where they run.
        tests: At least one.
        without: Node ids to leave out.
        most: Stop after so many failures; 0 never stops.
        only: Which marks to take, such as those of :data:`QUICK` tests; by default all.
        limit: Seconds after which the process is ended.

    Raises:
        StrayError: Another package than the copy's was tested, or none.
    """
    with tempfile.TemporaryDirectory(prefix="record-") as folder:
        record = Path(folder) / "record"
        options = [*(f"--deselect={one}" for one in without), f"--maxfail={most}", "-m", only]
        over = _run(copy, [*tests, *options], record, limit)
        lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    if not lines or Path(lines[0].get("package", "")) != (copy.root / "opendp_topk").resolve():
        raise StrayError(f"the tests did not run on the copy at {copy.root}")
    if len(lines) == 1 and over is None:
        return Ran({}, dict.fromkeys(tests, 0.0))
    ended = [line for line in lines[1:] if "test" in line]
    failed = {line["test"]: line["seconds"] for line in ended if line["failed"]}
    passed = {line["test"]: line["seconds"] for line in ended if line["test"] not in failed}
    last = lines[-1]
    long = over is not None and "began" in last and over - last["at"] >= min(_ENDLESS, limit / 2)
    slow = frozenset(line["test"] for line in ended if line.get("slow"))
    return Ran(passed, failed, last["began"] if long else None, slow)


def _run(copy: Checkout, arguments: Sequence[str], record: Path, seconds: float) -> float | None:
    """When the process was ended, if that had to be done after so many seconds."""
    plugins = ["-p", "no:cacheprovider", "-p", "tests.mutation.recorder"]
    options = ["-q", "--tb=no", "--no-header", "--continue-on-collection-errors", *plugins]
    process = _FORKS.Process(target=_pytest, args=(str(copy.root), [*options, *arguments], str(record)))
    process.start()
    process.join(seconds)
    if not process.is_alive():
        return None
    over = time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # with what the tests have started
    process.join()
    return over


def _pytest(root: str, arguments: list[str], record: str) -> None:
    """Become a process that tests ``root``: nothing of this checkout stays loaded, and nothing is printed."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.chdir(root)
    os.environ.pop("OPENDP_TOPK_DAY", None)  # a killer is asked whichever instances have their turn
    for name in ("CI", "BUILD_NUMBER"):
        os.environ.pop(name, None)  # with these, pytest compares long lists line by line, which may take for ever
    sys.dont_write_bytecode = False  # or each process would compile the whole copy again
    os.environ |= {VARIABLE: record, "PYTHONPATH": root, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.environ |= {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    for name in [one for one in sys.modules if one.split(".")[0] in ("tests", "opendp_topk")]:
        del sys.modules[name]
    sys.path[:] = [root, *(path for path in sys.path if path not in ("", str(ROOT)))]
    raise SystemExit(pytest.main(arguments))
