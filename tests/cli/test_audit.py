"""``opendp-topk audit``: the registry and the sign-offs on the command line."""

from __future__ import annotations

from pathlib import Path

import opendp_topk as tk

from .conftest import Command


def test_the_list_holds_every_claim(command: Command) -> None:
    result = command("audit")
    assert result.code == 0
    for name in tk.__all__:
        if name.startswith("make_"):
            assert name in result.out
    assert "signed by" not in result.out


def test_a_proof_is_signed_once_and_shown(command: Command, tmp_path: Path) -> None:
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
    command(*arguments).complains(2, "as it stands already")


def test_what_cannot_be_signed(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "signoffs.toml"
    command("audit", "accept", "make_nothing", "--by", "Ada", "--file", file).complains(2, "NAME must be one of")
    command("audit", "accept", "core/chaining", "--by", " ", "--file", file).complains(2, "by must be")
    command("audit", "accept", "core/chaining", "--by", "Ada", "--file", tmp_path).complains(1, "sign-off")
    assert list(tmp_path.iterdir()) == []
    command("audit", "--signoffs", tmp_path / "none.toml").complains(1, "sign-offs")
