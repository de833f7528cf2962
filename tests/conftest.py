"""What all tests share: small spaces, and how the instances of a test are shared out among the tiers."""

import atexit
import gc
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.metrics import LInfDistance, Metric

from . import places
from .tables.spark_session import Shared

Space = tuple[VectorDomain, Metric]

# Slow tests that are traced where coverage is counted: of pages, plots, servers, Spark and commands, which quick tests
# leave out. Others compute for minutes what quick tests cover but for a few lines, and tracing doubles their time.
TRACED = (
    "tests/audit/test_html.py",
    "tests/cli/",
    "tests/combinators/test_spark_groups.py",
    "tests/ledger/",
    "tests/planning/test_comparison.py",
    "tests/planning/test_plots.py",
    "tests/planning/test_recommendation.py",
    "tests/measurements/test_spark_scores.py",
    "tests/tables/",
)

# Tests that read sources and documents anew, and so forget what is known of them: last, lest others read it all again.
FORGETTING = (
    "tests/audit/test_html.py",
    "tests/audit/test_registry.py",
    "tests/cli/test_proofs.py",
    "tests/machine/",
    "tests/proof/",
    "tests/repo/test_proofs.py",
    "tests/repo/test_reach.py",
)

TIERS = ("slow", "browser", "tex", "mutation", "foreign")

# A build must end in time: where the environment says which day it is, a quarter of the tests that are not quick runs.
# Each day run those that compare documents and records with the code, or cover what quick tests leave out.
_ROOMS = tuple(f"tests/{room}/" for room in ("cli", "golden", "ledger", "repo"))
DAILY = (*_ROOMS, "tests/docs/test_howto.py", "tests/docs/test_site.py")
DAYS = 4

# Modules with most tests are taken first: a module of a few long ones would come last, and be waited for.
LONG = (
    "tests/audit/test_corpus.py",
    "tests/docs/test_howto.py",
    "tests/repo/test_made_up.py",
    "tests/repo/test_proofs.py",
    "tests/tables/test_spark_cluster.py",
)

ON_SHARED_SPARK = (
    "tests/combinators/test_spark_groups.py",
    "tests/tables/test_baskets.py",
    "tests/tables/test_listing.py",
    "tests/tables/test_spark.py",
    "tests/tables/test_where.py",
)


def pytest_configure() -> None:
    """Before any temporary folder is made, and before modules are read, of which nothing is garbage."""
    places.settle()
    gc.disable()


@pytest.fixture(scope="session")
def shared_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """The Spark of all modules that need none of their own."""
    shared = Shared(lambda: tmp_path_factory.mktemp("spark"))
    yield shared
    shared.end()


@pytest.fixture
def counts() -> Space:
    """Vectors of integers, all scores moving the same way."""
    return VectorDomain(AtomDomain(int)), LInfDistance(monotonic=True)


@pytest.fixture
def floats() -> Space:
    """Vectors of floats."""
    return VectorDomain(AtomDomain(float)), LInfDistance()


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """A folder with the package's sources and the proofs, which are read in place of the real ones."""
    from .concepts.copies import copied_sources

    with copied_sources(tmp_path):
        yield tmp_path


def taken_with(nodeid: str) -> str:
    """The name of what runs in one process with a test: its module, or several that share what is dear to make."""
    together = {"spark": ON_SHARED_SPARK, "machine": ("tests/machine/",), "long": LONG}
    found = (name for name, modules in together.items() if nodeid.startswith(modules))
    return next(found, nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where several processes share the tests (``--dist loadgroup``), a module's stay together, for its fixtures to be
    made once, and so do those of all modules on one Spark or on what Coq compiled.

    A mark does not do that: the group that pytest-xdist adds to the names of tests is no part of them since pytest 9.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return taken_with(nodeid)

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Which instances of a test are quick, and which are traced.

    Of a test that is marked ``quick(name=values)`` those with other parameters are slow. Of another test the first
    and the last stand for it, and what is left is ``further``, if it is of no tier. Of the slow and of the others those
    two and one in the middle are traced, further ones seldom reaching what these do not, unless all are quick, and of
    the slow only those that are :data:`TRACED`. Where neither is slow a warning is an error, but for those that the
    settings ignore, and for files that an interrupted call left to the collector.
    What is :data:`FORGETTING` comes last.
    """
    items.sort(key=lambda item: item.nodeid.startswith(FORGETTING))
    ignored = items[0].config.getini("filterwarnings") if items else ()
    instances: dict[tuple[str, bool], list[pytest.Item]] = {}
    strict = pytest.mark.filterwarnings("error", "ignore::ResourceWarning", *ignored)
    named: dict[pytest.Item, set[str]] = {}
    for item in items:
        marks = list(item.iter_markers())
        chosen = [mark.kwargs for mark in marks if mark.name == "quick"]
        named[item] = names = {mark.name for mark in marks}
        if chosen and not chosen[0]:
            names.add("all quick")
        for name, values in (pair for options in chosen for pair in options.items()):
            if not _among(item.callspec.params[name], values):  # type: ignore[attr-defined]
                item.add_marker(pytest.mark.slow)
                names.add("slow")
        slow = "slow" in names
        instances.setdefault((item.nodeid.partition("[")[0], slow), []).append(item)
        if slow and not item.nodeid.startswith(TRACED):
            item.add_marker(pytest.mark.untraced)
        if names.isdisjoint(TIERS):
            item.add_marker(strict, append=False)
    for alike in instances.values():
        last = len(alike) - 1
        for at, item in enumerate(alike):
            if at not in {0, last // 2, last} and "all quick" not in named[item]:
                item.add_marker(pytest.mark.untraced)
            if at not in {0, last} and named[item].isdisjoint((*TIERS, "quick")):
                item.add_marker(pytest.mark.further)
    if "OPENDP_TOPK_DAY" in os.environ:
        others = of_other_days(items, int(os.environ["OPENDP_TOPK_DAY"]))
        config.hook.pytest_deselected(items=others)
        left = set(others)
        items[:] = [item for item in items if item not in left]


def of_other_days(items: list[pytest.Item], day: int) -> list[pytest.Item]:
    """Tests that take turns and whose turn is not on this day, a number of days."""

    def takes_turns(item: pytest.Item) -> bool:
        tiers = ("tex", "mutation") if item.nodeid.startswith(DAILY) else ("slow", "further", "tex", "mutation")
        return any(map(item.get_closest_marker, tiers))

    return [item for at, item in enumerate(filter(takes_turns, items)) if (at - day) % DAYS]


def pytest_collection_finish() -> None:
    """Thousands of tests live until the end: what looks for garbage need not look at them again and again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What outlives its module is mostly remembered for good, such as all sources of the package, parsed."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of several processes each tells the first one which samples it has judged."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["judged"] = _judged()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Another process has ended."""
    _OF_OTHERS.extend(getattr(node, "workeroutput", {}).get("judged", []))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How likely it was that a true law is refused in this run, and what was found."""
    found = _judged() + _OF_OTHERS
    if found:
        from .oracles.chi_square import ODDS

        odds = len(found) * ODDS
        few, least = sum(p < 0.01 for p in found), min(found)
        terminalreporter.write_line(
            f"{len(found)} samples against exact laws: true ones are refused with probability {odds:.0e} at most; "
            f"{few} p-values are below .01, the smallest is {least:.1e}"
        )


_JUDGE = "tests.oracles.chi_square"
_OF_OTHERS: list[float] = []


def _judged() -> list[float]:
    return list(sys.modules[_JUDGE].JUDGED) if _JUDGE in sys.modules else []


def pytest_unconfigure() -> None:
    """At the end all is garbage, which libraries that count what they made would else report as lost."""
    atexit.register(gc.unfreeze)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Where coverage is counted, tests that are marked ``untraced`` run without its tracer.

    The marker of the plugin itself stops one of two tracers that a process of several has, and the other goes on.
    """
    if not item.get_closest_marker("untraced") or not item.config.pluginmanager.hasplugin("_cov"):
        yield
        return
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    yield
    sys.settrace(tracer)
    threading.settrace(of_threads)  # type: ignore[arg-type]


def _among(value: Any, values: Any) -> bool:
    """Whether a parameter is one of ``values``, or is shown as one of them."""
    listed = values if isinstance(values, tuple) else (values,)
    return str(getattr(value, "__name__", value)) in map(str, listed)
