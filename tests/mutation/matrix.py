"""The kill matrix as Markdown: which check notices which fault."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence

from tests.mutation.checks import CHECKS
from tests.mutation.run import Outcome

COMMAND = "python -m opendp_topk.audit.gauntlet docs/gauntlet.md"
_MARK = "x"


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The document, with one line for each fault and one column for each check."""
    names = list(CHECKS)
    lines = [
        "# The mutation gauntlet",
        "",
        f"{len(outcomes)} faults are planted, each in a copy of the package. Every copy must fail at least one check",
        "other than `pins`, which notices any change of proved code; the package itself must pass all.",
        "`opendp-topk audit --gauntlet` runs it, and",
        "",
        "```sh",
        COMMAND,
        "```",
        "",
        "writes this page.",
        "",
        "## Checks",
        "",
        *(f"- `{name}`: {_summary(name)}" for name in names),
        "",
        "## Faults",
        "",
        *(f"- `{one.fault.name}` (`{one.fault.file}`): {one.fault.what}." for one in outcomes),
        "",
        "## Which check notices which fault",
        "",
        _row(["fault", *names]),
        "| --- |" + " :-: |" * len(names),
        *(_row([one.fault.name, *(_MARK * (name in one.caught) for name in names)]) for one in outcomes),
        "",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _summary(name: str) -> str:
    text = inspect.getdoc(sys.modules[CHECKS[name].__module__]) or ""
    return " ".join(text.split("\n\n")[0].split())
