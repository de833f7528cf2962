"""The data of the demo: which standard modules the modules of the running Python import."""

from __future__ import annotations

import ast
import contextlib
import os
import sysconfig
import warnings
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from ...errors import TableError
from ...errors.extras import load

_SKIPPED = {"__pycache__", "encodings", "idlelib", "lib2to3", "test", "tests", "turtledemo"}
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def public_modules() -> tuple[str, ...]:
    """The public list of candidates that the package carries: the names of the standard library's modules."""
    listed = resources.files("opendp_topk.apps.cli").joinpath("stdlib_modules.txt").read_text(encoding="utf-8")
    return tuple(line for line in listed.splitlines() if line)


def import_rows(folder: str | Path | None = None) -> list[tuple[str, str]]:
    """A row (module, name) for each module of the standard library and each name that it imports.

    Modules are read and parsed, never run. Tests, applications, installed packages and the tables of
    character encodings are left out, and so is a file that is not in this Python's grammar.

    Raises:
        TableError: The standard library has no source files, as in some embedded Pythons.
    """
    root = Path(sysconfig.get_paths()["stdlib"] if folder is None else folder)
    rows = [(module, name) for module, source in _sources(root) for name in sorted(_imports(source))]
    if not rows:
        raise TableError("this Python keeps no source of its standard library, from which the demo makes its table")
    return rows


def import_table(folder: str | Path | None = None) -> object:
    """:func:`import_rows` as a polars frame with the columns ``module`` and ``imports``."""
    pl: Any = load("polars", "the demo needs polars", "opendp_topk[cli]")
    return pl.DataFrame(import_rows(folder), schema=["module", "imports"], orient="row")


def _sources(root: Path) -> Iterator[tuple[str, bytes]]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name.isidentifier() and name not in _SKIPPED)
        for path in sorted(Path(folder, name) for name in files if name.endswith(".py")):
            parts = path.relative_to(root).with_suffix("").parts
            with contextlib.suppress(OSError):
                yield ".".join(parts).removesuffix(".__init__"), path.read_bytes()


def _imports(source: bytes) -> set[str]:
    """The top-level modules that a source file imports from outside of its own package."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in the standard library itself
            statements: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found: set[str] = set()
    while statements:
        statement = statements.pop()
        if isinstance(statement, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and statement.level == 0:
            found.add(statement.module.partition(".")[0])
        for body in _BODIES:
            within = getattr(statement, body, None)
            if isinstance(within, list):
                statements.extend(within)
    return found
