"""Plant each fault, and find the test that notices: the one that did so last, or else the nearest that does."""

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
from .suite import FURTHER, QUICK, outcome_of

_SHORT, _LONG = 40.0, 80.0  # seconds that tests of a function, and those of whole files, may take
_AT_ONCE = (1, 4, 16, 64)  # failures after which those are left out that do not count


@dataclass(frozen=True)
class Outcome:
    """The test that noticed a fault, if one did, and how long it took to know; or that tests ``hung`` instead.

    ``slow``: that test is not among the quick ones. ``hashed``: no test noticed, but a proof does not fit the code.
    """

    fault: Fault
    killer: str | None
    seconds: float
    hung: bool = False
    slow: bool = False
    hashed: bool = False

    @property
    def survives(self) -> bool:
        """Whether no test noticed."""
        return self.killer is None


class Mutation:
    """Copies of the checkout to plant faults in, and the controls that say which tests may count."""

    def __init__(self, folder: Path, copies: int = 1, source: Path = ROOT) -> None:
        self.relatives: Mapping[str, Sequence[str]] = {}
        self._folder, self._source = folder, source
        self._lock, self._controls = Lock(), dict[bool, Checkout]()
        self._counted: dict[tuple[str, bool], bool] = {}
        self._slow: set[str] = set()
        self._free: Queue[Checkout] = Queue()
        for number in range(copies):
            self._free.put(Checkout(folder / str(number), source))

    def unfit(self, tests: Sequence[str], *, pinning: bool = False) -> list[str]:
        """Those of ``tests`` that do not pass, or are not there, where nothing is wrong but the pins."""
        files: dict[str, list[str]] = {}
        for test in tests:
            files.setdefault(_file(test), []).append(test)
        passed = {test for together in files.values() for test in self._passing(together, pinning)}
        return [one for one in tests if one not in passed]

    def _passing(self, tests: Sequence[str], pinning: bool) -> set[str]:
        """Those of ``tests`` that pass on the control; pytest runs none where it does not find one, so each alone."""
        passed = set(outcome_of(self._control(pinning), tests).passed)
        alone = passed or len(tests) == 1
        return passed if alone else {test for one in tests for test in self._passing([one], pinning)}

    def _control(self, pinning: bool) -> Checkout:
        with self._lock:
            if pinning not in self._controls:
                self._controls[pinning] = control(self._folder / f"control-{pinning}", self._source, pinning=pinning)
            return self._controls[pinning]

    def outcome(
        self, fault: Fault, killer: str | None = None, *, search: bool = True, reach: int = 1000, hashes: bool = False
    ) -> Outcome:
        """Whether ``killer`` notices the fault; or else, if ``search``, the first of the nearest tests that does.

        With ``hashes`` those of the proofs are derived anew, which takes half a minute, if no test notices.

        Raises:
            MovedError: The code has moved away from the fault.
            StrayError: The tests did not run on the copy.
        """
        start, copy = time.monotonic(), self._free.get()
        pinning, hung = fault.pins, False
        try:
            with copy.holding(fault):
                found = killer if killer and self._notices(copy, killer) else None
                if found is None and search:
                    found, hung = self._nearest(copy, fault, pinning, reach)
                hashed = hashes and found is None and copy.has_stale_proofs()
        finally:
            self._free.put(copy)
        hung = hung and found is None
        return Outcome(fault, found, time.monotonic() - start, hung, found in self._slow, hashed)

    def _notices(self, copy: Checkout, killer: str) -> bool:
        ran = outcome_of(copy, [killer])
        self._slow |= ran.slow
        return killer in ran.failed

    def _nearest(self, copy: Checkout, fault: Fault, pinning: bool, reach: int) -> tuple[str | None, bool]:
        """The first test that notices the fault, and whether some did not end: from tests to files, quick to slow.

        Those that notice others in the room come first, then those known to run the function. Where no other does,
        the slow tests of the nearest file are asked. At last a file counts that can be read on the control alone.
        """
        files = nearest.files(fault.file, copy.root)[:reach]
        asked = [
            (self.relatives.get(fault.room, []), "", _LONG),
            (nearest.tests(fault.file, copy.root, fault.new), QUICK, _SHORT),
            (files, FURTHER, _LONG),
            (files[:1], "slow", _LONG),
        ]
        unread: list[str] = []
        for tests, only, limit in asked:
            found, hung = self._first(copy, tests, only, limit, pinning, unread)
            if found or hung:
                return found, hung
        control = self._control(pinning)
        return next((one for one in unread if outcome_of(control, [one], only=QUICK).passed), None), False

    def _first(
        self, copy: Checkout, tests: Sequence[str], only: str, limit: float, pinning: bool, unread: list[str]
    ) -> tuple[str | None, bool]:
        """The first of ``tests``, node ids or files, that notices the fault, and whether one did not end.

        Files that cannot be read are added to ``unread``. What fails on the control is left out, and so are such a file
        and one test that does not end, and the others are asked again.
        """
        without: list[str] = []
        hung = False
        for most in _AT_ONCE:
            if not tests:
                break
            ran = outcome_of(copy, tests, without=without, most=most, only=only, limit=limit)
            self._slow |= ran.slow
            found = next((test for test in ran.failed if self._counts(test, pinning)), None)
            left_out = [*ran.failed, *filter(None, [ran.endless])]
            over = not left_out or (hung and ran.endless is not None)
            hung |= ran.endless is not None
            if found or over:
                return found, hung
            files = {one for one in left_out if "::" not in one}
            unread += sorted(files)
            without += set(left_out) - files
            tests = [one for one in tests if _file(one) not in files]
        return None, hung

    def _counts(self, test: str, pinning: bool) -> bool:
        """Whether it is a test that passes on the control, and no file; asked once, and only where it failed."""
        if (test, pinning) not in self._counted:
            self._counted[test, pinning] = "::" in test and not self.unfit([test], pinning=pinning)
        return self._counted[test, pinning]


def _file(test: str) -> str:
    return test.partition("::")[0]


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
    hashes: bool = False,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """The outcome of every fault, in their order; ``done`` hears of each."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder, ThreadPoolExecutor(copies) as pool:
        planted = Mutation(Path(folder), copies)
        known: dict[str, str] = {}
        for pinning in (False, True):
            given = {one.name: killers[one.name] for one in faults if one.name in killers and one.pins == pinning}
            unfit = set(planted.unfit(sorted(set(given.values())), pinning=pinning))
            known |= {name: killer for name, killer in given.items() if killer not in unfit}
        planted.relatives = relatives(known)

        def outcome(fault: Fault) -> Outcome:
            return planted.outcome(fault, known.get(fault.name), search=search, reach=reach, hashes=hashes)

        found = []
        for one in pool.map(outcome, faults):
            done(one)
            found.append(one)
        return found
