"""Discovery of the constructors of measurements, for code that tests or offers all of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..core.measurement import Measurement
from ..core.public_names import PUBLIC


def find_constructors() -> dict[str, Callable[..., Measurement]]:
    """Return the public constructors of measurements from scores that have a proof, by name."""
    names = sorted(
        name for module, names in PUBLIC.items() if module.startswith("measurements.") for name in names.split()
    )
    found = {name: _import_public(name) for name in names if name.startswith("make_")}
    return {name: make for name, make in found.items() if hasattr(make, "proof_name")}


def load_partial(stem: str) -> Callable[..., Any]:
    """Return the partial constructor ``then_STEM``, whose module is imported on first use."""
    return _import_public(f"then_{stem}")


def _import_public(name: str) -> Callable[..., Any]:
    module = next(module for module, names in PUBLIC.items() if name in names.split())
    found: Callable[..., Any] = getattr(importlib.import_module(f"..{module}", __package__), name)
    return found
