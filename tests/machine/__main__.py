"""``python -m tests.machine``: compile the checked core, and list what it proves, on which axioms, in which time.

``--record`` then writes down what was compiled, in ``proofs/machine/compiled.json``. A marked theorem that states
something else than it did is refused unless ``--accept File.theorem`` names it.
"""

import argparse
import json
import tempfile
from pathlib import Path

from opendp_topk import proof
from opendp_topk.proof import machine
from opendp_topk.sampling.noises.standard import STANDARD

from . import certified, coq, vernacular
from .test_certified import same_lists, spread

PART = 2**10  # prefixes at a time
LISTS = 240  # with four long ones


def main() -> None:
    """Print the seconds of each source, and each statement that a document calls checked with its axioms."""
    parser = argparse.ArgumentParser(prog="python -m tests.machine", description=main.__doc__)
    parser.add_argument("--record", action="store_true", help="write down what was compiled")
    parser.add_argument(
        "--accept", metavar="THEOREM", action="append", default=[], help="one that states something new"
    )
    parser.add_argument(
        "--tables",
        type=int,
        default=0,
        metavar="N",
        help="have entries of each table of quantiles checked: both ends, where exponents change, and N by chance",
    )
    parser.add_argument("--race", type=int, default=0, metavar="N", help="hold N lists against the proved race")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, seconds in coq.compiled(folder).items():
            print(f"{name:<24} {seconds:6.1f} s", flush=True)
        marks = [check for name in proof.document_names() for check in proof.machine_checks(name)]
        theorems = {check.theorem for check in marks}
        for theorem, used in coq.axioms(folder, theorems).items():
            about = sorted({f"{check.document}#{check.label}" for check in marks if check.theorem == theorem})
            print(f"{theorem}: {', '.join(about)}; {len(used)} axioms, {'standard' if used <= coq.AXIOMS else used}")
        race(folder, options.race)
        if options.tables:
            tables(folder, options.tables)
        if options.record:
            record(folder, coq.types(folder, theorems), options.accept)


def race(folder: Path, cases: int) -> None:
    """Hold so many lists against the proved race, some at a time."""
    for start in range(0, cases, LISTS):
        same_lists(folder, range(start, min(start + LISTS, cases)))
        print(f"{min(start + LISTS, cases)} lists are those of the proved race", flush=True)


def tables(folder: Path, by_chance: int) -> None:
    """Have entries of each table checked, some at a time."""
    for noise in STANDARD:
        chosen = spread(noise, by_chance)
        parts = [chosen[start : start + PART] for start in range(0, len(chosen), PART)]
        wrong = [p for part in parts for p in certified.wrong_entries({noise: part}, folder)]
        print(
            f"{noise.name}: {len(chosen)} prefixes, of which the entries of {len(wrong)} are no bounds {wrong[:9]}",
            flush=True,
        )


def record(folder: Path, types: dict[str, str], accepted: list[str]) -> None:
    """Write down the sources in ``folder`` and the types, if nothing speaks against it."""
    assert not any(coq.unsafe(coq.checked(folder, coq.SOURCES)).values())
    for name in coq.SOURCES:
        assert list(vernacular.refused((folder / f"{name}.v").read_text("utf-8"))) == []
    then = machine.load_compiled_record()["types"]
    changed = sorted(one for one in then.keys() & types.keys() if then[one] != types[one] and one not in accepted)
    for one in changed:
        print(f"{one}\nthen: {then[one]}\nnow:  {types[one]}")
    if changed:
        raise SystemExit("not recorded: read these, and name with --accept each that still says what its document does")
    sources = {name: machine.source_digest(name) for name in coq.SOURCES}
    text = json.dumps({"sources": sources, "types": types}, indent=1, sort_keys=True)
    (machine.machine_sources_folder() / "compiled.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
