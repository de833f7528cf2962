"""Discovery of the constructors of measurements, for code that tests or offers all of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from ..core.measurement import Measurement


def find_constructors() -> dict[str, Callable[..., Measurement]]:
    """Return the constructors of measurements that have a proof, by name: ``make_STEM`` of each public module STEM."""
    room = importlib.import_module(__package__)
    stems = [module.name for module in pkgutil.iter_modules(room.__path__) if not module.name.startswith("_")]
    found = {f"make_{stem}": importlib.import_module(f".{stem}", __package__) for stem in sorted(stems)}
    named = {name: getattr(module, name) for name, module in found.items() if hasattr(module, name)}
    return {name: make for name, make in named.items() if hasattr(make, "proof_name")}


def load_partial(stem: str) -> Callable[..., Any]:
    """Return the partial constructor ``then_STEM`` of the module ``stem``, which is imported on first use."""
    found: Callable[..., Any] = getattr(importlib.import_module(f".{stem}", __package__), f"then_{stem}")
    return found
