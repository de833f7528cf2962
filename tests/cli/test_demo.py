"""``demo``: its table is what the standard library imports, its candidates are public, its release is real."""

import sys
from pathlib import Path

import pytest

from opendp_topk.apps.cli import demo as stdlib
from opendp_topk.errors import TableError

from .command import numbers
from .conftest import Command

MODULE = """
'''import wrong_docstring'''
import os, os.path as p
from . import sibling
from .near import thing
from email.mime import text
def f(x):
    import re
    try:
        import json
    except ImportError:
        import yaml
    else:
        import csv
    finally:
        import gc
    if x:
        import abc
    elif f:
        import bz2
    for _ in x:
        import cmd
    while x:
        with x:
            import dis
    match x:
        case 1:
            import ast
    class C:
        async def g(self):
            import sys, os
"""
IMPORTS = {"os", "email", "re", "json", "yaml", "csv", "gc", "abc", "bz2", "cmd", "dis", "ast", "sys"}


def test_rows_are_modules_and_what_they_import(tmp_path: Path) -> None:
    def write(path: str, content: str | bytes) -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    write("a.py", MODULE)
    write("pack/__init__.py", "import os")
    write("pack/b.py", "import re")
    write("latin.py", b"# -*- coding: latin-1 -*-\nname = '\xe9'\nimport os\n")
    write("broken.py", "import os\nprint 'old'\n")
    write("null.py", b"import os\0")
    for folder in ("test", "encodings", "site-packages", "config-3.11", "pack/tests"):
        write(f"{folder}/c.py", "import os")
    write("h.txt", "import os")
    rows = stdlib.import_rows(tmp_path)
    assert len(rows) == len(set(rows))
    assert set(rows) == {*(("a", name) for name in IMPORTS), ("pack", "os"), ("pack.b", "re"), ("latin", "os")}


def test_no_source_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="requires the source of Python's standard library"):
        stdlib.import_rows(tmp_path)


def test_the_candidates_cover_the_standard_library() -> None:
    listed = stdlib.public_modules()
    assert len(set(listed)) == len(listed)
    if sys.version_info < (3, 15):
        assert {name for name in sys.stdlib_module_names if not name.startswith("_")} <= set(listed)


@pytest.mark.slow
def test_the_demo_plans_releases_and_explains(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    others = stdlib.public_modules()[:6]
    rows = [(f"m{user}", name) for user in range(473) for name in ("sys", others[user % 6])]
    monkeypatch.setattr(stdlib, "import_rows", lambda _: rows)
    result = command("demo")
    assert (result.code, result.err) == (0, "")
    first, unlisted = result.out.split("4. The same without a list")
    lines = [line.split() for line in first.splitlines()]
    released = [line[1] for line in lines if len(line) == 2 and line[0] in "12345"]
    assert len(set(released)) == 5
    assert set(released) <= set(stdlib.public_modules())
    assert "sys" in released  # all modules import it: another outcome has odds below 10^-9
    assert {"sys"} <= {line.split()[1] for line in unlisted.splitlines() if line[:4].strip() in {*"12345"}}
    assert float(result.field("scale").split()[0]) == 5.0
    assert "by a factor of at most e^1 = 2.72" in result.flat
    shown_before = result.out.split("3. The release")[0]
    assert "top-k TABLE.parquet --user COLUMN --item COLUMN \\ --candidates LIST.txt --k 10" in result.flat
    public = {"1", "2", "5", "5.0", "1.0", str(len(stdlib.public_modules()))}
    assert numbers(shown_before.split("accuracy")[0]) <= public
    users = {module for module, _ in rows}
    assert str(len(users)) not in numbers(result.out)


@pytest.mark.slow
def test_the_demo_takes_other_targets(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    small = pl.DataFrame({"module": ["a", "b", "b", "c"], "imports": ["os", "os", "re", "os"]})
    monkeypatch.setattr("opendp_topk.apps.cli.demo.import_table", lambda: small)
    result = command("demo", "--k", 2, "--epsilon", 1000)
    assert result.code == 0
    parts = result.out.split("4. The same without")
    listed, unlisted = ([line.split() for line in part.splitlines()] for part in parts)
    assert [line for line in listed if line[:1] in (["1"], ["2"])] == [["1", "os"], ["2", "re"]]
    assert ["1", "os"] in unlisted
    assert "1 fewer than 2 items" in result.flat, "what one module alone imports stays unseen"
    assert "by a factor of at most e^1000: the list" in result.flat
    command("demo", "--epsilon", 0).complains(2, "--epsilon must be a finite number > 0")
    command("demo", "--k", 0).complains(2, "k must be an integer >= 1")
