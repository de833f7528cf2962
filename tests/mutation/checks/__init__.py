"""Small, fast checks that use nothing but the package: each raises where something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.mutation.checks import (
    accuracy,
    argmax,
    budgets,
    chains,
    classes,
    conversions,
    counting,
    digits,
    frequencies,
    laws,
    maps,
    pins,
    refusals,
    statements,
    tables,
    verify,
)

CHECKS: Mapping[str, Callable[[], None]] = {
    module.__name__.rsplit(".", 1)[-1]: module.check
    for module in (
        pins,
        statements,
        maps,
        chains,
        conversions,
        budgets,
        verify,
        laws,
        frequencies,
        argmax,
        digits,
        tables,
        classes,
        counting,
        accuracy,
        refusals,
    )
}
"""From the name of each check to the check, in the order in which they run."""
