"""The analyst's page, done from its first line to its last in a fresh folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_commands_of_the_analyst_work_one_after_the_other(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command needs typer and rich")
    pytest.importorskip("polars")
    shim = tmp_path / "bin" / "opendp-topk"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m opendp_topk.cli "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    room = tmp_path / "room"
    room.mkdir()
    text = (ROOT / "docs" / "howto" / "analyst.md").read_text(encoding="utf-8")
    printed = ""
    for language, code in STEP.findall(text):
        command = [sys.executable, "-c", code] if language == "python" else ["sh", "-ec", code]
        done = subprocess.run(
            command,
            cwd=room,
            env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        printed += done.stdout
    assert re.search(r"^cost +epsilon = 1", printed, re.MULTILINE)
    assert re.search(r"spent +1(?:\.0)? on 1 entry", printed)
    some = json.loads((room / "some.json").read_text(encoding="utf-8"))
    assert some["files"].removeprefix("sha256:") in printed
    record = json.loads((room / "top.json").read_text(encoding="utf-8"))
    assert (len(record["items"]), record["d_out"]) == (5, 1.0)
