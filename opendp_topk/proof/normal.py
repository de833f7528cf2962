"""Statements of Python without what changes nothing, and the names that they reach from outside of themselves.

The normal form has no comments, layout, docstrings and annotations; those of a class's fields stay, for a dataclass
reads them. It is made from the syntax tree and is the same on every version of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

Chain = tuple[str, ...]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_Comprehension)
_LEFT_OUT = frozenset({"annotation", "returns", "type_comment", "type_params", "type_ignores", "kind", "ctx"})


def normal_form(node: ast.AST) -> str:
    """The node as a text that layout, comments, docstrings and annotations do not change."""
    return "".join(_pieces(node, False))


def _pieces(node: object, in_class: bool) -> Iterator[str]:
    if isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        yield from _fields(node, in_class)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for one in node:
            yield from _pieces(one, in_class)
        yield "]"
    else:
        yield f" {node!r}"


def _fields(node: ast.AST, in_class: bool) -> Iterator[str]:
    inner = isinstance(node, ast.ClassDef)
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "body" and isinstance(value, list):
            yield from _pieces(undocumented(value), inner)
        elif name == "values" and isinstance(node, ast.JoinedStr):
            yield from _pieces([one for one in node.values if not _is_empty(one)], False)
        elif name not in _LEFT_OUT or (name == "annotation" and in_class and isinstance(node, ast.AnnAssign)):
            yield from _pieces(value, False)


def _is_empty(node: ast.expr) -> bool:
    """An empty text, which some versions of Python put after the last field of a formatted string."""
    return isinstance(node, ast.Constant) and node.value == ""


def undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body without those that are a text only."""
    return [one for one in body if not (isinstance(one, ast.Expr) and _is_text(one.value))]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def chains(node: ast.AST) -> frozenset[Chain]:
    """The names that a statement reads and does not bind itself, each with the attributes read of it.

    ``checks.count(x)`` reads ``("checks", "count")`` and ``("x",)``. Annotations read nothing.
    """
    return frozenset(_free(node, frozenset()))


def _free(node: ast.AST, bound: frozenset[str]) -> Iterator[Chain]:
    if isinstance(node, ast.Name | ast.Attribute):
        yield from _chain(node, bound)
    elif isinstance(node, _Function | ast.Lambda):
        yield from _free_in_function(node, bound)
    elif isinstance(node, _Comprehension):
        yield from _free_below(node, bound | _stored(one.target for one in node.generators))
    else:
        yield from _free_below(node, bound)


def _free_below(node: ast.AST, bound: frozenset[str]) -> Iterator[Chain]:
    for name in node._fields:
        value = getattr(node, name, None)
        for one in () if name in _LEFT_OUT else value if isinstance(value, list) else (value,):
            if isinstance(one, ast.AST):
                yield from _free(one, bound)


def _chain(node: ast.Name | ast.Attribute, bound: frozenset[str]) -> Iterator[Chain]:
    names: list[str] = []
    inner: ast.AST = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        yield from _free(inner, bound)
    elif inner.id not in bound and not (inner is node and isinstance(inner.ctx, ast.Store)):
        yield (inner.id, *reversed(names))


def _free_in_function(node: _Function | ast.Lambda, bound: frozenset[str]) -> Iterator[Chain]:
    for one in [*getattr(node, "decorator_list", []), *node.args.defaults, *filter(None, node.args.kw_defaults)]:
        yield from _free(one, bound)
    body = node.body if isinstance(node.body, list) else [node.body]
    inside = bound.union(_parameters(node.args), _stored(body))
    for one in body:
        yield from _free(one, inside)


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
