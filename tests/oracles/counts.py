"""The plain-Python reference of counting: a dictionary of sets."""

from collections.abc import Iterable, Sequence
from typing import Any


def distinct_users(rows: Iterable[tuple[Any, Any]], candidates: Sequence[Any]) -> list[int]:
    """The number of distinct users of each candidate among ``rows`` of (user, item), nulls being None."""
    users: dict[Any, set[Any]] = {candidate: set() for candidate in candidates}
    for user, item in rows:
        if user is not None and item is not None and item in users:
            users[item].add(user)
    return [len(users[candidate]) for candidate in candidates]
