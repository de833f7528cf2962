"""A proof assistant accepts what the documents call checked, and rejects the claims that are known to be false."""

import shutil
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof import machine

from . import coq, vernacular

MARKS = [check for name in proof.document_names() for check in proof.machine_checks(name)]


def test_documents_of_every_theme_are_marked() -> None:
    assert len({check.theorem for check in MARKS}) >= 30
    assert {check.theorem.split(".")[0] for check in MARKS} <= set(coq.SOURCES)


def test_sources_hold_what_is_allowed_and_nothing_else() -> None:
    for name in coq.SOURCES:
        text = (machine.machine_sources_folder() / f"{name}.v").read_text("utf-8")
        assert list(vernacular.refused(text)) == [], name
        assert len(vernacular.sentences(text)) > 10


EASY = "Theorem easy : True.\nProof. {} exact I. Qed.\n"
LOOP = "Unset Guard Checking.\nFixpoint loop (n : nat) : False := loop n.\n"
LOOPING = LOOP + "Theorem wrong : 1 = 2.\nProof. destruct (loop 0). Qed.\n"
TRUE = 'Lemma easy : True.\nProof. Notation "a = b" := True : type_scope. exact I. Qed.\n'
EMPTIED = TRUE + "Theorem wrong : 1 = 2.\nProof. exact I. Qed.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LOOPING, "Unset Guard Checking"),
        (EMPTIED, 'Notation "a = b" := True : type_scope'),
        (EASY.format("- Unset Guard Checking."), "- Unset Guard Checking"),
        (EASY.format("{ Local Notation x := I."), "{ Local Notation x := I"),
        (EASY.format("all: Set Printing All."), "all: Set Printing All"),
        (EASY.format("admit."), "admit"),
        (EASY.format("all: give_up."), "all: give_up"),
        ("Unset Positivity Checking.\n", "Unset Positivity Checking"),
        ("Unset Universe Checking.\n", "Unset Universe Checking"),
        ("Set Universe Polymorphism.\n", "Set Universe Polymorphism"),
        ("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.\n", None),
        ("Axiom a : False.\n", "Axiom a : False"),
        ("Parameter a : False.\n", "Parameter a : False"),
        ("Module M (In : IntervalOps).\nHypothesis a : False.\nEnd M.\n", "Hypothesis a : False"),
        ("Module M (In : Falsehoods).\nEnd M.\n", "Module M (In : Falsehoods)"),
        ("Hypothesis a : False.\n", "Hypothesis a : False"),
        ("Section S.\nEnd S.\nVariable a : False.\n", "Variable a : False"),
        ("Theorem wrong : False.\nProof. Admitted.\n", "Admitted"),
        ("Theorem wrong : False.\nAdmitted.\n", "Admitted"),
        ("Definition wrong : False.\n", "Definition wrong : False"),
        ('Declare ML Module "plugin".\n', 'Declare ML Module "plugin"'),
        ('Load "other".\n', 'Load "other"'),
        ("From Coq Require Import Extraction.\n", "From Coq Require Import Extraction"),
        ("From Other Require Import Laws.\n", "From Other Require Import Laws"),
        ('Notation "a <= b" := (True).\n', 'Notation "a <= b" := (True)'),
        ('Infix "<=" := other.\n', 'Infix "<=" := other'),
        ("Open Scope nat_scope.\n", "Open Scope nat_scope"),
        ("Theorem wrong : False.\nProof. exact I.\n", "a proof that does not end"),
    ],
)
def test_what_a_source_may_not_hold(text: str, said: str | None) -> None:
    found = list(vernacular.refused(text))
    assert found
    assert said is None or said in found


def test_comments_and_proofs_may_say_anything_that_does_nothing() -> None:
    assert list(vernacular.refused("(* Axiom a : False. *)\n" + EASY.format("idtac.\n  - auto; now left."))) == []


@pytest.mark.slow
def test_the_checker_accepts_what_was_compiled(built: Path) -> None:
    """It looks at the compiled files again, and says what they take on trust."""
    said = coq.unsafe(coq.checked(built, coq.SOURCES))
    assert len(said) == 5
    assert not any(said.values())


@pytest.mark.slow
def test_what_was_recorded_is_what_compiles(built: Path) -> None:
    """Checked by machine means: this file was compiled, and the theorem is printed like this."""
    then = machine.load_compiled_record()
    assert then["sources"] == {name: machine.source_digest(name) for name in coq.SOURCES}
    assert then["types"] == coq.types(built, {check.theorem for check in MARKS})


@pytest.mark.slow
def test_a_loop_that_is_not_guarded_is_noticed(built: Path) -> None:
    """By the checker; in the list of axioms of this version it does not appear."""
    (built / "Planted.v").write_text(LOOPING, "utf-8")
    assert coq.run(built, "Planted.v") == ""
    trusted = coq.unsafe(coq.checked(built, ["Planted"]))
    assert "Machine.Planted.loop" in trusted["Constants/Inductives relying on unsafe (co)fixpoints"]


@pytest.mark.slow
def test_a_notation_that_empties_a_statement_is_noticed(built: Path) -> None:
    """By the type as it is printed without notations."""
    (built / "Emptied.v").write_text(EMPTIED, "utf-8")
    assert coq.run(built, "Emptied.v") == ""
    assert coq.types(built, ["Emptied.wrong"]) == {"Emptied.wrong": "True"}


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
    ("Jumps", "if Rle_dec 0 z then h z else 0.", "if Rle_dec 0 z then h z else 1."),
    ("OneShot", "sum (released l s) (rankings k l) = 1", "sum (released l s) (rankings k l) = 1 / 2"),
    ("OneShotLoss", "(INR (Nat.min k (length l - 1)) * r)", "(INR (Nat.min k (length l - 2)) * r)"),
    ("Noises", "exp (- Rabs z) / 2.", "exp (- (2 * Rabs z))."),
    ("TwoSided", "exp (- Rabs (z - w)) * f w <= f z.", "exp (- Rabs (z - w) / 2) * f w <= f z."),
    ("Costs", "laplace_noise | logistic_noise => Nat.min", "laplace_noise | half_logistic_noise => Nat.min"),
    ("Cells", "<= 2 * INR N.", "<= INR N."),
    ("Cells", "<= 4 * INR (2 * M).", "<= 3 * INR (2 * M)."),
    ("Parts", "+ e + F (low - s) + eps.", "+ F (low - s) + eps."),
    ("Counted", "INR (S (c i)) <= INR N * F (v - s i).", "INR (S (S (c i))) <= INR N * F (v - s i)."),
    ("FromDigits", "ranking (beats (noisy z)) k l y -> E y = true.", "ranking (beats (noisy z)) k l y -> E y = false."),
    ("FromDigits", "<= B * INR (length l) ^ 2 / INR N.", "<= B * INR (length l) / INR N."),
    ("Mirrored", "F (- z) = 1 - F z.", "F (- z) = F z."),
    ("Mirrored", "(INR (Nat.min k (length l - k)) * r)", "(INR (Nat.min k (length l - k) - 1) * r)"),
    ("End", "exp (INR (steps d k n) * (rho / tau))", "exp (INR (steps d k n - 1) * (rho / tau))"),
    ("Costs", "logistic_noise => Nat.min k (d - k)", "logistic_noise => Nat.min k (d - k) - 1"),
    ("End", "(rho / tau)) *\n      (releasing d A eq digits race' a + not_ended d A digits race').",
     "(rho / tau)) *\n      releasing d A eq digits race' a."),
    ("End", "INR (set_steps d k n) * (rho / tau)", "INR (set_steps d k n - 1) * (rho / tau)"),
    ("End", "INR (width d k n) * (rho / tau)", "INR (width d k n - 1) * (rho / tau)"),
    ("End", "alpha * (alpha - 1) * concentrated", "alpha * (alpha - 1) / 2 * concentrated"),
    ("Costs", "gumbel_noise => Nat.min (2 * k) d - 1", "gumbel_noise | laplace_noise => Nat.min (2 * k) d - 1"),
    ("Costs", "if Rle_dec u 0 then 0 else v", "if Rle_dec u 0 then 1 else v"),
    ("End", "INR (steps d k n) * (rho / (IZR P / IZR q))", "INR (steps d k n - 1) * (rho / (IZR P / IZR q))"),
    ("End", "4 * INR d ^ 2 / 2 ^ digits", "2 * INR d ^ 2 / 2 ^ digits"),
    ("End", "drawn_outcome d A eq digits p' a + drawn_none d A digits p'", "drawn_outcome d A eq digits p' a"),
    ("Tables", "P * high m' <? a i * q * D + P * low m", "P * low m' <? a i * q * D + P * low m"),
    ("Tables", "forallb (ahead c i) (without i m)", "existsb (ahead c i) (without i m)"),
    ("Tables", "(high m <? low (S (S m)))", "(high m <? low (S m))"),
    ("Tables", "narrow digits low high = true.\nProof.", "narrow (S digits) low high = true.\nProof."),
    ("Tables", "(forall c, table_race c <> None -> at_once d A digits p c <> None)",
     "(at_once d A digits p <> table_race)"),
    ("Adaptive", "forall answer, careful (narrowed known i question answer) (next answer)",
     "careful (narrowed known i question true) (next true)"),
    ("Adaptive", "asks_of d p ->\n  drawn f", "drawn f"),
    ("EndRace", "if (0 <? m)%nat then Some (low m) else None", "None"),
    ("EndRace", "(released race' y + not_ended d (list nat) digits race')", "released race' y"),
    ("Executable", "(lo e <? hi e)%Z", "(lo e <=? hi e)%Z"),
    ("Executable", "In.ln prec (ratio prec c (N - c))", "In.ln prec (ratio prec c N)"),
    ("Executable", "(h, (Z.max best (score e), i :: members))", "(h, (Z.min best (score e), i :: members))"),
    ("Executable", "if forallb (behind best) others then", "if true then"),
    ("Unknown", "exp (INR k * r)", "exp (INR (k - 1) * r)"),
    ("Unknown", "(INR n * exp r + exp (t / tau))", "(INR n * exp r + exp (2 * (t / tau)))"),
    ("Unknown", "f i = i)", "f i = f i)"),
    ("FlippingRange", "<= 2 * r.", "<= r."),
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
