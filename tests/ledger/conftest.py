"""Ledgers for the tests: each in a file of its own, and where a test asks for both, on a server too."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly

from .server import Server
from .workers import PURE, VOTES, costing

Make = Callable[..., tk.ledger.Ledger]
BACK_ENDS = ["file", pytest.param("server", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server."""
    made = Server()
    yield made
    made.close()


@pytest.fixture(params=BACK_ENDS)
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may lie: on either back end."""
    if request.param == "file":
        return str(tmp_path / "budget.ledger")
    found: Server = request.getfixturevalue("server")
    return found.address(tmp_path.name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a ledger may lie: in a file."""
    return tmp_path / "budget.ledger"


@pytest.fixture
def make(connect: str) -> Make:
    """Create the ledger at ``connect``."""
    return lambda budget=1, measure=PURE, **more: new(connect, budget, measure, **more)


@pytest.fixture
def ledger(connect: str) -> Iterator[tk.ledger.Ledger]:
    """A ledger with epsilon 1."""
    with new(connect, 1) as made:
        yield made


def new(connect: Any, budget: Any, measure: tk.Measure = PURE, **more: Any) -> tk.ledger.Ledger:
    """A ledger for votes."""
    given = {"dataset": "votes", "metric": VOTES, **more}
    return tk.ledger.Ledger.create(connect, budget=budget, measure=measure, **given)


def draws_nothing(ledger: tk.ledger.Ledger, *words: str, error: type[Exception] = tk.errors.LedgerError) -> None:
    """A release of 1/4 is refused in these words before anything is drawn."""
    drawn: list[Any] = []
    raises_exactly(error, lambda: ledger.release(costing(0.25, function=drawn.append), [1]), *words)
    assert drawn == []
