"""The page of the faults: what was planted where, when, and how much of it was noticed.

Runs write figures to ``figures.json``, and the page is made from these alone: it changes where something was measured.
"""

import datetime
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .checkout import ROOT
from .fault import Fault

FILE = ROOT / "docs" / "mutation.md"
COMMAND = "python -m tests.mutation -j 2 --write"
_FIGURES = ROOT / "tests" / "mutation" / "figures.json"
Figures = dict[str, dict[str, Any]]


def figures() -> Figures:
    """What was measured last: of the listed faults as one entry, and of those by chance one a room."""
    return dict(json.loads(_FIGURES.read_text(encoding="utf-8")))


def listed(faults: Sequence[Fault], seconds: float, copies: int) -> dict[str, Any]:
    """The figures of a run of the whole list, in which every live fault was noticed."""
    rooms = Counter(one.room for one in faults)
    return {"date": _today(), "seconds": round(seconds), "copies": copies, "rooms": dict(sorted(rooms.items()))}


def by_chance(counts: Mapping[str, int], seed: int, before: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a room: how many faults are of each of the :data:`KINDS`.

    How many were noticed ``at first``, before tests were written for the others, stays what it was ``before`` where the
    same faults are drawn again.
    """
    drawn = sum(counts[kind] for kind in KINDS)
    again = before.get("seed") == seed and sum(before.get(kind, 0) for kind in KINDS) == drawn
    return {"date": _today(), "seed": seed, "at first": before["at first"] if again else _detected(counts), **counts}


def _today() -> str:
    return datetime.date.today().isoformat()


def write(found: Figures) -> None:
    """Keep the figures, and write the page from them."""
    _FIGURES.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    FILE.write_text(markdown(found), encoding="utf-8")


def markdown(found: Figures) -> str:
    """The document."""
    return "\n".join([*_listed(found["listed"]), *_by_chance(found["random"])])


def _listed(one: Mapping[str, Any]) -> list[str]:
    return [
        "# Planted faults",
        "",
        "A planted fault is one edit of one module, in a copy of the checkout, that a test of the ordinary suite must",
        "detect. Tests that compare code hashes do not count: the detecting test must pass if every hashed region of",
        "code is edited without effect.",
        "",
        "## Chosen faults",
        "",
        f"On {one['date']} all {sum(one['rooms'].values())} faults were detected, in {one['seconds']} seconds with"
        f" {one['copies']} processes.",
        "`tests/mutation/faults/` has the file, the text before and the text after of each, and",
        "`tests/mutation/killers.json` the test that detects it. Run all of them and write this page:",
        "",
        "```sh",
        COMMAND,
        "```",
        "",
        "If the recorded test passes, the nearest tests are tried. `--check` only lists the faults that no longer fit",
        "the code. `pytest -m mutation` runs one test for each fault.",
        "",
        "| room | faults |",
        "| --- | --: |",
        *(f"| {room} | {n} |" for room, n in one["rooms"].items()),
        "",
    ]


def _by_chance(rooms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        "## Random faults",
        "",
        "Chosen faults are biased to what the tests detect. So faults are also drawn at random among all places of a",
        "room to which an operator applies: flip a comparison, change a number by one, replace a sum by a difference",
        "or `and` by `or`, negate a condition, replace a default, drop a statement, swap arguments, change rounding,",
        "remove a check or a filter, omit an argument, a copy or a lock.",
        "",
        "```sh",
        "python -m tests.mutation random --room spaces --count 150 --write",
        "```",
        "",
        "A fault is first tried with the test that detected it before (`noticed.json`), or else with the quick tests",
        "that run its function (`reached.json`), the shortest first, and then with the nearest files. A fault that",
        "survives needs a new test, or a reason in `tests/mutation/argued.json` why no test can detect it; then it is",
        "equivalent. The last column is the share of detected faults among those that are not equivalent, before and",
        "after new tests were written. A fault that only makes tests time out is not detected, nor is one that only",
        "the code hash of a proof shows. The tests of the room `proof` compare code hashes, and count there, because",
        "no hash covers that room. Rows before 2026-11-30 count slow tests as quick ones, and nothing was left out.",
        "",
        "| room | measured on | drawn | quick tests | slow tests | only a hash | timed out | not at all | equivalent"
        " | share |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |",
        *(_row(room, one) for room, one in sorted(rooms.items())),
        "",
        *_below(rooms),
    ]


def _row(room: str, one: Mapping[str, Any]) -> str:
    counts = [one[kind] for kind in KINDS]
    first, now = (f"{100 * _share(one, detected):.1f} %" for detected in (one["at first"], _detected(one)))
    return f"| {room} | {one['date']} | {sum(counts)} | " + " | ".join([*map(str, counts), f"{first}, {now}"]) + " |"


def _detected(one: Mapping[str, Any]) -> int:
    return int(one["quick"] + one["slow"])


def _share(one: Mapping[str, Any], detected: int) -> float:
    return detected / max(1, sum(int(one[each]) for each in KINDS) - int(one["equivalent"]))


def _below(rooms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the table does not show to be good: rooms below the goal."""
    few = [room for room, one in sorted(rooms.items()) if _share(one, _detected(one)) < GOAL]
    return [f"Below {100 * GOAL:.0f} % now: {', '.join(few)}.", ""] if few else []


KINDS = ("quick", "slow", "hashed", "timed out", "survived", "equivalent")
GOAL = 0.95
