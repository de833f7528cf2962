"""The page of the faults: which test kills each, and why some cannot be killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .checkout import ROOT
from .fault import Fault

FILE = ROOT / "docs" / "mutation.md"
COMMAND = "python -m tests.mutation -j 2 --write"


def markdown(faults: Sequence[Fault], killers: Mapping[str, str], seconds: float, copies: int) -> str:
    """The document; ``seconds`` is what the whole table took with so many ``copies`` at a time."""
    killed = [one for one in faults if not one.equivalent]
    return "\n".join(
        [
            "# Planted faults",
            "",
            f"{len(faults)} faults, each planted in a copy of the checkout: {len(killed)} are noticed by a test of the",
            f"ordinary suite{_rest(len(faults) - len(killed))}. Tests that compare pins do not count:",
            "a killer must pass where every region of proved code is edited without effect.",
            "",
            "```sh",
            COMMAND,
            "```",
            "",
            "runs the table and writes this page. A fault whose killer passes is tried with the nearest tests;",
            "`--check` only says which faults no longer fit the code. `pytest -m mutation` runs one test a fault.",
            "",
            _TIME.format(seconds=seconds, copies=copies),
            "",
            *_kinds(faults),
            "## Which test notices which fault",
            "",
            "| fault | in | what is wrong | noticed by |",
            "| --- | --- | --- | --- |",
            *(_row(one, killers.get(one.name, "")) for one in killed),
            "",
            *_equivalents([one for one in faults if one.equivalent]),
        ]
    )


def _rest(n: int) -> str:
    return f", and {n} change nothing that could be noticed, as argued below" if n else ""


_TIME = "Measured: {seconds:.0f} seconds with {copies} at a time."


def _kinds(faults: Sequence[Fault]) -> list[str]:
    rooms = Counter(one.room for one in faults)
    return ["| room | faults |", "| --- | --: |", *(f"| {room} | {n} |" for room, n in sorted(rooms.items())), ""]


def _row(fault: Fault, killer: str) -> str:
    return f"| {fault.name} | `{fault.file}` | {_cell(fault.what)} | `{_cell(killer.removeprefix('tests/'))}` |"


def _equivalents(faults: Sequence[Fault]) -> list[str]:
    if not faults:
        return []
    return [
        "## Edits that no test can notice",
        "",
        *(f"- `{one.name}` (`{one.file}`): {one.what}. {one.equivalent}" for one in faults),
        "",
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
