"""What the command loads: no more than it needs to answer."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from opendp_topk.apps.cli import app

_SCRIPT = """
import sys
sys.argv = ["opendp-topk", *{arguments!r}]
from opendp_topk.apps.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
print("loaded:", *sorted(sys.modules))
"""


def loaded(*arguments: str) -> set[str]:
    script = _SCRIPT.format(arguments=arguments)
    output = subprocess.check_output([sys.executable, "-c", script], text=True)
    return set(output.rpartition("loaded:")[2].split())


def rooms(modules: set[str], *names: str) -> list[str]:
    return [module for module in sorted(modules) if module.startswith(tuple(f"opendp_topk.{name}" for name in names))]


def test_the_list_of_commands_needs_no_numpy() -> None:
    modules = loaded("--help")
    assert not {"numpy", "gmpy2", "mpmath"} & modules
    assert not rooms(modules, "apps.audit", "tables", "measurements")


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--group", "town", "--groups", "7")], ids=["one list", "in groups"])
def test_a_plan_reads_no_tables_and_audits_nothing(more: tuple[str, ...]) -> None:
    modules = loaded("plan", "--k", "3", "--candidates", "50", "--epsilon", "1", *more)
    assert rooms(modules, "measurements")
    assert not rooms(modules, "apps.audit", "tables")


@pytest.mark.further
def test_a_release_loads_the_constructor_that_it_takes(tmp_path: Path) -> None:
    """Neither the others of the catalogue, nor what only exact laws need, nor what looks through records."""
    (tmp_path / "loans.csv").write_text("user,book\n1,a\n2,a\n2,b\n", encoding="utf-8")
    (tmp_path / "books.txt").write_text("a\nb\nc\n", encoding="utf-8")
    columns = "--user", "user", "--item", "book", "--candidates", str(tmp_path / "books.txt")
    modules = loaded("release", str(tmp_path / "loans.csv"), *columns, "--k", "1", "--epsilon", "1")
    assert rooms(modules, "measurements.report_noisy_top_k")
    assert rooms(modules, "sampling.samplers.race")
    assert "mpmath" not in modules
    assert not rooms(modules, "apps.audit", "apps.planning.unknown_domain", "apps.planning.verification")
    assert not rooms(modules, "sampling.samplers.joint", "sampling.samplers.canonical")
    others = rooms(modules, "measurements.canonical", "measurements.joint", "measurements.peeled")
    assert others == []


def test_what_was_read_is_not_looked_through() -> None:
    """Neither while the command reads, nor when it ends: what is registered first is called last."""
    script = """
import atexit, gc
from opendp_topk.apps.cli import main
before = gc.get_stats()[0]["collections"]
atexit.register(lambda: print("found:", gc.get_stats()[0]["collections"] - before, gc.get_freeze_count()))
"""
    output = subprocess.check_output(
        [sys.executable, "-c", script + _SCRIPT.format(arguments=("--version",))], text=True
    )
    collections, frozen = map(int, output.rpartition("found:")[2].split())
    assert collections == 0
    assert frozen > 0


@pytest.mark.further
def test_importing_the_package_loads_what_is_asked_for() -> None:
    script = "import sys, opendp_topk as tk; before = set(sys.modules); tk.Gumbel; print(*before); print(*sys.modules)"
    before, after = map(str.split, subprocess.check_output([sys.executable, "-c", script], text=True).splitlines())
    assert "numpy" not in before
    assert rooms(set(after), "sampling.noises.") == [
        "opendp_topk.sampling.noises.gumbel",
        "opendp_topk.sampling.noises.noise",
    ]
    assert not rooms(set(after), "apps.audit", "tables", "measurements", "core.measurement")


def test_the_list_of_commands_says_what_their_own_help_says() -> None:
    for name, line in app.COMMANDS.items():
        command = app.load_command(name)
        assert inspect.cleandoc(command.help).partition("\n")[0] == line
