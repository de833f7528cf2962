"""A measurement as its constructor would have built it with more noise."""

from __future__ import annotations

from typing import Any

from .measurement import Measurement


def rescaled(measurement: Measurement, scale: float) -> Measurement | None:
    """The same measurement with another ``scale``, also within a chain; None where no constructor took one scale."""
    recipe = measurement._own_claim().recipe
    if recipe is None:
        return None
    if "scale" in recipe.options:
        return _built(recipe.constructor(*recipe.arguments, **{**recipe.options, "scale": scale}))
    places = [place for place, one in enumerate(recipe.arguments) if isinstance(one, Measurement)]
    inner = rescaled(recipe.arguments[places[0]], scale) if len(places) == 1 else None
    if inner is None:
        return None
    arguments = [inner if place == places[0] else one for place, one in enumerate(recipe.arguments)]
    return _built(recipe.constructor(*arguments, **recipe.options))


def _built(made: Any) -> Measurement | None:
    return made if isinstance(made, Measurement) else None
