"""Which constructors there are, for those who try or offer all of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from ..core.measurement import Measurement


def find_constructors() -> dict[str, Callable[..., Measurement]]:
    """The constructors of measurements on score vectors that have a proof, by their names: one a file."""
    room = importlib.import_module(__package__)
    stems = [module.name for module in pkgutil.iter_modules(room.__path__) if not module.name.startswith("_")]
    found = {f"make_{stem}": importlib.import_module(f".{stem}", __package__) for stem in sorted(stems)}
    named = {name: getattr(module, name) for name, module in found.items() if hasattr(module, name)}
    return {name: make for name, make in named.items() if hasattr(make, "proof_name")}


def load_partial(stem: str) -> Callable[..., Any]:
    """The partial of the constructor of this file, which is loaded when it is first asked for."""
    found: Callable[..., Any] = getattr(importlib.import_module(f".{stem}", __package__), f"then_{stem}")
    return found
