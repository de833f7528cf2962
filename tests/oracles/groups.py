"""The plain-Python reference of splitting a table by group."""

from collections.abc import Iterable, Sequence
from typing import Any


def by_group(rows: Iterable[tuple[Any, Any, Any]], groups: Sequence[Any], most: int = 1) -> list[list[tuple[Any, Any]]]:
    """The (user, item) rows of each group's users, who belong to the first ``most`` groups in which they have a row."""
    listed = list(rows)
    tables: list[list[tuple[Any, Any]]] = [[] for _ in groups]
    for user in {user for user, _, _ in listed if user is not None}:
        own = [(item, group) for one, item, group in listed if one == user]
        left = most
        for table, group in zip(tables, groups, strict=True):
            here = [(user, item) for item, at in own if at == group]
            table += here
            left -= bool(here)
            if not left:
                break
    return tables
