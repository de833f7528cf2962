"""A plugin of pytest that writes which tests began, which failed, and how long each took: a line of JSON each.

The first line says which package was tested, so that nobody takes another for the copy.
"""

import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

VARIABLE = "OPENDP_TOPK_MUTATION_RECORD"


def pytest_configure() -> None:
    """Note that the copy's own conftest, which imports from the package, could be read."""
    _say({"ready": True})


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note when a test began, for one that never ends to be told from one of many."""
    _say({"began": nodeid, "at": time.monotonic()})


def pytest_runtest_logreport(report: Any) -> None:
    """Note a test that ran, or one whose setup failed."""
    if report.when == "call" or report.failed:
        slow = not {"slow", "further"}.isdisjoint(report.keywords)
        _say({"test": report.nodeid, "failed": report.failed, "seconds": report.duration, "slow": slow})


def pytest_collectreport(report: Any) -> None:
    """Note a file that cannot be read."""
    if report.failed:
        _say({"test": report.nodeid, "failed": True, "seconds": 0.0})


def _say(line: dict[str, Any]) -> None:
    with open(os.environ[VARIABLE], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if VARIABLE in os.environ:  # the package is found, and not imported, for the tests to see what its import does
    _found = importlib.util.find_spec("opendp_topk")
    _say({"package": str(Path(str(_found and _found.origin)).resolve().parent)})
