"""The modules of the package as syntax trees: which statements make a name, and where an imported name comes from."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from .normal import Chain, bindings, chains, normal_form

NAME = "opendp_topk"
_INNER_IMPORT = re.compile(r"(?:^[ \t]+|[:;] *)(?:from\s+\S+\s+import|import\s+\w)", re.MULTILINE)


@dataclass(frozen=True)
class Origin:
    """Where a name comes from: ``name`` of a module of the package, or (``module`` is None) from outside."""

    module: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.module is None else f"{self.module}:{self.name}"


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of ``module``; ``names`` are those that it binds, ``imports`` what it imports itself."""

    module: str
    node: ast.stmt
    names: frozenset[str]
    imports: dict[str, Origin]

    @property
    def title(self) -> str:
        """The module and what is bound: ``errors.checks:count``."""
        return f"{self.module}:{'/'.join(sorted(self.names)) or '(statement)'}"

    @property
    def first_line(self) -> int:
        """The number of its first line, decorators included."""
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return min([self.node.lineno, *(one.lineno for one in decorators)])

    @functools.cached_property
    def normal(self) -> str:
        """The statement without layout, comments, docstrings and annotations."""
        return normal_form(self.node)

    @functools.cached_property
    def chains(self) -> frozenset[Chain]:
        """The names that it reads and does not bind."""
        return chains(self.node)


@dataclass(frozen=True, eq=False)
class Module:
    """A module: its statements, those that bind each name, what it imports, and the statements that bind nothing.

    ``loads`` are modules of the package that are loaded with it, since it imports them at its top.
    """

    name: str
    statements: tuple[Statement, ...]
    imports: dict[str, Origin]
    bound: dict[str, list[Statement]]
    loose: tuple[Statement, ...]
    loads: frozenset[str]


@functools.cache
def module(package: Path, name: str) -> Module | None:
    """The module ``name`` (dotted, below the package; empty for the package itself), or None if there is none."""
    base = package.joinpath(*name.split(".")) if name else package
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    return _parsed(path, name) if path.is_file() else None


def module_of(source: str) -> str:
    """The dotted name of the module in a file: ``errors`` for ``errors/__init__.py``."""
    return source.removesuffix(".py").removesuffix("__init__").strip("/").replace("/", ".")


def _parsed(path: Path, name: str) -> Module:
    text = path.read_text(encoding="utf-8")
    try:
        body = [one for one in ast.parse(text).body if not _means_nothing(one)]
    except SyntaxError as error:
        raise ProofError(f"{name or NAME} is no Python: {error}") from None
    above = name if path.name == "__init__.py" else name.rpartition(".")[0]
    rest = [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom)]
    inner = _INNER_IMPORT.search(text) is not None
    statements = tuple(
        Statement(name, one, bindings(one), dict(_imported(ast.walk(one) if inner else [], above))) for one in rest
    )
    bound: dict[str, list[Statement]] = {}
    for one in statements:
        for made in one.names:
            bound.setdefault(made, []).append(one)
    loose = tuple(one for one in statements if not one.names)
    return Module(name, statements, dict(_imported(body, above)), bound, loose, frozenset(_loads(body, above)))


def forget_modules() -> None:
    """Read every module anew when it is next asked for."""
    module.cache_clear()


def _means_nothing(node: ast.stmt) -> bool:
    """Texts, and what only a type checker runs."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imported(nodes: Iterable[ast.AST], above: str) -> Iterator[tuple[str, Origin]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield alias.asname or first, _whole(alias.name if alias.asname else first)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, above)
            for alias in node.names:
                origin = Origin(None, f"{node.module}.{alias.name}") if base is None else Origin(base, alias.name)
                yield alias.asname or alias.name, origin


def _loads(body: Iterable[ast.AST], above: str) -> Iterator[str]:
    """The modules of the package that are imported when these statements run, and names that may be such."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield from _loads(ast.iter_child_nodes(node), above)
        for _, origin in _imported([node], above):
            if origin.module is not None:
                yield from (origin.module, f"{origin.module}.{origin.name}".strip("."))


def _whole(name: str) -> Origin:
    """A module that is imported by itself."""
    first, _, rest = name.partition(".")
    return Origin(rest, "") if first == NAME else Origin(None, name)


def _base(node: ast.ImportFrom, above: str) -> str | None:
    """The module of the package from which the statement imports, or None if it is another's."""
    if node.level:
        parts = above.split(".") if above else []
        return ".".join(parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else []))
    inside = (node.module or "").split(".")
    return ".".join(inside[1:]) if inside[0] == NAME else None


def resolve(package: Path, origin: Origin) -> Origin:
    """Where a name is made, after it was followed through modules that only hand it on.

    A module itself has the empty name. What is not found stays as it is.
    """
    seen: set[Origin] = set()
    while origin.module is not None and origin.name:
        there = module(package, origin.module)
        if there is not None and origin.name in there.bound:
            return origin
        if there is not None and origin.name in there.imports and origin not in seen:
            seen.add(origin)  # a package that imports its own module hands on a name in a circle
            origin = there.imports[origin.name]
        elif module(package, inner := f"{origin.module}.{origin.name}".strip(".")) is not None:
            return Origin(inner, "")
        else:
            return origin
    return origin


def reached(package: Path, statement: Statement) -> dict[str, Origin]:
    """What the statement reads from outside of itself: the name as it stands there -> where it is made.

    Names that the module neither makes nor imports are Python's own, and are left out.
    """
    home = module(package, statement.module)
    found: dict[str, Origin] = {}
    for chain in statement.chains if home else ():
        for known in _known(home, statement, chain[0]) if home else ():
            origin, used = resolve(package, known), 1
            while origin.module is not None and not origin.name and used < len(chain):
                origin, used = resolve(package, Origin(origin.module, chain[used])), used + 1
            name = ".".join(chain[:used])
            found[name if name not in found else f"{name} (imported)"] = origin
    return found


def _known(home: Module, statement: Statement, name: str) -> Iterator[Origin]:
    """What a name stands for in a statement: in a module that imports it and makes it anew, both."""
    if name in statement.imports:
        yield statement.imports[name]
    elif name in home.bound or name in home.imports:
        yield from [Origin(home.name, name)] if name in home.bound else []
        yield from [home.imports[name]] if name in home.imports else []
