"""The rooms of the cases: what each holds is said at its top."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from ..case import Case

ROOMS = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))


def cases_of(room: str) -> Iterator[Case]:
    """The cases of a room, to be computed."""
    yield from importlib.import_module(f"{__name__}.{room}").cases()
