"""Mutators: statements that may change what another one makes, because Python runs them when it loads modules.

Only code that is known to be inert should run when a module is loaded (``loading.py``). A statement at the top of a
module is quiet if it only makes names: it imports, defines, or assigns to plain names. Python runs the others as well,
in every module that it loads. Such a statement may change every name that it reads. If that is not known, because it
reads none of the package or looks up names by ``sys`` and the like, it may change anything; so may a statement that is
not known to be inert. A quiet statement may change the names into which it stores, and classes and modules that it
passes to the package's own functions when it is loaded.

A proof about a constructor does not apply to another function with its name. So ``then_x`` must be
``partial_constructor(make_x)``, and a public constructor must be made in the module that ``core/public_names.py``
names; a statement that violates this counts as changing the constructor.

These checks detect accidents and support reviews. Code that runs in the same process can change anything undetected.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .loading import is_inert
from .modules import Module, Origin, Statement, all_modules, external_origins, find_module, resolve_origin

_MODULES = ("sys", "importlib", "builtins", "gc", "ctypes", "inspect", "types", "unittest")
_REFLECTION = {*_MODULES, "exec", "eval", "compile", "globals", "locals", "vars", "__import__", "__builtins__"}
_QUIET = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.Pass)
_TARGETS = (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)
_CONSTRUCTORS = "make_", "then_"
PUBLIC = Origin("core.public_names", "PUBLIC")
"""The public names of each module: each is checked by itself, so a new one does not change code hashes."""

Name = tuple[str, str]
"""A module and a name in it; the empty name means any name."""


class Mutator(NamedTuple):
    """A statement that may change what others make; ``changed`` is None if it may change anything."""

    statement: Statement
    changed: frozenset[Name] | None


@functools.cache
def find_mutators(package: Path) -> tuple[Mutator, ...]:
    """Return the mutators in all modules, whether a process loads the modules or not."""
    homes = all_modules(package)
    found = [Mutator(one, _changed_names(package, one)) for home in homes for one in home.statements]
    found += [Mutator(one, _non_partial_constructors(package, home, one)) for home in homes for one in home.statements]
    return tuple(
        hand for hand in [*found, *_public_name_mutators(package, homes)] if hand.changed is None or hand.changed
    )


def _non_partial_constructors(package: Path, home: Module, one: Statement) -> frozenset[Name]:
    """Return the constructors whose ``then_`` form a statement makes by anything but ``partial_constructor``."""
    makes = {then: then.replace("then_", "make_", 1) for then in one.names if then.startswith("then_")}
    if not makes or ("partial_constructor", Origin("core.partials", "partial_constructor")) in external_origins(
        package, one
    ):
        makes = {
            then: make
            for then, make in makes.items()
            if ast.unparse(one.node) != f"{then} = partial_constructor({make})"
        }
    return frozenset((home.name, make) for make in makes.values() if make in home.bound)


def _public_name_mutators(package: Path, homes: Iterable[Module]) -> Iterator[Mutator]:
    """Yield the list of public names if it does not lead to each constructor, or if another module makes one too."""
    listing = find_module(package, PUBLIC.module or "")
    for one in listing.bound.get(PUBLIC.name, []) if listing else ():
        try:
            public = ast.literal_eval(getattr(one.node, "value", None) or one.node)
            leads = {
                name: resolve_origin(package, Origin(at, name))
                for at, names in public.items()
                for name in names.split()
            }
        except (ValueError, TypeError, AttributeError):
            yield Mutator(one, None)
            continue
        made = [(home.name, name) for home in homes for name in home.bound if name.startswith(_CONSTRUCTORS)]
        astray = {name for home, name in made if leads.get(name) != Origin(home, name)}
        made += [(home, name.replace("then_", "make_", 1)) for home, name in made if name in astray]
        astray |= {name.replace("then_", "make_", 1) for name in astray}
        yield Mutator(one, frozenset((home, name) for home, name in made if name in astray))


def _changed_names(package: Path, one: Statement) -> frozenset[Name] | None:
    if not is_inert(package, one):
        return None
    if is_binding_only(one.node):
        return _names_changed_by_binding(package, one)
    read = _to_module_names(origin for _, origin in external_origins(package, one))
    return None if not read or any(chain[0] in _REFLECTION for chain in one.read_chains) else read


def _names_changed_by_binding(package: Path, one: Statement) -> frozenset[Name] | None:
    stored, given = _stored_and_passed_names(one)
    if not stored and not given:
        return frozenset()
    read = external_origins(package, one)
    found = {origin for name, origin in read if name.partition(".")[0] in stored}
    if any(origin.module is None for origin in found):
        return None
    own = {name for name, origin in read if origin.module is not None}
    what = {one for to, one in given if to in own}
    handed = {origin for name, origin in read if name in what and _is_class_or_module(package, origin)}
    return _to_module_names(found | handed)


@functools.lru_cache(maxsize=1 << 15)
def _stored_and_passed_names(one: Statement) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """Return the names of others into which a statement stores, and pairs of a called function and a passed name."""
    stored = frozenset(_store_target_names(one.node))
    if stored:
        stored &= {chain[0] for chain in one.read_chains}
    return stored, tuple(_find_call_arguments(one.node))


def _to_module_names(origins: Iterable[Origin]) -> frozenset[Name]:
    return frozenset((origin.module, origin.name) for origin in origins if origin.module is not None)


@functools.lru_cache(maxsize=1 << 15)
def is_binding_only(node: ast.stmt) -> bool:
    """Return True if a statement at the top of a module makes names and does no more."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(_is_plain_target(part) for target in targets for part in ast.walk(target))
    if isinstance(node, ast.ClassDef):
        return not any(isinstance(part, ast.Expr) and not isinstance(part.value, ast.Constant) for part in node.body)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
        return True  # does not run on import
    blocks = [block for name in ("body", "orelse", "finalbody") for block in getattr(node, name, [])]
    blocks += [one for part in getattr(node, "handlers", []) for one in part.body]
    return isinstance(node, _QUIET) or (bool(blocks) and all(map(is_binding_only, blocks)))


def _is_plain_target(part: ast.AST) -> bool:
    """Return True if a part of a target is a name, but not one such as ``__path__``, which Python itself reads."""
    name = part.id if isinstance(part, ast.Name) else ""
    return isinstance(part, _TARGETS) and (not name.startswith("__") or name == "__all__")


def _store_target_names(node: ast.stmt) -> Iterator[str]:
    """Yield the base names of all targets into which a statement stores, including its local names."""
    for part in ast.walk(node):
        if isinstance(part, ast.Global):
            yield from part.names
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            yield from _find_base_name(part)
        if isinstance(part, ast.Call) and _last_attribute_name(part.func).strip("_") in ("setattr", "delattr"):
            yield from (name for argument in part.args[:1] for name in _find_base_name(argument))


def _find_call_arguments(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each function that a statement calls when it is loaded, with each name that it passes."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            values = [*part.args, *(one.value for one in part.keywords)]
            named = [ast.unparse(one) for one in values if isinstance(one, ast.Name | ast.Attribute)]
            yield from ((ast.unparse(part.func), one) for one in named)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += part.decorator_list
        elif not isinstance(part, ast.Lambda):
            waiting += ast.iter_child_nodes(part)


def _last_attribute_name(node: ast.expr) -> str:
    """Return the last name of a chain of attributes; empty if there is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _find_base_name(node: ast.expr) -> Iterator[str]:
    """Yield the name at the start of a chain of attributes and items."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _is_class_or_module(package: Path, origin: Origin) -> bool:
    """Return True if the origin is a class or a module of the package."""
    there = None if origin.module is None else find_module(package, origin.module)
    made = there.bound.get(origin.name, []) if there else []
    return not origin.name or any(isinstance(one.node, ast.ClassDef) for one in made)
