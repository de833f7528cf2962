"""A proof assistant accepts what the documents call checked, and rejects the claims that are known to be false."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof import machine

from . import coq

MARKS = [check for name in proof.documents() for check in proof.checks(name)]


def test_documents_of_every_theme_are_marked() -> None:
    assert len({check.theorem for check in MARKS}) >= 30
    assert {check.theorem.split(".")[0] for check in MARKS} <= set(coq.SOURCES)


@pytest.mark.parametrize("name", coq.SOURCES)
def test_nothing_is_admitted_and_no_axiom_is_added(name: str) -> None:
    plain = re.sub(r"\(\*.*?\*\)", "", (machine.folder() / f"{name}.v").read_text("utf-8"), flags=re.DOTALL)
    assert not re.search(r"\b(Admitted|Axiom|Axioms|Parameter|Parameters|Conjecture|admit|Abort)\b", plain)
    assert plain.count("Proof.") == len(re.findall(r"\b(?:Qed|Defined)\.", plain))


@pytest.mark.slow
def test_checked_statements_stand_on_the_axioms_of_the_reals(built: Path) -> None:
    theorems = sorted({check.theorem for check in MARKS})
    files = " ".join(sorted({name.partition(".")[0] for name in theorems}))
    uses = " ".join(f"pose proof (@{name})." for name in theorems)
    text = f"From Machine Require {files}.\nLemma all : True.\nProof. {uses} exact I. Qed.\n"
    (built / "Together.v").write_text(text, "utf-8")
    assert coq.run(built, "Together.v") == ""
    assert coq.axioms(built, ["Together.all"]) == {"Together.all": coq.AXIOMS}


@pytest.mark.slow
def test_an_axiom_of_ones_own_is_noticed(built: Path) -> None:
    (built / "Planted.v").write_text("Axiom easy : 1 = 2.\nTheorem wrong : 1 = 2.\nProof. exact easy. Qed.\n", "utf-8")
    assert coq.run(built, "Planted.v") == ""
    assert coq.axioms(built, ["Planted.wrong"]) == {"Planted.wrong": {"Planted.easy"}}


BROKEN = [
    ("PeelingRange", "(INR (Nat.min (2 * k) (length l) - 1) * r)", "(INR k * r)"),
    ("Peeling", "(INR (Nat.min k (length l - 1)) * r)", "(INR (Nat.min k (length l - 2)) * r)"),
    ("Concentrated", "zCDP outcomes P P' (a ^ 2 / 8)", "zCDP outcomes P P' (a ^ 2 / 9)"),
    ("Unlisted", "(forall i, In i slots -> renamed i = true -> s i <= D /\\ s' i <= D)",
     "(forall i, In i slots -> renamed i = true -> s i <= D + 1 /\\ s' i <= D + 1)"),
    ("Slots", "(Nat.max (length rising) (length falling))", "(Nat.min (length rising) (length falling))"),
    ("FlippingRange", "r + 2 * ln (2 - exp (- (r / 2)))", "r + ln (2 - exp (- (r / 2)))"),
    ("Composition", "(a + 2 * e)", "(a + e)"),
    ("Choices", "(of_ranking candidates s') (2 * r)", "(of_ranking candidates s') r"),
    ("Joined", "(1 - exp (- ((E - eps) / 2)))", "(1 - exp (- (E - eps)))"),
    ("RangeConcentrated", "a / (1 - exp (- a)) - 1 - ln", "a / (1 - exp (- a)) - 1 - 2 * ln"),
    ("ManySteps", "a + 2 * (spent c (S n) h", "a + (spent c (S n) h"),
    ("Gumbel", "exp (- z) * exp (- exp (- z)).", "exp (- z) * exp (- (2 * exp (- z)))."),
    ("Boundaries", "Rbar_lt (upper j) (lower i).", "Rbar_lt (lower j) (lower i)."),
    ("Scanned", "bounded Y lower (fun _ => p_infty) rho kept", "bounded Y (fun _ => m_infty) lower rho kept"),
    ("Best", "NoDup (concat ls) -> Forall2 (best k) ls ws", "NoDup (concat ls) -> Forall2 (best (k - 1)) ls ws"),
    ("Skipping", "map (app (repeat true l)) (words (n - l))", "[repeat true n]"),
    ("Survivors", "* (1 - q) ^ (d - n).", "* (1 - q) ^ d."),
    ("Deferred", "share possible i question false * drawn", "/ 2 * drawn"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), BROKEN, ids=[f"{name} {new}" for name, _, new in BROKEN])
def test_a_broken_statement_does_not_compile(built: Path, tmp_path: Path, name: str, old: str, new: str) -> None:
    shutil.copytree(built, tmp_path / "copy")
    file = tmp_path / "copy" / f"{name}.v"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    said = coq.run(tmp_path / "copy", file.name)
    assert "Error" in said
    assert "Syntax error" not in said
