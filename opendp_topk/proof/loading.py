"""Statements that change what another one makes when a module is loaded, and the check that all others are inert."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .library import remembered
from .modules import (
    Module,
    Origin,
    Statement,
    all_modules,
    binding_statements,
    external_origins,
    find_module,
    is_foreign_import,
    is_known_module,
    resolve_origin,
)

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


@remembered
def find_mutators() -> tuple[Mutator, ...]:
    """Return the mutators in all modules, whether a process loads the modules or not."""
    homes = all_modules()
    found = [Mutator(one, _changed_names(one)) for home in homes for one in home.statements]
    found += [Mutator(one, _non_partial_constructors(home, one)) for home in homes for one in home.statements]
    return tuple(hand for hand in [*found, *_public_name_mutators(homes)] if hand.changed is None or hand.changed)


def _non_partial_constructors(home: Module, one: Statement) -> frozenset[Name]:
    """Return the constructors whose ``then_`` form a statement makes by anything but ``partial_constructor``."""
    makes = {then: then.replace("then_", "make_", 1) for then in one.names if then.startswith("then_")}
    if not makes or ("partial_constructor", Origin("core.partials", "partial_constructor")) in external_origins(one):
        makes = {
            then: make
            for then, make in makes.items()
            if ast.unparse(one.node) != f"{then} = partial_constructor({make})"
        }
    return frozenset((home.name, make) for make in makes.values() if make in home.bound)


def _public_name_mutators(homes: Iterable[Module]) -> Iterator[Mutator]:
    """Yield the list of public names if it does not lead to each constructor, or if another module makes one too."""
    for one in binding_statements(PUBLIC):
        try:
            public = ast.literal_eval(getattr(one.node, "value", None) or one.node)
            leads = {name: resolve_origin(Origin(at, name)) for at, names in public.items() for name in names.split()}
        except (ValueError, TypeError, AttributeError):
            yield Mutator(one, None)
            continue
        made = [(home.name, name) for home in homes for name in home.bound if name.startswith(_CONSTRUCTORS)]
        astray = {name for home, name in made if leads.get(name) != Origin(home, name)}
        made += [(home, name.replace("then_", "make_", 1)) for home, name in made if name in astray]
        astray |= {name.replace("then_", "make_", 1) for name in astray}
        yield Mutator(one, frozenset((home, name) for home, name in made if name in astray))


def _changed_names(one: Statement) -> frozenset[Name] | None:
    if not is_inert(one):
        return None
    if is_binding_only(one.node):
        return _names_changed_by_binding(one)
    read = _to_module_names(origin for _, origin in external_origins(one))
    return None if not read or any(chain[0] in _REFLECTION for chain in one.read_chains) else read


def _names_changed_by_binding(one: Statement) -> frozenset[Name] | None:
    stored, given = _stored_and_passed_names(one)
    if not stored and not given:
        return frozenset()
    read = external_origins(one)
    found = {origin for name, origin in read if name.partition(".")[0] in stored}
    if any(origin.module is None for origin in found):
        return None
    own = {name for name, origin in read if origin.module is not None}
    what = {one for to, one in given if to in own}
    handed = {origin for name, origin in read if name in what and _is_class_or_module(origin)}
    return _to_module_names(found | handed)


@functools.lru_cache(maxsize=1 << 15)
def _stored_and_passed_names(one: Statement) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """Return the names of others into which a statement stores, and pairs of a called function and a passed name."""
    stored = frozenset(_store_target_names(one))
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


def _store_target_names(one: Statement) -> Iterator[str]:
    """Yield the base names of all targets into which a statement stores, including its local names."""
    for part in one.nodes:
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


def _is_class_or_module(origin: Origin) -> bool:
    return not origin.name or any(isinstance(one.node, ast.ClassDef) for one in binding_statements(origin))


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_BUILTINS = _split_words("""
    abs all any bool bytes callable chr classmethod complex dict divmod enumerate filter float format frozenset getattr
    hasattr hash int isinstance issubclass iter len list map max memoryview min next object ord pow property range repr
    reversed round set slice sorted staticmethod str sum super tuple type zip NotImplemented Ellipsis
""")
_LIBRARIES = _split_words("""
    abc collections contextlib contextvars.ContextVar dataclasses datetime decimal enum fractions functools
    gmpy2.context gmpy2.log gmpy2.mpfr gmpy2.mpq gmpy2.mpz itertools logging.getLogger math mpmath numbers numpy
    os.register_at_fork pathlib pytest re statistics string struct threading typer types.MappingProxyType typing weakref
""")
_DECORATORS = _split_words("""
    abc contextlib dataclasses functools.cache functools.cached_property functools.lru_cache functools.wraps pytest
    typing
""")
_METHODS = _split_words("""
    from_bounded_range fromhex fromkeys items join keys log partition removeprefix removesuffix replace resolve split
    strip values with_suffix
""")
_REGISTERING = "callback", "command"  # of a command line: they register a function and return it
_STORING = "setattr", "delattr"  # treated as stores into their first argument
_DEFINITIONS = ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
_NOWHERE = "exec", "eval", "compile", "__import__", "__builtins__", "ctypes"
_PLAIN_MARKS = "__name__", "__doc__", "__file__", "__version__", "__all__", "__metadata__", "__dataclass_fields__"
_OPEN_MODULES = _split_words("os sys builtins importlib gc ctypes inspect marshal subprocess unittest operator")


class NameResolver:
    """Origins of the names in a statement, including those in its annotations."""

    def __init__(self, one: Statement) -> None:
        self._home = find_module(one.module)
        self._read: dict[str, list[Origin]] = {}
        for name, origin in external_origins(one):
            self._read.setdefault(name, []).append(origin)

    def __call__(self, name: str) -> list[Origin]:
        """Return the origins of a name or a chain of names; empty for names of Python or of the statement itself."""
        home = self._home
        if name in self._read or home is None:
            return self._read.get(name, [])
        known = [resolve_origin(home.imports[name])] if name in home.imports else []
        return known + ([Origin(home.name, name)] if name in home.bound else [])

    def is_definition(self, origin: Origin) -> bool:
        """Return True for a module, class or function of the package, and for all names from outside of it."""
        made = binding_statements(origin)
        return not origin.name or origin.module is None or any(isinstance(one.node, _DEFINITIONS) for one in made)


def load_time_expressions(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions that run with a statement, each with its kind: decorator, store, call or value."""
    decorators = getattr(node, "decorator_list", [])
    yield from ((one, "decorator") for one in decorators)
    parts: list[ast.AST | None] = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        parts = [*decorators, *node.args.defaults, *node.args.kw_defaults]
        parts += [one.annotation for one in given if one is not None] + [getattr(node, "returns", None)]
    elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield node, "store"
    elif isinstance(node, ast.expr):
        yield node, "call" if isinstance(node, ast.Call) else "value"
    for one in parts:
        if one is not None:
            yield from load_time_expressions(one)


def is_inert(one: Statement) -> bool:
    """Return True if the code that a statement runs on loading is known to change only what it stores into."""
    node, read = one.node, NameResolver(one)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return not is_foreign_import(node)
    if not one.mentioned_names.isdisjoint(_NOWHERE):
        return False
    return all(_KNOWN[kind](one, read) for one, kind in load_time_expressions(node))


def _is_inert_value(node: ast.expr, read: NameResolver) -> bool:
    """Return True if a name or an attribute does not give access to anything that can change others."""
    if isinstance(node, ast.Attribute):
        return not node.attr.startswith("__") or node.attr in _PLAIN_MARKS
    if (
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and not read(node.id)
        and node.id in vars(builtins)
    ):
        made = getattr(builtins, node.id)
        is_error = isinstance(made, type) and issubclass(made, BaseException)
        return node.id in (*_BUILTINS, *_STORING, *_PLAIN_MARKS) or is_error
    return True


def _is_inert_store(node: ast.AST, read: NameResolver) -> bool:
    """Return True for a store into something that is identified by its name; see :meth:`NameResolver.is_definition`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    origins = read(node.id) if isinstance(node, ast.Name) else []
    return bool(origins) and all(map(read.is_definition, origins))


def _is_inert_call(node: ast.expr, read: NameResolver) -> bool:
    assert isinstance(node, ast.Call)
    values = [*node.args, *(one.value for one in node.keywords)]
    name = node.func.id if isinstance(node.func, ast.Name) and not read(node.func.id) else ""
    if name in ("getattr", "hasattr"):
        return True
    if name in _STORING and (not node.args or not _is_inert_store(node.args[0], read)):
        return False
    handed = values[1:] if name in _STORING else values
    return (name in _STORING or _is_inert_function(node.func, read)) and not any(
        _can_change_others(part, read) for one in handed for part in _argument_parts(one)
    )


def _is_inert_function(node: ast.expr, read: NameResolver) -> bool:
    """Return True for a name of the package, a listed function of Python or a library, or a listed method."""
    first, names = _split_attribute_chain(node)
    is_method = bool(names) and names[-1] in (*_METHODS, *_REGISTERING)
    if not first:
        if isinstance(node, ast.Call):  # what a call returns is called
            return isinstance(node.func, ast.Attribute) and node.func.attr in _REGISTERING
        return _is_inert_function(node.value, read) if isinstance(node, ast.Subscript) else is_method
    origins, rest = _resolve_longest_prefix([first, *names], read)
    if not origins:
        made = getattr(builtins, first, None)
        is_error = isinstance(made, type) and issubclass(made, BaseException)
        return is_method if names else first in _BUILTINS or is_error
    return is_method or all(
        not rest if one.module is not None else _is_in_namespaces(".".join([one.name, *rest]), _LIBRARIES)
        for one in origins
    )


def _is_inert_decorator(node: ast.expr, read: NameResolver) -> bool:
    """Return True for a name of the package or a listed decorator.

    The result of a decorator is called as well, with what it decorates, so fewer names are listed than for calls.
    """
    first, names = _split_attribute_chain(node.func if isinstance(node, ast.Call) else node)
    if (names[-1] if names else first) in ("property", "staticmethod", "classmethod", "setter", *_REGISTERING):
        return True
    origins, rest = _resolve_longest_prefix([first, *names], read)
    return bool(origins) and all(
        not rest if one.module is not None else _is_in_namespaces(".".join([one.name, *rest]), _DECORATORS)
        for one in origins
    )


def _argument_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield an argument and the parts that it is made of; calls in it are checked separately."""
    yield node
    if not isinstance(node, ast.Call | ast.Lambda | ast.Attribute):
        for one in ast.iter_child_nodes(node):
            yield from _argument_parts(one)


def _can_change_others(node: ast.AST, read: NameResolver) -> bool:
    """Return True if an argument passes a module from outside, or a part of one that can change others."""
    first, names = _split_attribute_chain(node)
    if not first:
        return False
    origins, rest = _resolve_longest_prefix([first, *names], read)
    outside = [".".join([one.name, *rest]) for one in origins if one.module is None]
    return first in _STORING or any(is_known_module(one) or one.partition(".")[0] in _OPEN_MODULES for one in outside)


def _resolve_longest_prefix(names: list[str], read: NameResolver) -> tuple[Sequence[Origin], list[str]]:
    """Return the origins of the longest known prefix of a chain, and the attributes that follow it."""
    for length in range(len(names), 0, -1):
        if origins := read(".".join(names[:length])):
            return origins, names[length:]
    return (), names[1:]


def _is_in_namespaces(name: str, places: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in places)


def _split_attribute_chain(node: ast.AST) -> tuple[str, list[str]]:
    """Return the name at the start of a chain of attributes (empty if it starts with something else) and these."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return node.id if isinstance(node, ast.Name) else "", names


_KNOWN = {"value": _is_inert_value, "store": _is_inert_store, "call": _is_inert_call, "decorator": _is_inert_decorator}
