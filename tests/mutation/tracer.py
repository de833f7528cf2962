"""A plugin of pytest that writes which files of tests ran each line of the package."""

from __future__ import annotations

import json
from pathlib import Path

import coverage
import pytest

from .checkout import ROOT

_PACKAGE = ROOT / "opendp_topk"
_COVERAGE = coverage.Coverage(data_file=None, source=[str(_PACKAGE)], branch=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the lines are written."""
    parser.addoption("--reached-lines", metavar="FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Before anything of the package is loaded."""
    _COVERAGE.start()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """What runs from here on is due to the file of this test."""
    _COVERAGE.switch_context(item.nodeid.partition("::")[0])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the lines of each module, each with its files."""
    _COVERAGE.stop()
    data = _COVERAGE.get_data()
    found = {
        path.relative_to(_PACKAGE).as_posix(): {
            line: sorted(filter(None, files)) for line, files in data.contexts_by_lineno(str(path)).items()
        }
        for path in map(Path, sorted(data.measured_files()))
    }
    Path(session.config.getoption("reached_lines")).write_text(json.dumps(found), encoding="utf-8")
