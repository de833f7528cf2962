"""The rooms of the cases: what each holds is said at its top."""

import importlib
from collections.abc import Iterator

from ..case import Case

ROOMS = (
    "accuracy",
    "combining",
    "command",
    "curves",
    "edges",
    "keyed",
    "laws",
    "ledger",
    "maps",
    "planning",
    "refusals",
    "releases",
    "searching",
    "specimens",
    "surface",
    "tables",
    "users",
    "values",
)


def cases_of(room: str) -> Iterator[Case]:
    """The cases of a room, to be computed."""
    yield from importlib.import_module(f"{__name__}.{room}").cases()
