"""``python -m tests.mutation random``: faults drawn by chance among all that the operators can make of a room.

What a fault by chance meets is the test that noticed it before, if one did, and else the quick tests known to run its
function, the shortest first, then the nearest files. The exit code is 1 if a fault survives for which ``argued.json``
has no argument.
"""

import argparse
import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from . import killers, page
from .checkout import ROOT
from .fault import Fault, within_storey
from .operators import Module, edits
from .run import Outcome, run

_ARGUED = Path(__file__).with_name("argued.json")


def drawn(room: str, count: int, seed: int, root: Path = ROOT) -> list[Fault]:
    """``count`` faults of the modules of a room (fewer where there are not so many), each as likely.

    They come in an order that only ``seed`` and each one's text decide: more of them begin with the same ones, and a
    change elsewhere in the room leaves those that are drawn already.
    """
    package = root / "opendp_topk"
    paths = sorted(_folders(package)[room].rglob("*.py"))
    modules = [Module(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    made = (module.fault(room, one) for module in modules for one in edits(module))
    once = {(one.file, one.old, one.new): one for one in made}  # what is in a function inside another one is met twice
    order = sorted(once.values(), key=lambda one: hashlib.sha256(f"{seed}/{key(one)}".encode()).digest())
    return [dataclasses.replace(one, name=f"{room}-{seed}-{n}") for n, one in enumerate(order[:count])]


def _folders(package: Path) -> dict[str, Path]:
    """The folder of each room, of both storeys."""
    found = [one.parent for one in (*package.glob("*/__init__.py"), *package.glob("*/*/__init__.py"))]
    depth = len(package.parts)
    return {one.name: one for one in found if within_storey("/".join((*one.parts[depth:], ""))) == f"{one.name}/"}


def argued() -> dict[str, str]:
    """Why no test can notice a fault: by its file, its text and the text in its place."""
    return dict(json.loads(_ARGUED.read_text(encoding="utf-8")))


def key(fault: Fault) -> str:
    """What a fault is, wherever it is drawn again."""
    return f"{fault.file}: {fault.old.strip()} -> {fault.new.strip()}"


def kind(outcome: Outcome, arguments: dict[str, str]) -> str:
    """One of the kinds of the page."""
    if outcome.killer:
        return "slow" if outcome.slow else "quick"
    if key(outcome.fault) in arguments:
        return "equivalent"
    if outcome.hung:
        return "timed out"
    return "hashed" if outcome.hashed else "survived"


def main(arguments: Sequence[str]) -> int:
    """Draw, plant and count."""
    options = _options(arguments)
    known, surviving = argued(), 0
    for room in options.room:
        faults = drawn(room, options.count, options.seed)
        killer = killers.remembered(killers.BY_CHANCE)
        again = {one.name: killer[key(one)] for one in faults if key(one) in killer}
        outcomes = run(faults, again, copies=options.jobs, reach=options.reach, hashes=options.write, done=_say)
        counts = Counter(kind(one, known) for one in outcomes)
        lost = [one for one in outcomes if kind(one, known) in ("hashed", "survived")]
        surviving += len(lost)
        print(f"{room}: " + ", ".join(f"{counts[one]} {one}" for one in page.KINDS))
        print("\n".join(f"{one.fault.what}\n  {key(one.fault)}" for one in lost))
        if options.write:
            found = page.figures()
            before = found["random"].get(room, {})
            found["random"][room] = page.by_chance({one: counts[one] for one in page.KINDS}, options.seed, before)
            page.write(found)
    return int(surviving > 0)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    rooms = sorted(_folders(ROOT / "opendp_topk"))
    parser = argparse.ArgumentParser(prog="python -m tests.mutation random", description=main.__doc__)
    parser.add_argument("--room", action="append", required=True, choices=rooms, metavar="ROOM", help=", ".join(rooms))
    parser.add_argument("--count", type=int, default=20, help="how many a room")
    parser.add_argument("--seed", type=int, default=1, help="the same faults for the same seed and the same code")
    parser.add_argument("--reach", type=int, default=3, help="how many files of tests to try, nearest first")
    parser.add_argument("--write", action="store_true", help=f"keep the figures, and write {page.FILE.name}")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many copies to test at a time")
    return parser.parse_args(arguments)


def _say(outcome: Outcome) -> None:
    if outcome.killer:
        killers.keep(key(outcome.fault), outcome.killer, killers.BY_CHANCE)
    told = outcome.killer or ("TIMED OUT" if outcome.hung else "SURVIVES")
    print(f"{outcome.seconds:6.1f} s  {outcome.fault.file:<40} {told}", flush=True)
