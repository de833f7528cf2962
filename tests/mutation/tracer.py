"""A plugin of pytest that writes which tests ran each line of the package, and how long each took."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from .checkout import ROOT

_PACKAGE = ROOT / "opendp_topk"
_COVERAGE = coverage.Coverage(data_file=None, source=[str(_PACKAGE)], branch=False)
_SECONDS: dict[str, float] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the lines are written."""
    parser.addoption("--reached-lines", metavar="FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Before anything of the package is loaded."""
    _COVERAGE.start()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What runs here is due to this test; its instances are one."""
    test, start = item.nodeid.partition("[")[0], _seconds()
    _COVERAGE.switch_context(test)
    yield
    _SECONDS[test] = _SECONDS.get(test, 0.0) + _seconds() - start


def _seconds() -> float:
    """What this process and those that it waited for have computed."""
    return sum(os.times()[:4])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds of each test, and the lines of each module, each with its tests."""
    _COVERAGE.stop()
    data = _COVERAGE.get_data()
    found = {
        path.relative_to(_PACKAGE).as_posix(): {
            line: sorted(filter(None, tests)) for line, tests in data.contexts_by_lineno(str(path)).items()
        }
        for path in map(Path, sorted(data.measured_files()))
    }
    told = json.dumps({"seconds": _SECONDS, "lines": found})
    Path(session.config.getoption("reached_lines")).write_text(told, encoding="utf-8")
