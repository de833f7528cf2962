"""``python -m tests.golden``: hold the library against the golden cases, or record them anew."""

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any

from . import store
from .case import valued
from .rooms import ROOMS, cases_of

COMMAND = "python -m tests.golden"
_HEX = re.compile(r'"(-?0x[0-9a-f.]+p[+-]\d+)"')
Change = tuple[str, Any, Any]
_ABSENT = object()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute the golden cases and compare; the exit code is 1 where one differs and is not recorded anew."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=main.__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true", help="say which cases differ: old, and new")
    action.add_argument("--write", action="store_true", help="record them anew")
    action.add_argument("--count", action="store_true", help="say how many cases are kept")
    parser.add_argument("--room", action="append", choices=ROOMS, metavar="NAME", help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--why", default="", help="with --write, where cases change or go: the reason, which is kept")
    options = parser.parse_args(arguments)
    rooms = options.room or list(ROOMS)
    if options.count:
        counts = {room: len(store.read(room)) for room in rooms}
        print("\n".join(f"{n:6} {room}" for room, n in {**counts, "in all": sum(counts.values())}.items()))
        return 0
    computed = {room: valued(cases_of(room)) for room in rooms}
    found = {room: changes(store.read(room), values) for room, values in computed.items()}
    for room, differing in found.items():
        for change in differing:
            print(f"{room}: {said(change)}")
    everything = [change for differing in found.values() for change in differing]
    total = sum(map(len, computed.values()))
    if options.check:
        print(f"{len(everything)} of {total} cases differ" if everything else f"{total} cases as recorded")
        return 1 if everything else 0
    old = [change for change in everything if change[1] is not _ABSENT]
    if old and not options.why.strip():
        print(f"{len(old)} recorded cases would change: give the reason with --why; nothing was written")
        return 1
    for room, values in computed.items():
        store.write(room, values)
    if old:
        in_rooms = ", ".join(room for room in rooms if any(one in old for one in found[room]))
        store.explain(options.why, f"{len(old)} changed or gone, in {in_rooms}")
    print(f"{total} cases written: {len(everything) - len(old)} new, {len(old)} changed or gone")
    return 0


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Every case that differs, with both values."""
    names = sorted({*old, *new})
    pairs = ((name, old.get(name, _ABSENT), new.get(name, _ABSENT)) for name in names)
    return [change for change in pairs if change[1] != change[2] or change[1] is _ABSENT]


def said(change: Change) -> str:
    """``name: old -> new``, of texts and lists only the lines and places that differ."""
    name, old, new = change
    if old is _ABSENT:
        return f"new: {name}: {_text(new)}"
    if new is _ABSENT:
        return f"gone: {name}: {_text(old)}"
    return f"{name}: {_apart(old, new)}"


def _apart(old: Any, new: Any, where: str = "") -> str:
    """The parts of two values that differ."""
    if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        old, new = old.splitlines(), new.splitlines()
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return "; ".join(
            _apart(*pair, f"{where}[{at}]") for at, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]
        )
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return "; ".join(_apart(old[key], new[key], f"{where}.{key}") for key in old if old[key] != new[key])
    if isinstance(old, list) and isinstance(new, list):
        gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
        return f"{where} {_text(gone)} -> {_text(come)}".strip()
    return f"{where} {_text(old)} -> {_text(new)}".strip()


def _text(value: Any) -> str:
    """A value in one line, hexadecimal numbers followed by decimal ones."""
    return _HEX.sub(lambda one: f"{one[1]} ({float.fromhex(one[1])!r})", json.dumps(value, ensure_ascii=False))


if __name__ == "__main__":
    raise SystemExit(main())
