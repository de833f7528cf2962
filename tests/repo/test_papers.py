"""README.md, CONTRIBUTING.md and SECURITY.md name what is there, and the Python of pages prints what they show."""

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.concepts.clocks import unwaited

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
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[0] not in ("outside thing", "---")]


def without_a_check(rows: list[list[str]]) -> list[str]:
    return [row[0] for row in rows if len(row) != 4 or not all(row)]


def test_every_outside_thing_is_checked_or_said_not_to_be() -> None:
    rows = outside_things((ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8"))
    assert len(rows) > 50
    assert without_a_check(rows) == []
    assert without_a_check([["a disk", "it keeps what it has", "", "records are lost"]]) == ["a disk"]


README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_there_are_at_most_two_screens_before_what_to_read_on() -> None:
    before = README.partition("## Read on")[0]
    assert len(before.splitlines()) <= 2 * 45


FOLDERS = ("explanation", "howto", "tutorials", "gallery")
# tests/docs/test_howto.py does them from their first lines to their last, and tests/foreign/test_tuning.py the last one
APART = {"howto/analyst", "howto/officer", "howto/cheat_sheet"}
APART |= {"tutorials/admissions", "tutorials/airports", "tutorials/tuning"}
SLOW = {
    *("testing", "gallery/privacy", "gallery/release", "explanation/composition", "explanation/measures"),
    *(f"howto/{stem}" for stem in ("audit", "choose", "coming_from", "counts", "ledger")),
    *(f"howto/{stem}" for stem in ("opendp", "own_parts", "parts_and_spark")),
}
LISTED = [path.relative_to(ROOT / "docs").with_suffix("") for path in sorted((ROOT / "docs").rglob("*.md"))]
RUN = [
    path.as_posix()
    for path in LISTED
    if path.parts[0] in (*FOLDERS, "architecture", "testing", "glossary", "versions")
    and "```python\n" in (ROOT / "docs" / path.with_suffix(".md")).read_text("utf-8")
]
PAGES = [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in RUN if page not in APART]
STEP = re.compile(r"```python\n(?P<code>.*?)```(?:\n+```text(?P<once> one run)?\n(?P<shown>.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_python_blocks_print(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block ``text`` is the output of the code above it; where it is marked ``one run``, only its length is sure."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("polars", reason="tables require polars")
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    if "opendp.prelude" in text:
        pytest.importorskip("opendp", reason="the bridge needs opendp")
    if "pyplot" in text:
        pytest.importorskip("matplotlib", reason="the gallery needs matplotlib").use("Agg")
    names: dict[str, Any] = {}
    steps = list(STEP.finditer(text))
    assert len(blocks("text[^\n]*", text)) == sum(step["shown"] is not None for step in steps)
    for step in steps:
        with unwaited():
            exec(compile(step["code"], f"{page}.md", "exec"), names)
        printed, shown = capsys.readouterr().out, step["shown"] or ""
        if step["once"]:
            assert len(printed.splitlines()) == len(shown.splitlines())
        else:
            assert printed == shown
    assert "tk" in names


def test_the_commands_make_their_own_environment() -> None:
    commands = dict(re.findall(r"<!-- command: (\w+) -->\n```sh\n(.*?)\n```", README))
    assert set(commands) == {"demo", "tests"}
    for command in commands.values():
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "<!-- command: tests -->" in run
    assert not re.search(r"^\.venv/bin/python -m pytest$", run, re.MULTILINE)


def test_files_that_the_readme_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
