"""``opendp-topk demo``: a complete release on data that every Python installation has."""

from __future__ import annotations

import ast
import contextlib
import math
import os
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import TableError
from ...errors.extras import import_extra
from ..planning.question import PrivacyBudget, TableUnit
from ..planning.question_top_k import TopK
from ..planning.question_unknown_domain import UnknownDomainTopK
from . import show
from .output import write_output_file
from .plan import show_plan
from .shown import show_release

# The data of the demo: which modules the modules of the running Python's standard library import.

_SKIPPED = {"__pycache__", "encodings", "idlelib", "lib2to3", "test", "tests", "turtledemo"}
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def public_modules() -> tuple[str, ...]:
    """Return the public list of candidates that the package ships: the names of the standard library's modules."""
    return tuple(Path(__file__).with_name("stdlib_modules.txt").read_text(encoding="utf-8").split())


def import_rows(folder: str | Path | None = None) -> list[tuple[str, str]]:
    """Return a row (module, name) for each module of the standard library and each top-level module that it imports.

    Modules are read and parsed, never run. Tests, applications, installed packages, the tables of character encodings
    and files that this Python cannot parse are left out.

    Raises:
        TableError: The standard library has no source files, as in some embedded Pythons.
    """
    root = Path(sysconfig.get_paths()["stdlib"] if folder is None else folder)
    rows = [
        (module, name) for module, source in _iter_module_sources(root) for name in sorted(_imported_modules(source))
    ]
    if not rows:
        raise TableError(
            "the demo requires the source of Python's standard library, from which it makes its table; this "
            "Python has none"
        )
    return rows


def import_table(folder: str | Path | None = None) -> object:
    """Return :func:`import_rows` as a polars frame with the columns ``module`` and ``imports``."""
    pl: Any = import_extra("polars", "the demo requires polars", "opendp_topk[cli]")
    return pl.DataFrame(import_rows(folder), schema=["module", "imports"], orient="row")


def _iter_module_sources(root: Path) -> Iterator[tuple[str, bytes]]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name.isidentifier() and name not in _SKIPPED)
        for path in sorted(Path(folder, name) for name in files if name.endswith(".py")):
            parts = path.relative_to(root).with_suffix("").parts
            with contextlib.suppress(OSError):
                yield ".".join(parts).removesuffix(".__init__"), path.read_bytes()


def _imported_modules(source: bytes) -> set[str]:
    """Return the top-level modules that a source file imports, without relative imports."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about invalid escapes in the standard library itself
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


# ``opendp-topk demo``: a real release, offline, from a table that every Python can build.

_UNIT: dict[str, Any] = {"unit": TableUnit(user="module"), "item": "imports"}
_DELTA = 1e-6  # far below one over the number of modules


def demo(*, k: int = 5, epsilon: float = 1.0, write: str | None = None) -> None:
    """Make a real release, offline, step by step.

    The table contains the imports of standard modules by the modules of Python's standard library: users are the
    importing modules, items the imported ones.

    Options:
        k (-k): Number of items to release.
        epsilon (E): Privacy target: epsilon of pure differential privacy, > 0.
        write (FOLDER): Also write imports.csv, the table, and modules.txt, the candidates.
    """
    items = public_modules()
    question = TopK(k=k, candidates=items, budget=PrivacyBudget(epsilon=epsilon), **_UNIT)
    ready = question.plan()
    if write is not None:
        write_output_file(os.path.join(write, "modules.txt"), "--write", "".join(f"{item}\n" for item in items))
    show.print_paragraphs("1. The table", style="bold")
    show.print_paragraphs(
        "The modules of this Python's standard library play the role of users. A row (module, name) means that the "
        "module imports the name: the module is the user, the name is the item. The modules are parsed, not run. The "
        "list of modules and their imports are treated as private data, and are not shown.",
        f"The candidates are {len(items)} names of standard modules, a public list that is part of the package.",
        "",
    )
    show.print_paragraphs("2. The plan, before the table is read", style="bold")
    show_plan(ready)
    with show.show_progress("parsing the standard library"):
        table: Any = import_table()
    if write is not None:
        write_output_file(os.path.join(write, "imports.csv"), "--write", table.write_csv())
    record = ready.release(table).record
    show.print_paragraphs("", f"3. The release: the {k} names that most modules import", style="bold")
    show_release(record)
    show.print_paragraphs("", "4. The same without a list of candidates", style="bold")
    _show_unknown_domain(k, epsilon, table)
    show.print_paragraphs("", "5. How to read the results", style="bold")
    show.print_paragraphs(*_interpretation_lines(ready.plan.loss), "")
    show.print_paragraphs("Your own table:", style="bold")
    show.print_paragraphs(
        "opendp-topk release top-k TABLE.parquet --user COLUMN --item COLUMN \\",
        "  --candidates LIST.txt --k 10 --epsilon 1",
        "and `release unknown-domain` with --delta 1e-8 instead of --candidates if there is no list of the items.",
    )


def _show_unknown_domain(k: int, epsilon: float, table: Any) -> None:
    """Print a release with an unknown domain: the names come from the table, and rare ones stay hidden."""
    show.print_paragraphs(
        "Now any imported name can be released, whether or not it is in the standard library, because the "
        "names come from the private table itself. A name that few modules import is therefore released with "
        "at most the small probability delta.",
        "",
    )
    question = UnknownDomainTopK(k=k, budget=PrivacyBudget(epsilon=epsilon, delta=_DELTA), **_UNIT)
    show_release(question.plan().release(table).record)


def _interpretation_lines(epsilon: float) -> list[str]:
    number = f" = {math.exp(epsilon):.3g}" if epsilon < 500 else ""
    return [
        "- If any one module is added to the table or removed, the probability of each list changes by a factor of at "
        f"most e^{epsilon:g}{number}: the list reveals little about any single module.",
        "- The second list has its own cost, with a delta: making both releases costs the sum.",
        "- The release is random. If you run the demo again, items with similar counts may change places; "
        "each further release from the same table adds its cost.",
        "- No count was released. Names with much larger counts than the others are nearly always released; "
        "the line 'accuracy' above states how much larger.",
    ]
