"""The faults, each a mistake that would break a promise."""

from __future__ import annotations

import importlib
import pkgutil

from tests.mutation.fault import Fault

FAULTS: tuple[Fault, ...] = tuple(
    fault
    for module in sorted(one.name for one in pkgutil.iter_modules(__path__))
    for fault in importlib.import_module(f"{__name__}.{module}").FAULTS
)
"""All of them, in the order of the files that list them, by theme."""
