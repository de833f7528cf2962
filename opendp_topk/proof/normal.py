"""Statements of Python without what changes nothing, and the names that they reach from outside of themselves.

The normal form has no comments, layout, docstrings and annotations; those of a class's fields stay, for a dataclass
reads them. It is made from the syntax tree and is the same on every version of Python. Whoever knows where names are
made may put another text in the place of a node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

Chain = tuple[str, ...]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_Comprehension)
_LEFT_OUT = frozenset({"annotation", "returns", "type_comment", "type_params", "type_ignores", "kind", "ctx"})


class Read(NamedTuple):
    """A name that is read, with the attributes read of it: ``parts[n]`` is the node of the first n + 1 of the chain."""

    chain: Chain
    parts: tuple[ast.expr, ...]


def normal_form(node: ast.AST, instead: Mapping[ast.AST, str] | None = None) -> str:
    """The node as a text that layout, comments, docstrings and annotations do not change.

    A node below it for which a text stands in ``instead`` is written as this text.
    """
    pieces: list[str] = []
    _write(node, False, instead or {}, pieces.append)
    return "".join(pieces)


def _write(node: object, in_class: bool, instead: Mapping[ast.AST, str], add: Callable[[str], None]) -> None:
    if isinstance(node, ast.AST):
        if node in instead:
            add(instead[node])
            return
        add(f"({type(node).__name__}")
        inner = isinstance(node, ast.ClassDef)
        for name in node._fields:
            if name not in _LEFT_OUT or (name == "annotation" and in_class and isinstance(node, ast.AnnAssign)):
                value = getattr(node, name, None)
                if isinstance(value, list) and name == "body":
                    _write(undocumented(value), inner, instead, add)
                elif name == "values" and isinstance(node, ast.JoinedStr):
                    _write([one for one in node.values if not _is_empty(one)], False, instead, add)
                else:
                    _write(value, False, instead, add)
        add(")")
    elif isinstance(node, list):
        add("[")
        for one in node:
            _write(one, in_class, instead, add)
        add("]")
    else:
        add(f" {node!r}")


def _is_empty(node: ast.expr) -> bool:
    """An empty text, which some versions of Python put after the last field of a formatted string."""
    return isinstance(node, ast.Constant) and node.value == ""


def undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body without those that are a text only."""
    return [one for one in body if not (isinstance(one, ast.Expr) and _is_text(one.value))]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def reads(node: ast.AST) -> list[Read]:
    """The names that a statement reads and does not bind itself, in their order, as often as they stand there.

    ``checks.count(x)`` reads ``("checks", "count")`` and ``("x",)``. Annotations read nothing.
    """
    found: list[Read] = []
    _free(node, frozenset(), found)
    return found


def _free(node: ast.AST, bound: frozenset[str], found: list[Read]) -> None:
    if isinstance(node, ast.Name | ast.Attribute):
        _chain(node, bound, found)
    elif isinstance(node, _Function | ast.Lambda):
        _free_in_function(node, bound, found)
    else:
        if isinstance(node, _Comprehension):
            bound |= _stored(one.target for one in node.generators)
        for name in node._fields:
            value = None if name in _LEFT_OUT else getattr(node, name, None)
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, ast.AST):
                    _free(one, bound, found)


def _chain(node: ast.Name | ast.Attribute, bound: frozenset[str], found: list[Read]) -> None:
    names: list[str] = []
    parts: list[ast.expr] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        parts.append(inner)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        _free(inner, bound, found)
    elif inner.id not in bound and not (inner is node and isinstance(inner.ctx, ast.Store)):
        found.append(Read((inner.id, *reversed(names)), (inner, *reversed(parts))))


def _free_in_function(node: _Function | ast.Lambda, bound: frozenset[str], found: list[Read]) -> None:
    for one in [*getattr(node, "decorator_list", []), *node.args.defaults, *filter(None, node.args.kw_defaults)]:
        _free(one, bound, found)
    body = node.body if isinstance(node.body, list) else [node.body]
    inside = bound.union(_parameters(node.args), _stored(body))
    for one in body:
        _free(one, inside, found)


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if one is not None:
            yield one.arg


def _stored(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that these nodes bind in their own scope; imports are left to be followed to what they import."""
    bound: set[str | None] = set()
    shared: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            bound.update([] if isinstance(node.ctx, ast.Load) else [node.id])
        elif isinstance(node, _NAMED):
            bound.add(node.name)
        elif isinstance(node, ast.Global):
            shared.update(node.names)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return frozenset(name for name in bound if name) - shared


def bindings(node: ast.stmt) -> frozenset[str]:
    """The names that a statement of a module binds there, imports left out."""
    return _stored([node])
