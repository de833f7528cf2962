"""``opendp-topk audit``: the registry and the sign-offs on the command line."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.apps.audit import shipped

from .command import Result
from .conftest import Command
from .test_log import CODES, as_on_a_terminal


@pytest.mark.slow
def test_the_list_holds_every_claim(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof.Proof, "status", "current")
    result = command("audit")
    assert result.code == 0
    for name in tk.__all__:
        if name.startswith("make_"):
            assert name in result.out
    assert "rests on" in result.out
    assert "signed by" not in result.out


@pytest.mark.slow
def test_a_proof_is_signed_once_and_shown(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof.Proof, "status", "current")
    file = tmp_path / "signoffs.toml"
    arguments = "audit", "accept", "make_report_noisy_top_k", "--by", "R. E. Viewer", "--file", file
    signed = command(*arguments)
    assert signed.code == 0
    assert "R. E. Viewer accepts proofs/measurements/report_noisy_top_k.tex" in signed.flat
    listed = command("audit", "--signoffs", file)
    row = next(line for line in listed.out.splitlines() if line.startswith("make_report_noisy_top_k"))
    assert "current" in row
    assert "R. E. Viewer" in row
    assert listed.out.count("nobody") > 5
    command(*arguments).complains(2, "has already signed")


def test_a_report_is_summed_up(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(_: str, progress: Callable[[str, int, int], None], **options: Any) -> SimpleNamespace:
        progress("maps", 1, 2)
        claims = [SimpleNamespace(status=one) for one in ("current", state)]
        return SimpleNamespace(claims=claims, refuted=refuted, verified_text="all", pdfs=["b"], unbuilt=unbuilt)

    monkeypatch.setattr("opendp_topk.apps.cli.audit.write_report", written)
    monkeypatch.setattr("opendp_topk.apps.cli.audit.missing_tex_message", lambda: "install it")
    for state, unbuilt, refuted in (("current", [], 0), ("stale", [], 0), ("current", ["a"], 0), ("current", [], 1)):
        claims = f"claims    2, of which {state == 'stale':d} stale or missing"
        rows = f"report    new/index.html\n{claims}\nverified  all\nPDFs      1; {len(unbuilt)} did not build\n"
        bad = state == "stale" or unbuilt or refuted
        assert command("audit", "--html", "new") == Result(1 if bad else 0, rows, "")
    assert "the proofs as LaTeX only: install it." in " ".join(command("audit", "--html", "new", "--pdf").err.split())
    as_on_a_terminal(monkeypatch, columns=80)
    assert re.search(r"maps .*1/2", CODES.sub("", command("audit", "--html", "new").err))


@pytest.mark.slow
def test_what_cannot_be_signed(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "signoffs.toml"
    command("audit", "accept", "make_nothing", "--by", "Ada", "--file", file).complains(2, "NAME must be one of")
    command("audit", "accept", "core/chaining", "--by", " ", "--file", file).complains(2, "by must be")
    command("audit", "accept", "core/chaining", "--by", "Ada", "--file", tmp_path).complains(1, "sign-off")
    assert list(tmp_path.iterdir()) == []
    command("audit", "--signoffs", tmp_path / "none.toml").complains(1, "sign-offs")


@pytest.mark.slow
def test_the_report_is_written_and_summed_up(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [one for one in shipped.shipped_examples() if one.constructor == "make_permute_and_flip"]
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter(few))
    folder = tmp_path / "report"
    result = command("audit", "--html", folder, "--budget", 2)
    assert (result.code, result.err) == (0, "")
    assert result.field("report") == f"{folder}/index.html"
    assert result.field("verified") == f"{len(few)} maps, of which 0 fail and 0 not tested"
    assert (folder / "index.html").is_file()
    command("audit", "--html", folder).complains(2, "not empty", "--force")
    wrong = [replace(few[0], measurement=replace(few[0].measurement, privacy_map=lambda d_in: 0.25 * d_in))]
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter(wrong))
    refuted = command("audit", "--html", folder, "--budget", 2, "--force")
    assert refuted.code == 1
    assert refuted.field("verified") == "1 maps, of which 1 fail and 0 not tested"


@pytest.mark.slow
def test_a_report_without_tex_says_so(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter([]))
    monkeypatch.setattr("opendp_topk.apps.cli.audit.missing_tex_message", lambda: "install it")
    monkeypatch.setattr("opendp_topk.proof.latex.missing_tex_message", lambda: "install it")
    result = command("audit", "--html", tmp_path / "report", "--pdf")
    assert result.code == 0
    assert "as LaTeX only: install it" in " ".join(result.err.split())
    assert not (tmp_path / "report" / "pdf").exists()


@pytest.mark.further
def test_a_function_is_audited_by_its_name(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import random\nsource = random.Random(1)\ndef bit(x): return x if source.random() < 0.9 else 1 - x\n"
    code += "def best(x): return int(x.argmax())\n"
    (tmp_path / "flips_of_a_bit.py").write_text(f"{code}pairs = [(0, 1)]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run = ("audit", "run", "flips_of_a_bit:bit", "--on", "flips_of_a_bit:pairs", "--samples", 4000)
    refuted = command(*run, "--epsilon", 1, "--html", "page.html")
    assert (refuted.code, refuted.field("verdict")) == (1, "refuted")
    assert "of 2000 times on the input" in refuted.flat
    assert "The two output distributions" in (tmp_path / "page.html").read_text(encoding="utf-8")
    again = shlex.split(refuted.out.splitlines()[-1])
    assert again[:4] == ["opendp-topk", *run[:3]]
    assert again[again.index("--pair") + 1] == "0"
    repeated = command(*again[1:])
    assert (repeated.code, repeated.field("verdict")) == (1, "refuted")
    assert "with probability at most 1e-09" in repeated.flat
    assert repeated.out.splitlines()[-1] == refuted.out.splitlines()[-1]
    told = json.loads(command(*run, "--epsilon", 1, "--json").out)
    assert shlex.split(told["again"]) == again
    command(*run, "--epsilon", 1, "--pair", "1").complains(2, "pair must be")
    command(*run, "--epsilon", 1, "--pair", "[").complains(2, "--pair must be")
    made = command("audit", "run", "flips_of_a_bit:best", "--epsilon", 1, "--samples", 400)
    assert command(*shlex.split(made.out.splitlines()[-1])[1:]).field("input") == made.field("input")
    told = json.loads(command(*run, "--epsilon", 3, "--json").out)
    assert told["again"] is None
    assert (told["verdict"], told["claimed"], told["samples"]) == ("not refuted", 3.0, 4000)
    untested = command(*run, "--rho", 90)
    assert (untested.code, untested.field("verdict")) == (3, "not tested")
    command("audit", "run", "flips_of_a_bit", "--epsilon", 1).complains(2, "MODULE:NAME")
    command("audit", "run", "flips_of_a_bit:no", "--epsilon", 1).complains(2, "no such name")
    command("audit", "run", "no_such_module:no", "--epsilon", 1).complains(2, "cannot be imported")
    command(*run).complains(2, "epsilon or rho must be given")
