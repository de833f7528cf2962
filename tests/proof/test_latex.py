"""How LaTeX is run: until labels settle, and what it says if they do not or it fails. The LaTeX here is made up."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.errors import ProofError
from opendp_topk.proof import latex
from tests.concepts.sentinels import raises_exactly

Run = Callable[[int], tuple[str, str, int, str]]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], list[list[str]]]:
    """The commands that build a document, of whose n-th run ``of`` tells labels, log, exit code and last words."""
    style = f"% {tmp_path}\n" + r"\newcommand{\references}{\bibliographystyle{plain}\bibliography{references}}"
    (tmp_path / "preamble.sty").write_text(style, encoding="utf-8")  # no other test has loaded it
    (room := tmp_path / "room").mkdir()
    monkeypatch.setattr(proof, "documents_folder", lambda: tmp_path)

    def build(of: Run, text: str = "Nothing is cited.") -> list[list[str]]:
        commands: list[list[str]] = []
        (room / "document.tex").write_text(text, encoding="utf-8")

        def run(inside: Path, *command: str) -> subprocess.CompletedProcess[str]:
            if "-jobname=preloaded" in command:
                text = (inside / "document.tex").read_text(encoding="utf-8")
                assert text.splitlines() == [r"\documentclass[11pt]{article}", r"\usepackage{preamble}", r"\dump"]
                return subprocess.CompletedProcess(command, 0, "")
            commands.append(list(command))
            if command[0] == "bibtex":
                commands[-1] += (inside / "document.aux").read_text(encoding="utf-8").splitlines()
                return subprocess.CompletedProcess(command, 0, "")
            labels, log, code, said = of(sum(one[0] == "pdflatex" for one in commands))
            (inside / "document.aux").write_text(labels, encoding="latin-1")
            if log:
                (inside / "document.log").write_text(log, encoding="latin-1")
            return subprocess.CompletedProcess(command, code, said)

        monkeypatch.setattr(latex, "_run_tex_command", run)
        latex._run_latex("made/up", room)
        return commands

    return build


@pytest.mark.parametrize("settled", [1, 2, 4])
def test_it_runs_until_labels_stay_what_they_are(ran: Callable[[Run], list[list[str]]], settled: int) -> None:
    commands = ran(lambda n: (f"labels of {min(n, settled)}", "This is a log.", 0, ""))
    assert [one[0] for one in commands] == ["pdflatex"] * (settled + 1)
    assert ["-draftmode" in one for one in commands] == [True] + [False] * settled


def test_what_is_cited_is_looked_up_once_before_all_runs(ran: Callable[[Run], list[list[str]]]) -> None:
    text = r"By \cite{somebody} and \cite[Theorem~1]{a,b}."
    first, *others = ran(lambda n: ("labels", "This is a log.", 0, ""), text)
    cited = [r"\citation{somebody}", r"\citation{a,b}", r"\bibstyle{plain}", r"\bibdata{references}"]
    assert first == ["bibtex", "document", *cited]
    assert [one[0] for one in others] == ["pdflatex", "pdflatex"]


def test_labels_that_never_settle_are_an_error(ran: Callable[[Run], list[list[str]]]) -> None:
    raises_exactly(
        ProofError, lambda: ran(lambda n: (f"labels of {n}", "", 0, "")), "proofs/made/up.tex", "after each of 6 runs"
    )


def test_an_error_is_told_in_the_words_of_the_log_or_by_the_last_ones(ran: Callable[[Run], list[list[str]]]) -> None:
    found = raises_exactly(
        ProofError, lambda: ran(lambda n: ("", "", 1, "a" * 100 + "b" + "c" * 799)), "proofs/made/up.tex does not build"
    )
    assert str(found).endswith(": b" + "c" * 799)
    for log, code in (("text\n! Undefined control sequence.\n", 1), ("LaTeX Warning: There were undefined refs.\n", 0)):
        found = raises_exactly(ProofError, lambda log=log, code=code: ran(lambda n: ("", log, code, "last words")))
        assert str(found).endswith(": " + log.splitlines()[-1])
