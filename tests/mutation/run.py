"""Plant each fault in a copy of the package, and run all checks on the copy in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opendp_topk import proof
from opendp_topk.errors import ProofError
from tests.mutation.checks import CHECKS
from tests.mutation.fault import Fault
from tests.mutation.faults import FAULTS

_PACKAGE = Path(proof.__file__).resolve().parent
_SECONDS = 300


@dataclass(frozen=True)
class Outcome:
    """What the checks made of one fault: the name of each check that noticed it, with what it said.

    ``pins`` notices every change of proved code, so it does not count towards ``is_caught``.
    """

    fault: Fault
    caught: dict[str, str]

    @property
    def is_caught(self) -> bool:
        """Whether a check noticed the fault, other than by comparing the code with what it was."""
        return bool(set(self.caught) - {"pins"})


class Gauntlet:
    """A copy of the package that passes all checks, from which faulty copies are made."""

    def __init__(self, folder: Path) -> None:
        self._sound = folder / "sound"
        self._folder = folder
        shutil.copytree(_PACKAGE, self._sound / "opendp_topk", ignore=shutil.ignore_patterns("__pycache__", "_proofs"))
        shutil.copytree(proof.folder(), self._sound / "proofs")

    def require_sound(self) -> None:
        """Raise unless the package without any fault passes all checks.

        Raises:
            ProofError: It does not.
        """
        found = checked(self._sound)
        if found:
            said = "; ".join(f"{check}: {problem}" for check, problem in found.items())
            raise ProofError(f"without any fault the package fails already: {said}")

    def outcome(self, fault: Fault) -> Outcome:
        """Plant ``fault`` in a fresh copy, and run the checks there.

        Raises:
            ParameterError: The text that the fault replaces is not there, or more than once.
        """
        copy = self._folder / fault.name
        shutil.copytree(self._sound, copy)
        try:
            edited = fault.plant(copy)
            for compiled in (edited.parent / "__pycache__").glob(f"{edited.stem}.*.pyc"):
                compiled.unlink()
            return Outcome(fault, checked(copy))
        finally:
            shutil.rmtree(copy)


@contextmanager
def gauntlet() -> Iterator[Gauntlet]:
    """A gauntlet in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-") as folder:
        yield Gauntlet(Path(folder))


def run(
    faults: Sequence[Fault] = FAULTS, *, workers: int = 2, done: Callable[[Outcome], None] | None = None
) -> list[Outcome]:
    """The outcome of every fault, in their order, after the package itself has passed all checks.

    Args:
        faults: What to plant.
        workers: How many copies are checked at a time.
        done: Called with each outcome, in the order of the faults.

    Raises:
        ProofError: The package fails a check without any fault.
        ParameterError: The code has moved away from a fault.
    """
    found = []
    with gauntlet() as copies:
        copies.require_sound()
        with ThreadPoolExecutor(workers) as pool:
            for outcome in pool.map(copies.outcome, faults):
                found.append(outcome)
                if done is not None:
                    done(outcome)
    return found


def checked(root: Path) -> dict[str, str]:
    """The checks that fail on the package below ``root``, with what they say."""
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "opendp_topk.audit.gauntlet.worker"]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
        output, reason = done.stdout, f"the process ended: {done.stderr.strip().splitlines()[-1:]}"
    except subprocess.TimeoutExpired as late:
        output, reason = (late.stdout or b"").decode(), f"no end within {_SECONDS} seconds"
    lines = [json.loads(line) for line in output.splitlines()]
    if not lines or Path(lines[0]["package"]) != (root / "opendp_topk").resolve():
        raise ProofError(f"the checks did not run on the copy: {reason}")
    said = {line["check"]: line["problem"] for line in lines[1:]}
    unsaid = [check for check in CHECKS if check not in said][:1]
    return {check: problem for check, problem in said.items() if problem} | dict.fromkeys(unsaid, reason)
