"""Notebooks run from the first cell to the last in an empty folder, and print what they show."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from docs.site import markdown

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


@pytest.mark.further
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for cells with the tag ``random``, whose output is another one in each run."""
    pytest.importorskip("typer", reason="records need the extra cli")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": path.stem}
    for cell in cells(path):
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile("".join(cell["source"]), str(path), "exec"), names)
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert "random" in cell["metadata"].get("tags", ()) or printed.getvalue() == shown


def test_notebooks_are_short_and_the_site_has_their_cells() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "engineer", "researcher"]
    for path in NOTEBOOKS:
        page = markdown.notebook_page(path.read_text(encoding="utf-8"))
        assert len(cells(path)) <= 12
        for cell in cells(path):
            assert "".join(cell["source"]) in page
            for output in cell.get("outputs", ()):
                assert f"```text\n{''.join(output['text'])}```" in page
