r"""The table of proofs/README.md: claim, proof, code, test.

A document says its claim on one line, ``\claim{...}``, and pins its code. Its tests are found by their names: a test
mirrors a document or a module where their paths are the same but for ``test_`` and a leading underscore, and one with
another name says in its docstring which documents it tries. Where a document has no test of either kind, the mirrors of
the nearest modules that import its code stand in for one.
"""

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import opendp_topk
from opendp_topk import proof
from tests.mutation.fault import within_storey

PACKAGE = Path(opendp_topk.__file__).parent
TESTS = Path(__file__).resolve().parents[1]
HEAD = "| claim | proof | code | test |\n|---|---|---|---|\n"
_CLAIM = re.compile(r"^\\proofdocument\{.*\}\n\\claim\{(.+)\}$", re.MULTILINE)
_NAMED = re.compile(r"proofs/([\w/]+\.tex)")
_CODE = re.compile(r"\\code\{([^{}]*)\}")


def claim(name: str) -> str:
    """The claim of a document, as Markdown.

    Raises:
        ValueError: It has none, or it cannot stand in a table.
    """
    text = proof.document_text(name)
    found = _CLAIM.findall(text)
    if not found or text.count(r"\claim{") != 1 or "|" in found[0] or not found[0].isascii():
        raise ValueError(rf"{name}.tex must have \claim{{one sentence in ASCII}} on the line after \proofdocument")
    return _CODE.sub(r"`\1`", found[0])


def code(name: str) -> list[str]:
    """The files that a document pins, each once, in its order."""
    return list(dict.fromkeys(pin.source_file for pin in proof.code_hashes(name)))


def tests(name: str) -> list[str]:
    """The files below ``tests/`` that try what a document claims."""
    found = _mirrors([f"{name}.py", *code(name)]) | {path for path, names in _declared() if f"{name}.tex" in names}
    reached = set(code(name))
    while not found and (above := _importers(reached) - reached):
        reached |= above
        found = _mirrors(above)
    return sorted(found)


def row(name: str) -> str:
    """The line of a document.

    Raises:
        ValueError: It has no claim, or nothing tests it.
    """
    tried = tests(name)
    if not tried:
        raise ValueError(f"no test mirrors {name}.tex, its code, or what imports its code: write one")
    cells = claim(name), f"[{name}]({name}.tex)", _quoted(code(name)), _quoted(tried)
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """All documents, sorted."""
    return HEAD + "".join(map(row, proof.document_names()))


def _quoted(paths: Iterable[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def _mirrors(paths: Iterable[str]) -> set[str]:
    pure = (PurePosixPath(within_storey(path)) for path in paths)
    wanted = {path.with_name(f"test_{path.name.lstrip('_')}").as_posix() for path in pure}
    return {path for path in wanted if (TESTS / path).is_file()}


@functools.cache
def _declared() -> list[tuple[str, frozenset[str]]]:
    """Every test with the documents that its docstring names, such as ``proofs/samplers/scan.tex``."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        docstring = path.read_text(encoding="utf-8").split('"""', 2)[1]
        found.append((path.relative_to(TESTS).as_posix(), frozenset(_NAMED.findall(docstring))))
    return found


def _importers(sources: Iterable[str]) -> set[str]:
    """The modules of the package that import one of ``sources``."""
    modules = {_module(source) for source in sources}
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py" and _imports(path) & modules
    }


def _module(source: str) -> str:
    return ".".join(["opendp_topk", *PurePosixPath(source).with_suffix("").parts])


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """The modules of the package that a file names in its imports, ``from package import module`` among them."""
    here = path.relative_to(PACKAGE.parent if path.is_relative_to(PACKAGE) else TESTS.parent).parent.parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1]] * bool(node.level) + (node.module or "").split(".")
            stem = ".".join(part for part in base if part)
            found |= {stem, *(f"{stem}.{alias.name}" for alias in node.names)}
    return frozenset(found)
