"""Options of questions and releases: fields of frozen dataclasses, which their docstrings describe."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Set
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Self

from ...core.partials import unknown_keyword
from ...errors import ParameterError, ParameterTypeError, checks

ASKED, PEOPLE, BUDGET, TABLE, OUTPUT = "What is asked", "People", "Budget", "Table", "Output"
PANELS = (ASKED, PEOPLE, BUDGET, TABLE, OUTPUT)

# Options: fields of frozen dataclasses. The docstrings of the classes describe them, in a section for each panel.

NO_OPTION = {"option": False}
_ENTRY = re.compile(r"(\w+)(?: \((.*?)\))?: (.*)")
_WRITTEN = re.compile(r"`[^`]*`|--([a-z][a-z-]*)(?: [A-Z]+(?:[,|][A-Z]+)*\b)?")  # commands, and options with metavars
_RELATIONS = "needs", "excludes"
_KINDS = {"bool": bool, "int": int, "float": float}


@dataclass(frozen=True)
class Option:
    """Declaration of an option.

    ``words`` is its line in the short help, and ``more`` the rest of its text. ``kind`` is the type on the command
    line, and ``rare`` whether the short help only names it. It has no meaning without one of the options ``needs``, or
    with one of ``excludes``; ``engine=spark`` is an option with this value.
    """

    words: str = ""
    more: str = ""
    metavar: str = ""
    panel: str = ASKED
    rare: bool = False
    short: str = ""
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    kind: type = str
    default: Any = None


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """Base class of groups of options."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Raise an error with a hint if an option is unknown."""
        if mistake := unknown_keyword(given, [one.name for one in fields(cls)]):
            raise ParameterTypeError(f"{cls.__name__}: {mistake}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for one in fields(self):
            if nested := _nested_group(one):
                value = checks.require_instance(one.name, getattr(self, one.name), nested, f"a {nested.__name__}")
                given, known = given_options(value), options_of(nested)
                for extra in (one for one in given if one not in known):
                    raise option_error(f"{option_name(extra)} cannot be used with this question: omit it")
                object.__setattr__(self, one.name, nested(**given))
        require_compatible(self._given(), options_of(type(self)))

    def _given(self) -> dict[str, Any]:
        """Return the options whose values are not the default, by name, with those of groups that have this one."""
        return given_options(self)


def options_of(group: Any) -> dict[str, Option]:
    """Return the options of a dataclass, and of the groups of options in it, by name."""
    texts: dict[str, Option] = {}
    for one in reversed(group.__mro__):
        texts |= described_options(inspect.cleandoc(one.__doc__ or ""))
    found: dict[str, Option] = {}
    for own in fields(group):
        if nested := _nested_group(own):
            found |= options_of(nested)
        elif own.metadata != NO_OPTION:
            annotation = own.type.__name__ if isinstance(own.type, type) else str(own.type)
            kind = _KINDS.get(annotation.partition(" ")[0], str)
            found[own.name] = replace(texts.get(own.name, Option()), kind=kind, default=own.default)
    return found


def _nested_group(one: Any) -> Any:
    """Return the dataclass of a field that is a group of options; None for other fields."""
    return one.default_factory if isinstance(one.default_factory, type) else None


@cache
def described_options(docstring: str, panels: tuple[str, ...] = PANELS) -> dict[str, Option]:
    """Return the options that a docstring describes: ``name (METAVAR, rare, needs a or b, excludes c or d): Text.``

    Raises:
        ParameterError: Python runs without docstrings.
    """
    if sys.flags.optimize > 1:
        raise ParameterError("python -OO removes the docstrings that declare options: run Python without -OO")
    found = {}
    for panel in panels:
        section = docstring.partition(f"\n{panel}:\n")[2].partition("\n\n")[0]
        for entry in re.split(r"\n(?=    \w)", f"\n{section}"):
            if match := _ENTRY.fullmatch(" ".join(entry.split())):
                name, tags, text = match.groups("")
                words, dot, more = text.partition(". ")
                marks = [tag for tag in tags.split(", ") if tag]
                short = next((tag for tag in marks if tag.startswith("-")), "")
                needs, excludes = (next((tag for tag in marks if tag.startswith(f"{one} ")), "") for one in _RELATIONS)
                metavar = next((tag for tag in marks if tag not in ("rare", short, needs, excludes)), "")
                needed, excluded = (tuple(re.split(" or | ", tag)[1:]) for tag in (needs, excludes))
                rare = "rare" in marks
                found[name] = Option(words + dot.strip(), more, metavar, panel, rare, short, needed, excluded)
    return found


def build_options(group: type, values: Mapping[str, Any]) -> Any:
    """Return a group with the ``values`` of its options, by name; other names are ignored."""
    made: dict[str, Any] = {}
    for one in fields(group):
        if nested := _nested_group(one):
            made[one.name] = build_options(nested, values)
        elif one.name in values and one.metadata != NO_OPTION:
            made[one.name] = values[one.name]
    return group(**made)


def given_options(group: Any) -> dict[str, Any]:
    """Return the options whose values are not the default, by name."""
    found: dict[str, Any] = {}
    for one in fields(group):
        value = getattr(group, one.name)
        if _nested_group(one):
            found |= given_options(value)
        elif one.metadata != NO_OPTION and not (type(value) is type(one.default) and value == one.default):
            found[one.name] = value
    return found


def option_name(name: str) -> str:
    """Return an option as it is written on the command line."""
    return "--" + name.replace("_", "-")


def require_compatible(given: Mapping[str, Any], declared: Mapping[str, Option]) -> None:
    """Raise if an option is given without any of the options that it needs, or with one that it excludes.

    ``given`` are the options whose values are not the default, by name. Of those that do not fit, the error names the
    one that is declared first.
    """

    def is_given(needed: str) -> bool:
        name, _, value = needed.partition("=")
        return name in given and value in ("", given[name])

    for name in (one for one in declared if one in given):
        needs, excluded = declared[name].needs, [one for one in declared[name].excludes if one in given]
        if needs and not any(map(is_given, needs)):
            pairs = (one.partition("=")[::2] for one in needs)
            needed = (f"{option_name(one)} {value or declared[one].metavar}".strip() for one, value in pairs)
            raise option_error(f"{option_name(name)} requires {' or '.join(needed)}")
        if excluded:
            others = f"{option_name(name)} and {option_name(excluded[0])}"
            raise option_error(f"{others} cannot be combined: omit one of them")


def require_one_option(what: str, choices: Mapping[str, Any]) -> None:
    """Raise unless exactly one of these options is given: an option that is not given is None."""
    if sum(value is not None for value in choices.values()) != 1:
        raise option_error(f"give exactly one {what}: {' or '.join(choices)}")


_names_options: ContextVar[bool] = ContextVar("names_options", default=False)  # True in the command


@contextlib.contextmanager
def name_options() -> Iterator[None]:
    """Name options in the errors of the block, as a command does, instead of parameters."""
    token = _names_options.set(True)
    try:
        yield
    finally:
        _names_options.reset(token)


def named(text: str) -> str:
    """Return the text of an error, which names options: ``--max-items`` in the command, ``max_items`` in Python."""
    if _names_options.get():
        return text
    return _WRITTEN.sub(lambda found: found[1].replace("-", "_") if found[1] else found[0], text)


def option_error(text: str) -> ParameterError:
    """Return the error with this text, which names options as :func:`named` does."""
    return ParameterError(named(text))


def serialize_option(value: Any) -> Any:
    """Return a value as JSON, TOML and the command line have it."""
    if isinstance(value, Fraction | Path):
        return str(value)
    if isinstance(value, tuple) and all(isinstance(one, int | float | Fraction) for one in value):
        return ",".join(map(str, value))
    return list(value) if isinstance(value, tuple | range) else value


def option_words(given: Mapping[str, Any], names: Set[str]) -> list[str]:
    """Return the options with these names as words of a command line."""
    words: list[str] = []
    for name, value in given.items():
        if name in names:
            text = repr(value).removesuffix(".0") if isinstance(value, float) else str(serialize_option(value))
            words += [option_name(name)] if value is True else [option_name(name), text]
    return words
