"""Plant each fault, and find the test that notices: the one that did so last, or else the nearest that does."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Lock

from . import nearest
from .checkout import ROOT, Checkout
from .control import control
from .fault import Fault
from .faults import FAULTS
from .suite import Ran, outcome_of

_AT_ONCE = 3


@dataclass(frozen=True)
class Outcome:
    """The test that noticed a fault, if one did, and how long it took to know; or that tests ``hung`` instead."""

    fault: Fault
    killer: str | None
    seconds: float
    hung: bool = False

    @property
    def survives(self) -> bool:
        """Whether no test noticed."""
        return self.killer is None


class Mutation:
    """Copies of the checkout to plant faults in, and the control that says which tests may count."""

    def __init__(self, folder: Path, copies: int = 1, source: Path = ROOT) -> None:
        self.relatives: Mapping[str, Sequence[str]] = {}
        self._control = control(folder / "control", source)
        self._lock, self._blind = Lock(), dict[str, list[str]]()
        self._free: Queue[Checkout] = Queue()
        for number in range(copies):
            self._free.put(Checkout(folder / str(number), source))

    def unfit(self, tests: Sequence[str]) -> list[str]:
        """Those of ``tests`` that do not pass, or are not there, where nothing is wrong but the pins."""
        files: dict[str, list[str]] = {}
        for test in tests:
            files.setdefault(_file(test), []).append(test)
        passed = {test for together in files.values() for test in self._passing(together)}
        return [one for one in tests if one not in passed]

    def _passing(self, tests: Sequence[str]) -> set[str]:
        """Those of ``tests`` that pass on the control; pytest runs none where it does not find one, so each alone."""
        passed = set(outcome_of(self._control, tests).passed)
        return passed if passed or len(tests) == 1 else {test for one in tests for test in self._passing([one])}

    def outcome(self, fault: Fault, killer: str | None = None, *, search: bool = True, reach: int = 1000) -> Outcome:
        """Whether ``killer`` notices the fault; or else, if ``search``, the first of the nearest tests that does.

        Raises:
            MovedError: The code has moved away from the fault.
            StrayError: The tests did not run on the copy.
        """
        start, copy = time.monotonic(), self._free.get()
        hung = False
        try:
            with copy.holding(fault):
                found = killer if killer and _notices(copy, killer) else None
                if found is None and search:
                    found = self._first(copy, self.relatives.get(fault.room, []))
                if found is None and search:
                    found, hung = self._nearest(copy, nearest.files(fault.file, copy.root, fault.new)[:reach])
        finally:
            self._free.put(copy)
        return Outcome(fault, found, time.monotonic() - start, hung)

    def _first(self, copy: Checkout, tests: Sequence[str], only: str = "") -> str | None:
        """The quickest of the first of ``tests``, node ids or files, that notice the fault, if any does."""
        failed = outcome_of(copy, tests, most=_AT_ONCE, only=only).failed if tests else {}
        found = sorted(failed, key=failed.__getitem__)
        return next((test for test in found if not self.unfit([test])), None)

    def _nearest(self, copy: Checkout, files: Sequence[str]) -> tuple[str | None, bool]:
        """The quickest of the first quick tests that notice the fault, nearest files first; or whether tests hang.

        Where none does, the slow tests of the nearest files are asked.
        """
        for together in filter(None, (files[:1], files[1:4], files[4:])):
            blind: list[str] = []
            while True:
                ran = outcome_of(copy, together, without=blind, most=_AT_ONCE, quick=True)
                counted = {test: seconds for test, seconds in ran.failed.items() if self._counts(test)}
                if counted or ran.hung:
                    return min(counted, key=counted.__getitem__, default=None), not counted
                if ran.failed.keys() <= set(blind):
                    break
                blind = sorted({*blind, *(test for one in ran.failed for test in self._blind[_file(one)])})
        return self._first(copy, files[:4], "slow"), False

    def _counts(self, test: str) -> bool:
        """Whether a test passes on the control; asked once a file, and only where something failed."""
        file = _file(test)
        with self._lock:
            if file not in self._blind:
                self._blind[file] = list(outcome_of(self._control, [file], quick=True).failed)
            return test not in self._blind[file]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _notices(copy: Checkout, killer: str) -> bool:
    ran: Ran = outcome_of(copy, [killer])
    return killer in ran.failed


def relatives(killers: Mapping[str, str]) -> dict[str, list[str]]:
    """For each room of the package the tests that are known to notice a fault there."""
    found: dict[str, list[str]] = {}
    for fault in FAULTS:
        if fault.name in killers:
            found.setdefault(fault.room, []).append(killers[fault.name])
    return {room: sorted(set(tests)) for room, tests in found.items()}


def run(
    faults: Sequence[Fault],
    killers: Mapping[str, str],
    *,
    copies: int = 1,
    search: bool = True,
    reach: int = 1000,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """The outcome of every fault, in their order; ``done`` hears of each."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder, ThreadPoolExecutor(copies) as pool:
        planted = Mutation(Path(folder), copies)
        unfit = set(planted.unfit(sorted({killers[one.name] for one in faults if one.name in killers})))
        known = {name: killer for name, killer in killers.items() if killer not in unfit}
        planted.relatives = relatives(known)

        def outcome(fault: Fault) -> Outcome:
            return planted.outcome(fault, known.get(fault.name), search=search, reach=reach)

        found = []
        for one in pool.map(outcome, faults):
            done(one)
            found.append(one)
        return found
