"""Sections of docs/tightness.md whose losses are met by searches of their own, the loosest first."""

from collections.abc import Iterator
from typing import Protocol

COLUMNS = """
| constructor | arguments | measure | claimed | largest loss | ratio |
|---|---|---|---|---|---|
"""


class Case(Protocol):
    """A claim and the columns that no search decides, and a search for the largest loss."""

    @property
    def claimed(self) -> float: ...

    @property
    def start(self) -> str: ...

    def largest(self) -> float: ...


class Search(Protocol):
    """What is said above the rows, and a case for each."""

    HEADER: str

    def cases(self) -> Iterator[Case]: ...


def section(search: Search) -> str:
    """The section of a search."""
    rows = []
    for case in search.cases():
        met = case.largest()
        rows.append((f"{met / case.claimed:.4f}", f"{case.start} {met:.6g} |"))
    return search.HEADER + COLUMNS + "".join(f"{row} {ratio} |\n" for ratio, row in sorted(rows))


def has_the_rows(search: Search, text: str) -> bool:
    """Whether the section lists today's claims, whatever was met."""
    return search.HEADER + COLUMNS in text and all(case.start in text for case in search.cases())
