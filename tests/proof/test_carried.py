"""Privacy is told apart from what else a document states, by following what each proof cites."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.errors import ProofError
from opendp_topk.proof import latex, library
from opendp_topk.proof.status import other_foundations, supporting_documents, supporting_statements
from tests.concepts.sentinels import raises_exactly
from tests.pages import reading_list

from .conftest import write

BASE = r"""\begin{document}\precondition\relieson{ground}
\begin{definition}\label{defined}See \relieson{defining}.\end{definition}
\begin{theorem}[Cost]\label{privacy}It costs what \Cref{step} says.\end{theorem}
\begin{theorem}[Law]\label{law}Its law is that of \relieson[law]{laws}.\end{theorem}
\begin{lemma}\label{step}A step.\end{lemma}
\begin{proof}By \eqref{sum} and \relieson[cost]{costs}.\end{proof}
\begin{lemma}\label{unused}\relieson{unused}\end{lemma}
\begin{proof}[Proof of \Cref{law}]\relieson{accuracies}\end{proof}
\begin{lemma}\label{other}\end{lemma}
\begin{proof}[Proof of \Cref{other}]\begin{equation}\label{sum}\end{equation}\relieson{sums}\end{proof}
% \relieson{commented}
\end{document}"""
COSTS = r"""\begin{theorem}\label{cost}x\end{theorem}\begin{proof}\relieson[item]{deep}\end{proof}
\begin{theorem}\label{batches}y\end{theorem}\begin{proof}\relieson{batches}\end{proof}"""
DEEP = r"""\item\label{item}
\begin{theorem}\label{t}\relieson{unused}\end{theorem}\begin{lemma}\relieson{nameless}\end{lemma}"""


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    names = ("ground", "defining", "laws", "accuracies", "unused", "sums", "batches", "nameless")
    texts = {"base": BASE, "costs": COSTS, "deep": DEEP} | dict.fromkeys(names, r"\begin{theorem}z\end{theorem}")
    for name, text in texts.items():
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
    monkeypatch.setattr(library, "documents_folder", lambda: tmp_path)
    proof.clear_cache()
    yield tmp_path
    monkeypatch.undo()
    proof.clear_cache()


def test_the_proofs_of_one_statement_are_followed(staged: Path) -> None:
    assert supporting_documents("base") == ["base", "costs", "deep", "defining", "ground", "nameless", "sums"]
    assert other_foundations("base") == ["accuracies", "batches", "laws", "unused"]
    assert ("costs", "cost") in supporting_statements("base", "privacy")
    assert ("costs", "batches") not in supporting_statements("base", "privacy")


def test_a_whole_document_is_all_that_it_states(staged: Path) -> None:
    (staged / "base.tex").write_text(BASE.replace("[cost]{costs}", "{costs}"), encoding="utf-8")
    proof.clear_cache()
    assert "batches" in supporting_documents("base")


def test_a_citation_that_is_added_is_in_the_reading_list(staged: Path) -> None:
    before = {name: (labels, words) for name, labels, words in reading_list.read(("base", "privacy"))}
    assert list(before).index("base") == 0 < list(before).index("costs") < list(before).index("deep")
    assert before["costs"][0] == ["cost"]
    assert "batches" not in before
    planted = BASE.replace("[cost]{costs}", r"[cost]{costs} and \relieson[batches]{costs}")
    (staged / "base.tex").write_text(planted, encoding="utf-8")
    proof.clear_cache()
    after = {name: (labels, words) for name, labels, words in reading_list.read(("base", "privacy"))}
    assert after.keys() - before.keys() == {"batches"}
    assert after["costs"] == (["batches", "cost"], before["costs"][1] + 2)  # "y" and what its proof cites


def test_a_reviewer_of_the_default_reads_less_than_25_documents_and_30000_words() -> None:
    found = reading_list.read()
    assert found[0][0] == "measurements/report_noisy_top_k"
    assert len(found) < 25
    assert sum(words for *_, words in found) < 30_000


def test_a_law_that_privacy_needs_carries_it(staged: Path) -> None:
    (staged / "base.tex").write_text(BASE.replace(r"\Cref{step} says", r"\Cref{step,law} says"), encoding="utf-8")
    proof.clear_cache()
    assert {"laws", "accuracies"} <= set(supporting_documents("base"))


def test_where_no_privacy_is_stated_nothing_is_told_apart(staged: Path) -> None:
    assert supporting_documents("costs") == other_foundations("costs") == []


def test_one_shot_selection_is_private_whatever_is_known_of_laws_accuracy_success_and_batches() -> None:
    name = "measurements/report_noisy_top_k"
    laws = [f"distributions/{one}" for one in ("one_shot_success", "quadrature", "series", "union_bound")]
    assert other_foundations(name) == [*laws, "numerics/floatexp", "samplers/merge", "samplers/rows"]
    assert {"core/chaining", "measurements/selection", "samplers/race", "samplers/entropy"} <= set(
        supporting_documents(name)
    )


def test_one_proof_carries_the_privacy_of_all_that_are_one_selection() -> None:
    """Peeling adds the law of peeling, and what draws it with permute-and-flip."""
    names = ("report_noisy_top_k", "exponential_mechanism", "permute_and_flip", "peeled_top_k")
    rests = {name: set(supporting_documents(f"measurements/{name}")) - {f"measurements/{name}"} for name in names}
    common = rests["report_noisy_top_k"]
    assert "measurements/selection" in common
    assert rests.pop("peeled_top_k") == common | {"distributions/peeled", "samplers/peeled"}
    assert {name for name, found in rests.items() if found != common} == set()


def test_each_document_of_a_combinator_carries_privacy() -> None:
    """Whatever its statements are called, and with it what it relies on."""
    names = [name for name in proof.document_names() if name.startswith(("combinators/", "bridge/"))]
    assert len(names) >= 15
    assert [name for name in names if name not in supporting_documents(name)] == []
    assert {"combinators/composition", "core/chaining"} <= set(supporting_documents("combinators/repeat"))
    assert {"combinators/rules", "core/chaining"} <= set(supporting_documents("combinators/composition"))


@pytest.mark.further
def test_what_carries_privacy_is_among_what_is_rested_on() -> None:
    stated = [name for name in proof.document_names() if supporting_documents(name)]
    assert len(stated) >= 35
    for name in stated:
        assert name in supporting_documents(name)
        assert set(supporting_documents(name)) <= {name, *proof.document_foundations(name)}
        assert not set(other_foundations(name)) & set(supporting_documents(name))


# How LaTeX is run: until labels settle, and what it says if they do not or it fails. The LaTeX here is made up.


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
    endless = partial(ran, lambda n: (f"labels of {n}", "", 0, ""))
    raises_exactly(ProofError, endless, "proofs/made/up.tex", "still change after 6 runs")


def test_an_error_is_told_in_the_words_of_the_log_or_by_the_last_ones(ran: Callable[[Run], list[list[str]]]) -> None:
    found = raises_exactly(
        ProofError, lambda: ran(lambda n: ("", "", 1, "a" * 100 + "b" + "c" * 799)), "proofs/made/up.tex does not build"
    )
    assert str(found).endswith(": b" + "c" * 799)
    for log, code in (("text\n! Undefined control sequence.\n", 1), ("LaTeX Warning: There were undefined refs.\n", 0)):
        found = raises_exactly(ProofError, lambda log=log, code=code: ran(lambda n: ("", log, code, "last words")))
        assert str(found).endswith(": " + log.splitlines()[-1])


def test_what_latex_is_given_and_what_it_makes(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str] = {}

    def run(command: list[str], *, cwd: Path, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        search = f".{os.pathsep}{house / 'proofs'}{os.pathsep}"
        assert all(env[name] == search + os.environ.get(name, "") for name in ("TEXINPUTS", "BIBINPUTS"))
        if "-jobname=document" in command:
            given.update({path.name: path.read_text("ascii") for path in cwd.iterdir()})
            (cwd / "document.pdf").touch()
        return subprocess.CompletedProcess(command, 0, "")

    rows = r"\coderow{a}{It adds.}{inner/sums}{}{sum}{add} \coderow{b}{So does it.}{inner/sums}{}{sum}{}"
    head = "\\documentclass[11pt]{article}\n\\usepackage{preamble}\n"
    write(house / "proofs/inner/sums.tex", head + rows + "\n\\pin{sum}{}")
    write(house / "proofs/preamble.sty", f"% {house}")  # no other test has loaded it
    monkeypatch.setattr(shutil, "which", {"pdflatex": "here"}.get)
    assert "requires bibtex: " in latex.missing_tex_message()
    monkeypatch.setattr(latex, "missing_tex_message", str)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "no style"))
    raises_exactly(ProofError, lambda: latex.build_pdf("inner/sums"), "preamble.sty cannot be loaded: no style")
    monkeypatch.setattr(subprocess, "run", run)
    assert latex.build_pdf("inner/sums", house / "new") == house / "new/inner-sums.pdf"
    assert (house / "new/inner-sums.pdf").is_file()
    assert given["pin-1.py"] == "def add(a, b):\n    return a + b  # (*@\\pintag{add}@*)\n"
    assert r"\detokenize{inner/sums.py}" in given["pin-1.tex"]
    places = [line.partition("nolinkurl")[2] for line in given["regions.tex"].splitlines()]
    assert places == ["{inner/sums.py:6}}", "{inner/sums.py:5-6}}"]
