"""Normal forms of Python statements, without parts that have no effect, and the names that statements read.

The normal form omits comments, layout, docstrings, and annotations that have no effect when the code runs. Names that a
statement makes for itself are numbers: those of its functions, classes and local variables. Names that others use to
access it are kept: parameters, keywords, attributes, and fields of classes. The words of an error message are omitted;
the class of the error, the parameter with which the message begins, and the inserted values are kept.

The form is computed from the syntax tree and is the same on every version of Python. A caller that knows the origins of
names can replace nodes by other texts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

Chain = tuple[str, ...]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_Comprehension)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LEFT_OUT = frozenset({"annotation", "returns", "type_comment", "type_params", "type_ignores", "kind", "ctx"})
_EFFECTIVE = re.compile(r"\b(ClassVar|InitVar|KW_ONLY|Annotated)\b")  # they affect dataclasses or readers of hints
_ERROR = re.compile(r"(Error|Exception|Warning|Exit|Interrupt)$")
_FIRST_WORD = re.compile(r"\w+")


class NameRead(NamedTuple):
    """A name that is read, and the attributes read from it; ``parts[n]`` is the node of the first n + 1 names."""

    chain: Chain
    parts: tuple[ast.expr, ...]


def normal_form(node: ast.AST, instead: Mapping[ast.AST, str] | None = None) -> str:
    """Return a text for the node that is independent of layout, comments, docstrings, idle annotations and own names.

    A node below it is written as its text in ``instead`` if it has one.
    """
    form = _Form(instead or {}, {name: number for number, name in enumerate(binding_order(node))})
    form.write_node(node, _Scope())
    return "".join(form.pieces)


def binding_order(node: ast.AST) -> list[str]:
    """Return the names that a statement of a module binds in the module, except imports, in source order."""
    return list(dict.fromkeys(_bound_names([node])))


class _Local:
    """A variable of a function; its number is given at its first place in the form."""

    number: int | None = None


class _Scope(NamedTuple):
    """The scope of a node: the variables that it sees, the parameters of functions around it, and its kind."""

    seen: Mapping[str, _Local] = {}
    parameters: frozenset[str] = frozenset()
    kind: str = "module"
    outer: Mapping[str, _Local] = {}

    def function_scope(self, parameters: Iterable[str], body: Iterable[ast.AST]) -> _Scope:
        """Return the scope of a function's body; in a class, it does not see the names of the class."""
        given, body = frozenset(parameters), [*body]
        own, shared = _locally_bound_names(body) - given, given | _outer_scope_names(body, ast.Global)
        around = self.outer if self.kind == "class" else self.seen
        seen = {name: one for name, one in around.items() if name not in shared}
        return _Scope({**seen, **{name: _Local() for name in own}}, self.parameters | given, "function")

    def class_scope(self, body: Iterable[ast.AST]) -> _Scope:
        """Return the scope of a class body, whose own names are attributes."""
        own = _locally_bound_names(body)
        around = self.outer if self.kind == "class" else self.seen
        seen = {name: one for name, one in around.items() if name not in own}
        return _Scope(seen, self.parameters, "class", around)


class _Form:
    """Writer of the normal form of one statement."""

    def __init__(self, instead: Mapping[ast.AST, str], made: Mapping[str, int]) -> None:
        self.pieces: list[str] = []
        self._instead = instead
        self._made = made
        self._locals = 0

    def write_node(self, node: object, scope: _Scope) -> None:
        if isinstance(node, ast.AST):
            if node in self._instead:
                self.pieces.append(self._instead[node])
                return
            write = _WRITERS.get(type(node))
            if write is None:
                self._write_fields(node, scope)
            else:
                write(self, node, scope)
        elif isinstance(node, list):
            self.pieces.append("[")
            for one in node:
                self.write_node(one, scope)
            self.pieces.append("]")
        else:
            self.pieces.append(f" {node!r}")

    def _write_fields(self, node: ast.AST, scope: _Scope, **others: _Scope | None) -> None:
        """Write a node, field by field; ``others`` are the scopes of fields with another one, None for its own name."""
        self.pieces.append(f"({type(node).__name__}")
        for name in node._fields:
            if name in _LEFT_OUT:
                continue
            value, inner = getattr(node, name, None), others.get(name, scope)
            if inner is None:
                self.pieces.append(self._spell_name(value, scope) if isinstance(value, str) else f" {value!r}")
            else:
                self.write_node(
                    without_docstrings(value) if name == "body" and isinstance(value, list) else value, inner
                )
        self.pieces.append(")")

    def _spell_name(self, name: str, scope: _Scope, loaded: bool = False) -> str:
        local = scope.seen.get(name)
        if local is not None:
            if local.number is None:
                local.number, self._locals = self._locals, self._locals + 1
            return f"<local {local.number}>"
        is_made = scope.kind == "module" and not loaded and name in self._made
        return f"<made {self._made[name]}>" if is_made else f" {name!r}"

    def _write_name(self, node: ast.Name, scope: _Scope) -> None:
        self.pieces.append(f"(Name{self._spell_name(node.id, scope, isinstance(node.ctx, ast.Load))})")

    def _write_function(self, node: _Function, scope: _Scope) -> None:
        self._write_fields(node, scope, name=None, body=scope.function_scope(parameter_names(node.args), node.body))

    def _write_lambda(self, node: ast.Lambda, scope: _Scope) -> None:
        self._write_fields(node, scope, body=scope.function_scope(parameter_names(node.args), [node.body]))

    def _write_class(self, node: ast.ClassDef, scope: _Scope) -> None:
        self._write_fields(node, scope, name=None, body=scope.class_scope(node.body))

    def _write_comprehension(self, node: ast.AST, scope: _Scope) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        inner = scope.function_scope((), [one.target for one in generators])
        self.pieces.append(f"({type(node).__name__}")
        for name in node._fields:
            if name != "generators":
                self.write_node(getattr(node, name), inner)
        for number, one in enumerate(generators):
            self.write_node(one.iter, inner if number else scope)
            self.write_node([one.target, one.ifs, one.is_async], inner)
        self.pieces.append(")")

    def _write_nonlocal(self, node: ast.Nonlocal, scope: _Scope) -> None:
        self.pieces.append(f"(Nonlocal{''.join(self._spell_name(name, scope) for name in node.names)})")

    def _write_annotated_assign(self, node: ast.AnnAssign, scope: _Scope) -> None:
        """Write a field of a class, with its annotation if that has an effect; elsewhere, write a plain assignment."""
        if scope.kind == "class":
            said = ast.unparse(node.annotation)
            self.pieces.append(f"(Field {said!r}" if _EFFECTIVE.search(said) else "(Field")
            self.write_node([node.target, node.value], scope)
            self.pieces.append(")")
        elif node.value is not None:
            self.write_node(ast.Assign([node.target], node.value), scope)
        else:
            self._write_fields(node, scope)

    def _write_formatted_string(self, node: ast.JoinedStr, scope: _Scope) -> None:
        self.pieces.append("(JoinedStr")
        self.write_node([one for one in node.values if not (isinstance(one, ast.Constant) and one.value == "")], scope)
        self.pieces.append(")")

    def _write_call(self, node: ast.Call, scope: _Scope) -> None:
        """Write a call; one that makes an error is written without the words of its message."""
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if not _ERROR.search(last):
            self._write_fields(node, scope)
            return
        self.pieces.append("(Call")
        self.write_node(node.func, scope)
        for one in node.args:
            self._write_message(one, scope)
        for given in node.keywords:
            self.pieces.append(f"(keyword {given.arg!r}")
            self._write_message(given.value, scope)
            self.pieces.append(")")
        self.pieces.append(")")

    def _write_message(self, node: ast.expr, scope: _Scope) -> None:
        """Write an argument of an error: of a text, only the parameter with which it begins and the inserted values."""
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        words = [one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else None for one in parts]
        if not any(word is not None for word in words):
            self.write_node(node, scope)
            return
        first = _FIRST_WORD.match(words[0] or "")
        self.pieces.append(f"(message {first[0]!r}" if first and first[0] in scope.parameters else "(message")
        self.write_node([one for one, word in zip(parts, words, strict=True) if word is None], scope)
        self.pieces.append(")")


_WRITERS: dict[type[ast.AST], Callable[..., None]] = {
    ast.Name: _Form._write_name,
    ast.FunctionDef: _Form._write_function,
    ast.AsyncFunctionDef: _Form._write_function,
    ast.Lambda: _Form._write_lambda,
    ast.ClassDef: _Form._write_class,
    **dict.fromkeys((ast.ExceptHandler, ast.MatchAs, ast.MatchStar), partial(_Form._write_fields, name=None)),
    ast.MatchMapping: partial(_Form._write_fields, rest=None),
    ast.Nonlocal: _Form._write_nonlocal,
    ast.AnnAssign: _Form._write_annotated_assign,
    ast.JoinedStr: _Form._write_formatted_string,
    ast.Call: _Form._write_call,
    **dict.fromkeys(_Comprehension, _Form._write_comprehension),
}


def nested_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement and all statements within it, each before its contents; docstrings and imports are omitted."""
    yield node
    waiting: list[ast.AST] = [*ast.iter_child_nodes(node)]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, ast.stmt):
            if without_docstrings([one]) and not isinstance(one, ast.Import | ast.ImportFrom):
                yield from nested_statements(one)
        else:
            waiting[:0] = ast.iter_child_nodes(one)


def without_docstrings(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a body except those that are only a string."""
    return [one for one in body if not (isinstance(one, ast.Expr) and _is_string_constant(one.value))]


def _is_string_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def find_name_reads(node: ast.AST) -> list[NameRead]:
    """Return the names that a statement reads and does not bind itself, in their order and with repetitions.

    ``checks.count(x)`` reads ``("checks", "count")`` and ``("x",)``. Annotations read nothing.
    """
    found: list[NameRead] = []
    _collect_free_names(node, frozenset(), found)
    return found


def _collect_free_names(node: ast.AST, bound: frozenset[str], found: list[NameRead]) -> None:
    if isinstance(node, ast.Name | ast.Attribute):
        _collect_chain(node, bound, found)
    elif isinstance(node, _Function | ast.Lambda):
        _collect_in_function(node, bound, found)
    else:
        if isinstance(node, _Comprehension):
            bound |= _locally_bound_names(one.target for one in node.generators)
        for name in node._fields:
            value = None if name in _LEFT_OUT else getattr(node, name, None)
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, ast.AST):
                    _collect_free_names(one, bound, found)


def _collect_chain(node: ast.Name | ast.Attribute, bound: frozenset[str], found: list[NameRead]) -> None:
    names: list[str] = []
    parts: list[ast.expr] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        parts.append(inner)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        _collect_free_names(inner, bound, found)
    elif inner.id not in bound and not (inner is node and isinstance(inner.ctx, ast.Store)):
        found.append(NameRead((inner.id, *reversed(names)), (inner, *reversed(parts))))


def _collect_in_function(node: _Function | ast.Lambda, bound: frozenset[str], found: list[NameRead]) -> None:
    for one in [*getattr(node, "decorator_list", []), *node.args.defaults, *filter(None, node.args.kw_defaults)]:
        _collect_free_names(one, bound, found)
    body = node.body if isinstance(node.body, list) else [node.body]
    inside = (bound - _outer_scope_names(body, ast.Global)).union(
        parameter_names(node.args), _locally_bound_names(body)
    )
    for one in body:
        _collect_free_names(one, inside, found)


def parameter_names(arguments: ast.arguments) -> Iterator[str]:
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if one is not None:
            yield one.arg


def _locally_bound_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that these nodes bind in their own scope, except imports, which are followed to their origin."""
    nodes = [*nodes]
    return frozenset(_bound_names(nodes)) - _outer_scope_names(nodes, ast.Global, ast.Nonlocal)


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that these nodes bind, in their order and with repetitions."""
    for node in nodes:
        if isinstance(node, ast.Name):
            yield from [] if isinstance(node.ctx, ast.Load) else [node.id]
        elif isinstance(node, _NAMED):
            yield from [node.name] if node.name else []
        elif isinstance(node, ast.MatchMapping):
            yield from [node.rest] if node.rest else []
        if isinstance(node, _Comprehension):
            yield from (one.target.id for one in _walk_same_scope(node) if isinstance(one, ast.NamedExpr))
        elif not isinstance(node, _SCOPES):
            yield from _bound_names(ast.iter_child_nodes(node))


def _outer_scope_names(nodes: Iterable[ast.AST], *kinds: type[ast.Global] | type[ast.Nonlocal]) -> frozenset[str]:
    """Return the names that these nodes declare as names of an outer scope."""
    found: set[str] = set()
    waiting = [*nodes]
    while waiting:
        one = waiting.pop()
        if isinstance(one, kinds):
            found.update(one.names)
        elif not isinstance(one, _Function | ast.ClassDef):
            blocks = [getattr(one, name, ()) for name in _BLOCKS]
            waiting += [below for block in blocks if isinstance(block, list) for below in block]
    return frozenset(found)


def _walk_same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes below one, except those in functions and classes."""
    if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
        for one in ast.iter_child_nodes(node):
            yield one
            yield from _walk_same_scope(one)


def statement_bindings(node: ast.stmt) -> frozenset[str]:
    """Return the names that a statement of a module binds in the module, except imports."""
    return _locally_bound_names([node])
