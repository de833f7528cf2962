"""What people say of a ledger and of a release in words.

:class:`Stated` alone tells which lines there are. Those that a release may have of its own are fields of an entry, too,
and docs/release.schema.json describes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Annotated, Any, TypedDict, TypeVar, get_type_hints

from .units import name_of

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Line:
    """What a line means, and whether a release may have its own, which counts in the place of its ledger's."""

    meaning: str
    own: bool = True


class Stated(TypedDict, total=False):
    """Lines for people, of printable characters, which nothing computes; each is an option of the command, too."""

    publisher: Annotated[str | None, Line("Who publishes what is released.", own=False)]
    period: Annotated[str | None, Line("The time that the data are of, a line for people.")]
    purpose: Annotated[str | None, Line("What it is released for, a line for people.")]


LINES: dict[str, Line] = {
    name: kind.__metadata__[0] for name, kind in get_type_hints(Stated, include_extras=True).items()
}
OWN = tuple(name for name, line in LINES.items() if line.own)
TOLD = "label", *OWN, "at_most", "shared"  # what the entry of a release says of it
NOT_STATED = "not stated"
TITLES = {name: name.replace("_", " ") for name in sorted(LINES)}  # as pages have them, in that order


def said(words: Mapping[str, Any], names: Iterable[str] = OWN) -> dict[str, str]:
    """What was said in lines of these ``names``, each of them checked: None says nothing.

    Raises:
        TypeError: There is a line of another name.
        ParameterError: One is no line.
    """
    listed = [name for name in LINES if name in names]
    for name in words.keys() - set(listed):
        raise TypeError(f"unexpected keyword argument {name!r}: what can be said here is {', '.join(listed)}")
    return {name: name_of(name, words[name]) for name in listed if words.get(name) is not None}


def read(fields: Mapping[str, Any]) -> dict[str, str]:
    """What a record of a ledger says."""
    return {name: str(fields[name]) for name in LINES if fields.get(name) is not None}


def lines(stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every line, for people, also those of which nothing was said."""
    return [(title, str(stated.get(name, NOT_STATED))) for name, title in TITLES.items()]


def naming(*names: str, before: str | None = None) -> Callable[[F], F]:
    """Show the lines of these names in the signature of a function, in the place of ``words``."""

    def named(function: F) -> F:
        shown = signature(function)
        lines = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation="str | None") for name in names]
        taken = [one for name, one in shown.parameters.items() if name != "words"]
        at = next((at for at, one in enumerate(taken) if one.name == before), len(taken))
        function.__signature__ = shown.replace(parameters=[*taken[:at], *lines, *taken[at:]])  # type: ignore[attr-defined]
        return function

    return named


def in_words(
    user: str | None, person: str | None, words: Mapping[str, str], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """What the record of a release tells in words: what its entry says, and where that is silent, its ledger."""
    whom = {} if user is None else {"person": person, "column": user}
    return {**words, **whom, **{name: entry[name] for name in TOLD if entry.get(name)}}
