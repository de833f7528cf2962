"""How each public constructor is tried: as a table of this folder says, or as the constructor's own test file does."""

import importlib.util
import inspect

import opendp_topk as tk

from .combinations import COMBINATIONS
from .mechanisms import MECHANISMS
from .specimens import Specimen

LISTED = MECHANISMS | COMBINATIONS


def specimens_of(name: str) -> list[Specimen]:
    """The specimens of a constructor; ``specimens()`` in ``tests/<room>/test_<stem>.py`` where no table lists it."""
    if name in LISTED:
        return LISTED[name]()
    _, room, *_ = inspect.unwrap(getattr(tk, name)).__module__.split(".")
    file = f"tests.{room}.test_{name.removeprefix('make_')}"
    found = importlib.import_module(file) if importlib.util.find_spec(file) else None
    specimens = getattr(found, "specimens", None)
    assert specimens is not None, f"{name} is tried nowhere: write specimens() in {file.replace('.', '/')}.py"
    made: list[Specimen] = specimens()
    return made
