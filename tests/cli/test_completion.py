"""Completion of commands, questions, options and words in the shell, by the scripts of ``--show-completion``."""

import shutil
import subprocess

import pytest

from .conftest import Command

SHELL = "_OPENDP_TOPK_COMPLETE"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("typed", "offered", "absent"),
    [
        ("pl", {"plan"}, {"release"}),
        ("plan ", {"top-k", "quantile", "gap"}, {"planned"}),
        ("release ", {"top-k", "planned"}, set[str]()),
        ("ledger ", {"create", "settle"}, set[str]()),
        ("release top-k t.csv --", {"--user", "--candidates", "--engine", "--log"}, {"--quantile"}),
        ("release quantile t.csv --q", {"--quantile"}, {"--user"}),
        ("release top-k t.csv --engine ", {"polars", "duckdb", "spark"}, set[str]()),
        ("plan top-k --keep r", {"random", "rows"}, {"order"}),
        ("plan top-k --candidates ", set[str](), {"FILE", "N"}),
        ("plan nothing --", {"--help"}, {"--user"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_are_completed(
    typed: str, offered: set[str], absent: set[str], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SHELL, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"opendp-topk {typed}")
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ") + 1))
    result = command()
    words = set(result.out.split())
    assert (result.code, result.err) == (0, "")
    assert offered <= words
    assert not absent & words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHELL, f"source_{shell}")
    result = command()
    assert result.code == 0
    assert f"{SHELL}=complete_{shell}" in result.out
    found = shutil.which(shell)
    if found is not None:
        subprocess.run([found, "-n"], input=result.out, text=True, check=True)
