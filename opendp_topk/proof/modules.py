"""The modules of the package as syntax trees: which statements make a name, and where an imported name comes from.

:func:`canonical_form` writes a statement so that it does not depend on the place and the names of code: imports of the
package are left out, and a name that the package makes is a number. The origin of ``__file__`` or ``__name__`` is the
module that reads it.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import ProofError
from ..errors.extras import LOADING
from .library import package_folder, remembered
from .normal import (
    Chain,
    NameRead,
    binding_order,
    find_name_reads,
    nested_statements,
    normal_form,
    parameter_names,
    statement_bindings,
)

NAME = "opendp_topk"
_PACKAGES = (NAME, "numpy", "mpmath", "gmpy2", "narwhals", "polars", "pandas", "pyarrow", "duckdb", "pyspark", "typer")
_OTHERS = ("click", "rich", "opendp", "psycopg", "cryptography", "matplotlib", "z3", "pytest", "IPython")
_Import = ast.Import | ast.ImportFrom
_PLACE = ("__file__", "__name__", "__package__", "__path__", "__spec__", "__loader__")
_INNER_IMPORT = re.compile(r"(?:^[ \t]+|[:;] *)(?:from\s+\S+\s+import|import\s+\w)", re.MULTILINE)


@dataclass(frozen=True)
class Origin:
    """The origin of a name: ``name`` of a module of the package, or from outside if ``module`` is None."""

    module: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.module is None else f"{self.module}:{self.name}"


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of ``module``; it binds ``names``, and ``imports`` are the names that it imports."""

    module: str
    node: ast.stmt
    names: frozenset[str]
    imports: dict[str, list[Origin]]

    @property
    def title(self) -> str:
        """The module and the bound names: ``errors.checks:require_positive_int``."""
        return f"{self.module}:{'/'.join(sorted(self.names)) or '(statement)'}"

    @functools.cached_property
    def first_line(self) -> int:
        return first_node_line(self.node)

    @functools.cached_property
    def shape(self) -> str:
        """Its kind without its name, for example a function with these parameters."""
        if isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return f"function({', '.join(map(repr, parameter_names(self.node.args)))})"
        value = getattr(self.node, "value", None)
        return type(self.node if value is None else value).__name__

    def innermost_number(self, line: int) -> int:
        """Return the number of the innermost statement within it at a line of the file."""
        return max(
            number for number, (first, last) in enumerate(self._line_ranges) if not number or first <= line <= last
        )

    @functools.cached_property
    def _line_ranges(self) -> tuple[tuple[int, int], ...]:
        """The first and last lines of all statements within it: itself first, and each before those in it."""
        return tuple((first_node_line(one), one.end_lineno or one.lineno) for one in nested_statements(self.node))

    @functools.cached_property
    def ordered_names(self) -> tuple[str, ...]:
        """The names that it binds, in their order in the source; imported names come last."""
        stand = binding_order(self.node)
        return (*stand, *sorted(self.names.difference(stand)))

    @functools.cached_property
    def name_reads(self) -> tuple[NameRead, ...]:
        """The names that it reads and does not bind, with repetitions."""
        return tuple(find_name_reads(self.node))

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of its syntax tree."""
        return tuple(ast.walk(self.node))

    @functools.cached_property
    def mentioned_names(self) -> frozenset[str]:
        """All names in it, including its own."""
        return frozenset(one.id for one in self.nodes if isinstance(one, ast.Name))

    @functools.cached_property
    def read_chains(self) -> frozenset[Chain]:
        """The chains of :attr:`name_reads` without repetitions."""
        return frozenset(one.chain for one in self.name_reads)


def first_node_line(node: ast.stmt) -> int:
    """Return the number of the first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


@dataclass(frozen=True, eq=False)
class Module:
    """A module: its statements, those that bind each name, what it imports, and the statements that bind nothing.

    ``loads`` are modules of the package that are loaded with it, because it imports them outside of functions.
    ``importing`` are all its import statements, at the top or nested; relative ones start from the module ``above``.
    """

    name: str
    statements: tuple[Statement, ...]
    imports: dict[str, Origin]
    bound: dict[str, list[Statement]]
    loose: tuple[Statement, ...]
    loads: frozenset[str]
    importing: tuple[_Import, ...]
    above: str


def find_module(name: str) -> Module | None:
    """Return the module ``name`` (dotted, below the package; empty for the package itself), or None if there is none.

    Statements are compared by identity, so all threads must get the same ones.
    """
    with LOADING:
        return _read_module(name)


@remembered
def _read_module(name: str) -> Module | None:
    package = package_folder()
    base = package.joinpath(*name.split(".")) if name else package
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    if not path.is_file():
        return None
    above = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return _parse_module(path.read_text(encoding="utf-8"), name, above)


def all_modules() -> list[Module]:
    """Return all modules of the package, loaded or not, so that all processes find the same."""
    package = package_folder()
    names = sorted(dotted_module_name(path.relative_to(package).as_posix()) for path in package.rglob("*.py"))
    return [home for name in names if (home := find_module(name))]


def dotted_module_name(source: str) -> str:
    """Return the dotted name of the module in a file: ``errors`` for ``errors/__init__.py``."""
    return source.removesuffix(".py").removesuffix("__init__").strip("/").replace("/", ".")


@functools.lru_cache(maxsize=1024)
def _parse_module(text: str, name: str, above: str) -> Module:
    """Return the module with this text. It depends on nothing else, so ``clear_cache`` keeps the result."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ProofError(f"{name or NAME} is no Python: {error}") from None
    body = [one for one in tree.body if not _is_without_effect(one)]
    rest = [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom) or is_foreign_import(one)]
    inner = _INNER_IMPORT.search(text) is not None
    importing = tuple(one for one in (ast.walk(tree) if inner else body) if isinstance(one, _Import))
    statements = tuple(_build_statement(name, one, importing, above) for one in rest)
    bound: dict[str, list[Statement]] = {}
    for one in statements:
        for made in one.names:
            bound.setdefault(made, []).append(one)
    loose = tuple(one for one in statements if not one.names)
    imports = dict(_imported_origins(body, above))
    loads = frozenset(_loaded_module_names(body if inner else importing, above))
    return Module(name, statements, imports, bound, loose, loads, importing, above)


def _build_statement(home: str, node: ast.stmt, importing: Iterable[_Import], above: str) -> Statement:
    imports: dict[str, list[Origin]] = {}
    for name, origin in _imported_origins(_imports_within(importing, node), above):
        if origin not in imports.setdefault(name, []):
            imports[name].append(origin)
    own = statement_bindings(node)
    if imports and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        own |= {name for name, _ in _imported_origins(_load_time_nodes(node), above)}
    return Statement(home, node, own, imports)


def _imports_within(importing: Iterable[_Import], node: ast.stmt) -> Iterator[_Import]:
    return (one for one in importing if node.lineno <= one.lineno <= (node.end_lineno or node.lineno))


def _load_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is loaded, except those in functions and classes."""
    for one in ast.iter_child_nodes(node):
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _load_time_nodes(one)


def _is_without_effect(node: ast.stmt) -> bool:
    """Return True for a bare constant, such as a docstring, and for a block that only a type checker reads."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imported_origins(nodes: Iterable[ast.AST], above: str) -> Iterator[tuple[str, Origin]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield alias.asname or first, _module_origin(alias.name if alias.asname else first)
        elif isinstance(node, ast.ImportFrom):
            base = _import_base(node, above)
            for alias in node.names:
                origin = Origin(None, f"{node.module}.{alias.name}") if base is None else Origin(base, alias.name)
                yield alias.asname or alias.name, origin


def _loaded_module_names(body: Iterable[ast.AST], above: str) -> Iterator[str]:
    """Yield the modules of the package that are imported when these statements run, and names that may be modules."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield from _loaded_module_names(ast.iter_child_nodes(node), above)
        for _, origin in _imported_origins([node], above):
            if origin.module is not None:
                yield from (origin.module, f"{origin.module}.{origin.name}".strip("."))


def is_known_module(name: str) -> bool:
    """Return True for the name of a module of Python, or of a package on which this one may depend."""
    return name in sys.stdlib_module_names or name in (*_PACKAGES, *_OTHERS)


def is_foreign_import(node: ast.stmt) -> bool:
    """Return True if a statement imports a module that is not known, in the sense of :func:`is_known_module`."""
    if isinstance(node, ast.Import):
        roots = {one.name.partition(".")[0] for one in node.names}
    elif isinstance(node, ast.ImportFrom) and not node.level:
        roots = {(node.module or "").partition(".")[0]}
    else:
        roots = set()
    return not all(map(is_known_module, roots))


def _module_origin(name: str) -> Origin:
    first, _, rest = name.partition(".")
    return Origin(rest, "") if first == NAME else Origin(None, name)


def _import_base(node: ast.ImportFrom, above: str) -> str | None:
    """Return the module of the package from which the statement imports, or None if it is outside of the package."""
    if node.level:
        parts = above.split(".") if above else []
        return ".".join(parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else []))
    inside = (node.module or "").split(".")
    return ".".join(inside[1:]) if inside[0] == NAME else None


def binding_statements(origin: Origin) -> list[Statement]:
    home = None if origin.module is None else find_module(origin.module)
    return home.bound.get(origin.name, []) if home else []


def resolve_origin(origin: Origin) -> Origin:
    """Return the origin where a name is made, through modules that only import it.

    A module itself has the empty name. If a name is not found, the last known origin is returned.
    """
    seen: set[Origin] = set()
    while origin.module is not None and origin.name:
        there = find_module(origin.module)
        if there is not None and origin.name in there.bound:
            return origin
        if there is not None and origin.name in there.imports and origin not in seen:
            seen.add(origin)  # a package that imports its own module leads in a circle
            origin = there.imports[origin.name]
        elif find_module(inner := f"{origin.module}.{origin.name}".strip(".")) is not None:
            return Origin(inner, "")
        else:
            return origin
    return origin


@remembered
def external_origins(statement: Statement) -> tuple[tuple[str, Origin], ...]:
    """Return the names that the statement reads from outside of itself, each with an origin.

    A name can have several origins. Names that the module neither makes nor imports are Python's own and are left out.
    """
    return tuple(dict.fromkeys((name, origin) for _, name, origin in _resolve_name_reads(statement)))


def _resolve_name_reads(statement: Statement) -> Iterator[tuple[ast.expr | None, str, Origin]]:
    """Yield each name that a statement reads: its node, the name as written, and its origin.

    Names that the statement binds by importing them are read as well; their node is None.
    """
    home = find_module(statement.module)
    if home is None:
        return
    for read in statement.name_reads:
        for known in _possible_origins(home, statement, read.chain[0]):
            origin, used = _follow_chain(known, read.chain)
            yield read.parts[used - 1], ".".join(read.chain[:used]), origin
    for name in sorted(statement.names & statement.imports.keys()):
        for known in statement.imports[name]:
            yield None, name, resolve_origin(known)


def _follow_chain(known: Origin, chain: Chain) -> tuple[Origin, int]:
    """Return the origin of a chain that starts with a known name, and the length of the part that leads there."""
    origin, used = resolve_origin(known), 1
    while origin.module is not None and not origin.name and used < len(chain):
        origin, used = resolve_origin(Origin(origin.module, chain[used])), used + 1
    return origin, used


def _possible_origins(home: Module, statement: Statement, name: str) -> Iterator[Origin]:
    """Yield the possible origins of a name in a statement; both if the module imports the name and also makes it."""
    if name in statement.imports:
        yield from statement.imports[name]
    elif name in home.bound or name in home.imports:
        yield from [Origin(home.name, name)] if name in home.bound else []
        yield from [home.imports[name]] if name in home.imports else []
    elif name in _PLACE:
        yield Origin(None, f"{NAME}.{home.name}")


@remembered
def canonical_form(statement: Statement) -> tuple[str, tuple[tuple[str, Origin], ...]]:
    """Return the normal form of a statement, independent of its place, and the origin of each name that it reads.

    Names that the package makes are numbered in the order of their first use.
    """
    numbers: dict[Origin, str] = {}
    found: dict[tuple[str, Origin], None] = {}
    instead: dict[ast.AST, str] = {}
    for node, name, origin in _resolve_name_reads(statement):
        if origin.module is not None:
            number = numbers.setdefault(origin, f"<{len(numbers)}>")
            if node is not None:
                instead[node] = f"{instead.get(node, '')}{number}"
        found[numbers.get(origin, name), origin] = None
    home = find_module(statement.module)
    if home is not None and statement.imports:
        importing = _imports_within(home.importing, statement.node)
        instead |= {one: _ambiguous_imports(statement, one) for one in importing if _is_package_import(one, home)}
    return _cached_normal_form(statement, frozenset(instead.items())), tuple(found)


@functools.lru_cache(maxsize=1 << 15)
def _cached_normal_form(statement: Statement, instead: frozenset[tuple[ast.AST, str]]) -> str:
    return normal_form(statement.node, dict(instead))


def _ambiguous_imports(statement: Statement, node: _Import) -> str:
    """Return the form of an import from the package: empty, unless the statement has several origins for a name."""
    names = [one.asname or one.name for one in node.names]
    return "".join(f"<import {name}>" for name in names if len(statement.imports.get(name, ())) > 1)


def _is_package_import(node: _Import, home: Module) -> bool:
    return all(origin.module is not None for _, origin in _imported_origins([node], home.above))
