"""The public lists with which a measurement compares columns of its table, so that their kind is known before a row."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..proof import Proof
from ..spaces.domains import Domain
from .claims import Claimed
from .transformation import Transformation

# By the argument: the column, and what its entries are called.
_COLUMNS = {
    "candidates": ("item", "candidates"),
    "items": ("item", "items"),
    "groups": ("group", "groups"),
    "measurements": ("group", "groups"),
}


def public_lists(built: Any) -> dict[tuple[str, str], Any]:
    """One entry of each public list with which ``built`` compares a column, by the column and by what the list is of.

    Nothing is known of what no constructor of the library made, and of what reads the table that a transformation of
    the caller's own returns.
    """
    found: dict[tuple[str, str], Any] = {}
    _collect(built, found, set())
    return found


def _collect(built: Any, found: dict[tuple[str, str], Any], seen: set[int]) -> None:
    recipe = built._own_claim().recipe if isinstance(built, Claimed) and id(built) not in seen else None
    seen.add(id(built))
    if recipe is None:
        return
    domain = recipe.options.get("input_domain", next(iter(recipe.arguments), None))
    for argument, (role, what) in _COLUMNS.items():
        listed = recipe.options.get(argument)
        if listed is not None and isinstance(domain, Domain) and hasattr(domain, role):
            found.update({(getattr(domain, role), what): entry for entry in _first(listed)})
    for part in itertools.chain.from_iterable(map(_parts, (*recipe.arguments, *recipe.options.values()))):
        _collect(part, found, seen)
        if isinstance(part, Transformation) and _vouched(part.proof):
            return


def _first(listed: Any) -> Iterator[Any]:
    """The first entry of a list, as the Python value that it is; none of an empty one."""
    for entry in listed:
        yield entry.as_py() if hasattr(entry, "as_py") else entry
        return


def _parts(argument: Any) -> Iterable[Claimed]:
    """What of an argument a constructor made: itself, or the members of a list or a mapping of such."""
    listed = argument.values() if isinstance(argument, Mapping) else argument
    members = listed if isinstance(argument, Mapping | list | tuple) else (argument,)
    return members if isinstance(next(iter(members), None), Claimed) else ()


def _vouched(proof: Proof) -> bool:
    """Whether the caller vouches for a part of it."""
    return proof.name is None or any(map(_vouched, proof.parts))
