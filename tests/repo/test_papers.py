"""CONTRIBUTING.md, SECURITY.md and the checks before a commit name what is there."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPERS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "SECURITY.md")}
CONTRIBUTING = PAPERS["CONTRIBUTING.md"]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOOKS = re.findall(r"^        entry: (.+)$", (ROOT / ".pre-commit-config.yaml").read_text("utf-8"), re.MULTILINE)
COMMANDS = {
    name: block.splitlines()
    for name, block in re.findall(r"<!-- command: ([\w-]+) -->\n```sh\n(.*?)\n```", CONTRIBUTING, re.DOTALL)
}
SNIPPET = re.compile(r"```python\n(?: {3})?# (opendp_topk/\S+)\n(.*?)\n *```", re.DOTALL)


def module_of(command: str) -> str | None:
    """What ``python -m`` runs in a command."""
    found = re.search(r"python -m (\S+)", command)
    return found[1] if found else None


def test_the_hooks_are_the_checks_of_the_page() -> None:
    assert COMMANDS["checks"] == HOOKS
    config = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert config.count("language: system") == config.count("- id: ") == len(HOOKS)
    assert re.findall(r"repo: (\S+)", config) == ["local"], "nothing is downloaded"


def test_the_build_makes_the_same_checks() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in COMMANDS["checks"]:
        module = module_of(command)
        checked = {"proofs.tools.form": "test_proofs.py", "tests.pages": "test_pages.py"}.get(module or "")
        assert command in run or (ROOT / "tests" / "repo" / (checked or "nothing")).is_file(), command


@pytest.mark.parametrize("name", PAPERS)
def test_modules_that_are_run_exist(name: str) -> None:
    named = {module for line in PAPERS[name].splitlines() if (module := module_of(line)) is not None}
    assert name != "CONTRIBUTING.md" or {"pytest", "proofs.tools.form", "tests.pages"} <= named
    assert [module for module in named - {"venv"} if importlib.util.find_spec(module) is None] == []


def test_the_set_up_installs_an_extra_that_exists() -> None:
    install = next(line for line in COMMANDS["set-up"] if "pip install" in line)
    (extra,) = re.findall(r"\.\[(\w+)\]", install)
    assert extra in SETTINGS["project"]["optional-dependencies"]
    for word in re.findall(r"extra `(\w+)`", CONTRIBUTING):
        assert word in SETTINGS["project"]["optional-dependencies"]


def test_every_tier_has_its_command() -> None:
    options = SETTINGS["tool"]["pytest"]["ini_options"]
    marks = set(re.findall(r"`pytest -m (\w+)`", CONTRIBUTING))
    assert marks == set(re.findall(r"not (\w+)", options["addopts"]))
    assert marks <= {line.partition(":")[0] for line in options["markers"]}


@pytest.mark.further
@pytest.mark.parametrize("command", COMMANDS["checks"])
def test_a_check_can_be_run(command: str) -> None:
    """The tools answer; the checks themselves have tests of their own, or are steps of the build."""
    program, *arguments = shlex.split(command)
    module = module_of(command) or Path(program).name
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} comes with the extra dev")
    options = [argument for argument in arguments if argument.startswith("--")]
    verb = [argument for argument in arguments[:1] if argument.isalpha() and module == "ruff"]
    done = subprocess.run(
        [sys.executable, "-m", module, *verb, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(option in done.stdout for option in options)


def test_the_snippets_stand_in_the_code() -> None:
    snippets = SNIPPET.findall(CONTRIBUTING)
    assert len(snippets) == CONTRIBUTING.count("```python") >= 4
    for file, code in snippets:
        lines = [line.strip() for line in code.splitlines()]
        source = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
        assert any(source[at : at + len(lines)] == lines for at in range(len(source))), f"{file} no longer holds {code}"


@pytest.mark.parametrize("name", PAPERS)
def test_files_that_a_paper_names_exist(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAPERS[name]):
        assert (ROOT / target).is_file(), target
    assert not re.search(r"\S+@\S+\.\w+|https?://", PAPERS[name]), "no addresses that nobody reads"


def test_the_papers_are_in_the_source_distribution() -> None:
    included = SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"CONTRIBUTING.md", "SECURITY.md", "LICENSE", "README.md", ".pre-commit-config.yaml"} <= set(included)
    assert [path for path in included if not (ROOT / path).exists()] == []


def outside_things(text: str) -> list[list[str]]:
    """The rows of the tables on what lies outside: thing, what is assumed, how it is checked, what happens if not."""
    lines = text.partition("## What lies outside")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in rows if row[0] not in ("outside thing", "---")]


def without_a_check(rows: list[list[str]]) -> list[str]:
    return [row[0] for row in rows if len(row) != 4 or not all(row)]


def test_every_outside_thing_is_checked_or_said_not_to_be() -> None:
    rows = outside_things((ROOT / "docs" / "threat_model.md").read_text(encoding="utf-8"))
    assert len(rows) > 50
    assert without_a_check(rows) == []
    assert without_a_check([["a disk", "it keeps what it has", "", "records are lost"]]) == ["a disk"]
