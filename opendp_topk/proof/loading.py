"""Check that all code that a statement runs when its module is loaded is known to be inert.

Inert code makes values and does nothing else: definitions, constants, and calls of functions of the package or of those
listed here. An unknown call may change anything. Annotations count as code that runs.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from pathlib import Path

from .modules import (
    Origin,
    Statement,
    external_origins,
    find_module,
    is_foreign_import,
    is_known_module,
    resolve_origin,
)


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

    def __init__(self, package: Path, one: Statement) -> None:
        self._package = package
        self._home = find_module(package, one.module)
        self._read: dict[str, list[Origin]] = {}
        for name, origin in external_origins(package, one):
            self._read.setdefault(name, []).append(origin)

    def __call__(self, name: str) -> list[Origin]:
        """Return the origins of a name or a chain of names; empty for names of Python or of the statement itself."""
        home = self._home
        if name in self._read or home is None:
            return self._read.get(name, [])
        known = [resolve_origin(self._package, home.imports[name])] if name in home.imports else []
        return known + ([Origin(home.name, name)] if name in home.bound else [])

    def is_definition(self, origin: Origin) -> bool:
        """Return True for a module, class or function of the package, and for all names from outside of it."""
        there = None if origin.module is None else find_module(self._package, origin.module)
        made = there.bound.get(origin.name, []) if there else []
        return not origin.name or origin.module is None or any(isinstance(one.node, _DEFINITIONS) for one in made)


def load_time_expressions(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions that run with a statement, each with its kind: decorator, store, call or value."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield from ((one, "decorator") for one in getattr(node, "decorator_list", []))
        parts: list[ast.AST | None] = [
            *getattr(node, "decorator_list", []),
            *node.args.defaults,
            *node.args.kw_defaults,
        ]
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        parts += [one.annotation for one in given if one is not None] + [getattr(node, "returns", None)]
    elif isinstance(node, ast.ClassDef):
        yield from ((one, "decorator") for one in node.decorator_list)
        parts = [*ast.iter_child_nodes(node)]
    else:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield node, "store"
        elif isinstance(node, ast.expr):
            yield node, "call" if isinstance(node, ast.Call) else "value"
        parts = [*ast.iter_child_nodes(node)]
    for one in parts:
        if one is not None:
            yield from load_time_expressions(one)


def is_inert(package: Path, one: Statement) -> bool:
    """Return True if the code that a statement runs on loading is known to change only what it stores into."""
    node, read = one.node, NameResolver(package, one)
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
