"""The mechanisms by the names that the command gives them, and what to change where one cannot give a release."""

from __future__ import annotations

from dataclasses import replace

from ..errors import ParameterError
from ..planning.catalogue import TABLE, Mechanism, able
from ..planning.top_k import TopK

NAMES = tuple(row.name for row in TABLE)


def chosen(name: str, task: TopK) -> TopK:
    """The task by the mechanism of this name.

    Raises:
        ParameterError: There is none, or it cannot release this; the message says what to change.
    """
    if name not in NAMES:
        raise ParameterError(f"--mechanism must be one of {', '.join(NAMES)}")
    row = TABLE[NAMES.index(name)]
    asked = task.k, task.n_candidates, task.release, task.counted
    obstacle = row.obstacle(*asked)
    if obstacle is not None:
        others = [other.name for other in able(*asked)]
        one_of = "one of " if len(others) > 1 else ""
        change = _change(row, obstacle)
        raise ParameterError(
            f"--mechanism {name} cannot give this release: {change}, or choose {one_of}{', '.join(others)}"
        )
    return replace(task, mechanism=row)


def _change(row: Mechanism, obstacle: str) -> str:
    """The options to change."""
    return {
        "k": f"use --k {row.most}",
        "candidates": "use a --k below the number of candidates",
        "release": f"use --release {row.releases[0]}",
        "counts": "leave --counts out",
    }[obstacle]
