"""The proof assistant, and the sources below ``proofs/machine`` compiled in a folder of their own."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from opendp_topk.proof import machine

SOURCES = sorted(path.stem for path in machine.machine_sources_folder().glob("*.v"))
AXIOMS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
"""The axioms of the real numbers of Coq's standard library."""
OPTIONS = ("-w", "-ambiguous-paths", "-Q", ".", "Machine")


def needed() -> None:
    """Skip a test where Coq is missing, unless it is required."""
    if shutil.which("coqc") is None:
        assert not os.environ.get("OPENDP_TOPK_REQUIRE_COQ"), "OPENDP_TOPK_REQUIRE_COQ is set, and coqc is missing"
        pytest.skip("coqc is missing: apt-get install coq libcoq-coquelicot libcoq-interval")


def in_order() -> list[str]:
    """The sources, each after those that it requires."""
    return sorted(SOURCES, key=lambda name: (len(machine.required_files(name)), name))


def compiled(folder: Path) -> dict[str, float]:
    """Compile all sources in ``folder``; how many seconds each took."""
    took = {}
    for name in in_order():
        shutil.copy(machine.machine_sources_folder() / f"{name}.v", folder)
        start = time.monotonic()
        assert run(folder, f"{name}.v") == ""
        took[name] = time.monotonic() - start
    return took


def checked(folder: Path, names: Sequence[str]) -> str:
    """What the checker of compiled files, which shares no code with the compiler's tactics, says of these sources."""
    command = ["coqchk", "-silent", "-o", "-Q", ".", "Machine", *(f"-norec Machine.{name}" for name in names)]
    done = subprocess.run(
        " ".join(command).split(), cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    return said


def unsafe(said: str) -> dict[str, list[str]]:
    """What the checker lists below each of its headings, but for "none" and the axioms of the libraries."""
    found = {}
    for part in re.split(r"^\* ", said, flags=re.M)[1:]:
        heading, _, rest = part.partition(":")
        listed = [one for one in rest.split() if one not in ("<none>", "Set", "is", "predicative")]
        found[heading] = [
            one for one in listed if not re.match(r"Coq\.(?:Reals|Logic|ssr|Numbers\.Cyclic\.Int63)\.", one)
        ]
    return found


def types(folder: Path, theorems: Iterable[str]) -> dict[str, str]:
    """Each ``File.theorem`` as the proof assistant prints what it states, without notations or anything implicit."""
    names = sorted(theorems)
    asked = "".join(f"From Machine Require {name.partition('.')[0]}.\nCheck @{name}.\n" for name in names)
    said = answered(folder, f"Set Printing All.\nSet Printing Width 100000.\nSet Printing Depth 100000.\n{asked}")
    found = re.findall(r"^@?(\S+)\s+: (.*)$", said, re.M)
    assert [name for name, _ in found] == names
    return dict(found)


def run(folder: Path, file: str) -> str:
    """What the compiler says of a source in ``folder`` where it fails, or the empty text."""
    done = subprocess.run(["coqc", *OPTIONS, file], cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr or "failed"


def answered(folder: Path, lines: str) -> str:
    """What some commands print."""
    (folder / "Asked.v").write_text(lines, encoding="utf-8")
    command = ["coqc", *OPTIONS, "Asked.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def axioms(folder: Path, theorems: Iterable[str]) -> dict[str, set[str]]:
    """The axioms on which each ``File.theorem`` stands."""
    names = sorted(theorems)
    asked = "".join(
        f'Goal True. idtac "-- {name}". Abort.\n'
        f"From Machine Require {name.partition('.')[0]}.\nPrint Assumptions {name}.\n"
        for name in names
    )
    said = answered(folder, asked).split("-- ")[1:]
    return {
        one.split()[0]: set(re.findall(r"^([A-Z]\w*\.[\w.]+)(?=\s*:|$)", one.split("\n", 1)[1], re.M)) for one in said
    }
