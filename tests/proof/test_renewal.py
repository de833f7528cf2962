"""A renewal shows what it accepts, against the pins that were committed."""

import subprocess
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.proof import readings
from proofs.tools import form
from proofs.tools.renewal import difference, is_quoted, renew, repin, reword

from .conftest import write

NAME, CHECKED = "inner/sums", "Sums are added exactly"
WHY = "the sum is exact for every limit"
HELPED = '''\
LIMIT = 7


def helper(x):
    """Words."""
    return x + LIMIT


# proof-region: sum
def add(a, b):
    return helper(a) + b  # [add]


# end-proof-region: sum
'''


def git(house: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(house), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(house: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "State"]):
        git(house, *command)


@pytest.fixture
def kept(house: Path) -> Path:
    """The checkout with its history."""
    write(house / "opendp_topk/inner/sums.py", HELPED)
    write(house / "proofs/other.tex", "\\postcondition\n\\begin{theorem}\\label{a} One. \\end{theorem}\n")
    text = "\\relieson[a]{other}\n\\pin{sum}{}\n\\postcondition Sums are added exactly.\n"
    write(house / "proofs/inner/sums.tex", text)
    assert repin(NAME) == 2
    commit(house)
    return house


def test_nothing_to_accept(kept: Path) -> None:
    assert "nothing" in difference(NAME)
    assert repin(NAME) == 0


def test_what_is_reached_is_shown(kept: Path) -> None:
    write(kept / "opendp_topk/inner/sums.py", HELPED.replace("LIMIT = 7", "LIMIT = 8").replace("Words", "Other words"))
    lines = difference(NAME).splitlines()
    assert lines[:2] == ["--- sum reaches LIMIT (pinned)", "+++ sum reaches LIMIT (now)"]
    assert [line for line in lines if line[0] in "-+"][2:] == ["-LIMIT = 7", "+LIMIT = 8"]


def test_the_region_and_the_origin_of_its_names_are_shown(kept: Path) -> None:
    changed = HELPED.replace("helper(a) + b", "helper(a) - b").replace("LIMIT = 7", "from math import e as LIMIT")
    write(kept / "opendp_topk/inner/sums.py", changed)
    shown = difference(NAME).splitlines()
    assert {"-    return helper(a) + b  # [add]", "+    return helper(a) - b  # [add]"} <= set(shown)
    assert {"-# LIMIT = LIMIT", "+# LIMIT = math.e"} <= set(shown)


def test_a_statement_on_which_it_relies_is_shown(kept: Path) -> None:
    write(kept / "proofs/other.tex", "\\postcondition\n\\begin{theorem}\\label{a} Two. \\end{theorem}\n")
    shown = difference(NAME)
    assert r"-\begin{theorem}\label{a} One. \end{theorem}" in shown
    assert r"+\begin{theorem}\label{a} Two. \end{theorem}" in shown


MARKED = r"""\relieson[a]{other}
\pin{sum}{}
\postcondition
\begin{theorem}\label{exact} Sums are added exactly. \end{theorem}
\checked{exact}{Sums.exact}{}{part: ``Sums are added''}
\end{document}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [("part: ``Sums are added''", "weaker: ``added exactly'', of few"), ("exactly. ", "exactly and fast. ")],
    ids=["remark", "theorem"],
)
def test_a_mark_is_renewed_by_whoever_quotes_its_new_words(kept: Path, old: str, new: str) -> None:
    """No code has changed: what the document says of a machine's statement, or its own theorem, has."""
    tex = kept / "proofs/inner/sums.tex"
    write(kept / "proofs/machine/Sums.v", "Theorem exact : True.\nProof.\nexact I.\nQed.\n")
    write(tex, MARKED)
    renew([(NAME, "Sums are added", "Theorem exact")], WHY, "A Reader")
    commit(kept)
    assert "nothing" in difference(NAME)
    write(tex, tex.read_text().replace(old, new))
    with pytest.raises(tk.errors.ProofError, match="no changed line"):
        renew([(NAME, CHECKED, "return helper(a)")], WHY, "A Reader")
    renew([(NAME, "Sums are added", new)], WHY, "A Reader")
    assert proof.machine_checks(NAME)[0].digest == proof.machine_checks(NAME)[0].current_digest
    assert not any("readings.jsonl" in problem for problem in form.problems(NAME))


def test_the_difference_is_to_the_pins_and_not_to_the_last_commit(kept: Path) -> None:
    write(kept / "opendp_topk/inner/sums.py", HELPED.replace("LIMIT = 7", "LIMIT = 8"))
    commit(kept)
    assert "+LIMIT = 8" in difference(NAME), "code that was committed without its pin is still to be accepted"
    repin(NAME)
    commit(kept)
    assert "nothing" in difference(NAME)


@pytest.mark.further
@pytest.mark.parametrize("both", [False, True], ids=["one side read", "both sides read"])
@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_what_a_merge_made_stale_is_shown(kept: Path, into: str, both: bool) -> None:
    """The pins of one side are kept: the change of the other side was not read with them."""
    code, tex, log = kept / "opendp_topk/inner/sums.py", kept / "proofs/inner/sums.tex", kept / "proofs/readings.jsonl"
    changes = {"ours": ("LIMIT = 7", "LIMIT = 8"), "theirs": ("return x + LIMIT", "return x - LIMIT")}
    start = git(kept, "rev-parse", "HEAD")
    pinned = lines = ""
    for side, (old, new) in changes.items():
        git(kept, "checkout", "-q", "-b", side, start)
        write(code, HELPED.replace(old, new))
        if side == "ours" or both:
            renew([(NAME, CHECKED, new)], WHY, "A Reader")
            lines += log.read_text()
        pinned = pinned or tex.read_text()
        commit(kept)
    git(kept, "checkout", "-q", into)
    git(kept, "merge", "-q", "--no-commit", "-s", "ours", "theirs" if into == "ours" else "ours")
    write(code, HELPED.replace(*changes["ours"]).replace(*changes["theirs"]))
    write(tex, pinned)
    write(log, lines)
    commit(kept)
    proof.clear_cache()
    assert len(git(kept, "log", "-1", "--format=%P").split()) == 2
    found = difference(NAME)
    assert ("+    return x - LIMIT" in found, "LIMIT = 7" in found, "+LIMIT" in found) == (True, False, False)
    renew([(NAME, CHECKED, "return x - LIMIT")], WHY, "A Reader")
    commit(kept)
    assert "nothing" in difference(NAME)


@pytest.mark.further
def test_a_merge_of_two_readings_is_read_again(kept: Path) -> None:
    """Each side has its own pins in the document, and the log has no line for both together."""
    write(kept / "proofs/machine/Sums.v", "Theorem exact : True.\nProof.\nexact I.\nQed.\n")
    tex, log = kept / "proofs/inner/sums.tex", kept / "proofs/readings.jsonl"
    write(tex, MARKED)
    renew([(NAME, "Sums are added", "Theorem exact")], WHY, "A Reader")
    commit(kept)
    start, read, texts = git(kept, "rev-parse", "HEAD"), log.read_text(), []
    for side, name, old, new in (
        ("ours", "opendp_topk/inner/sums.py", "return x + LIMIT", "return x - LIMIT"),
        ("theirs", "proofs/inner/sums.tex", "part: ``Sums are added''", "weaker: ``added exactly'', of few"),
    ):
        git(kept, "checkout", "-q", "-b", side, start)
        write(kept / name, (kept / name).read_text().replace(old, new))
        renew([(NAME, "Sums are added", new)], WHY, "A Reader")
        texts.append((tex.read_text(), log.read_text().removeprefix(read)))
        commit(kept)
    git(kept, "merge", "-q", "--no-commit", "-s", "ours", "ours")
    code = git(kept, "show", "ours:opendp_topk/inner/sums.py")
    write(kept / "opendp_topk/inner/sums.py", code + "\n")
    write(tex, texts[0][0].replace("part: ``Sums are added''", "weaker: ``added exactly'', of few"))
    write(log, read + texts[0][1] + texts[1][1])
    commit(kept)
    proof.clear_cache()
    assert any("without a line in readings.jsonl" in problem for problem in form.problems(NAME))
    renew([(NAME, "Sums are added", "weaker: ``added exactly'', of few")], WHY, "A Reader")
    assert not any("without a line in readings.jsonl" in problem for problem in form.problems(NAME))


def test_without_history_all_is_new(house: Path) -> None:
    shown = difference(NAME)
    assert shown.startswith("no commit holds")
    assert "+    return a + b  # [add]" in shown


def test_the_command_shows_what_it_accepts(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(kept / "opendp_topk/inner/sums.py", HELPED.replace("LIMIT = 7", "LIMIT = 8"))
    form.main(["--difference", NAME])
    assert "+LIMIT = 8" in capsys.readouterr().out
    assert not proof.code_hashes(NAME)[0].is_current
    form.main(["--repin", NAME, "Sums are added", "LIMIT = 8", "--because", WHY, "--by", "Ada"])
    assert "-LIMIT = 7\n+LIMIT = 8" in capsys.readouterr().out
    assert proof.code_hashes(NAME)[0].is_current


@pytest.mark.parametrize("step", [difference, repin])
def test_no_such_document(house: Path, step: object) -> None:
    with pytest.raises(tk.errors.ProofError, match="inner/nothing"):
        step("inner/nothing")  # type: ignore[operator]


def test_a_pin_knows_its_document(kept: Path) -> None:
    (pin,) = proof.code_hashes(NAME)
    assert (pin.document, pin.is_current, pin.current_digest) == (NAME, True, pin.digest)


def test_old_words_are_shown_from_the_history(kept: Path) -> None:
    tex = "\\postcondition\n\\begin{theorem}\\label{a} One thing. \\end{theorem}\n"
    write(kept / "proofs/other.tex", tex)
    assert proof.drifted_statements(NAME) == ["other#a"]
    shown = reword("other#a", "it is one thing", "Ada")
    assert r"-\begin{theorem}\label{a} One. \end{theorem}" in shown
    assert r"+\begin{theorem}\label{a} One thing. \end{theorem}" in shown
    assert proof.drifted_statements(NAME) == []
    write(kept / "proofs/other.tex", tex.replace("One thing", "One thing, then"))
    reword("other", "it is still one thing", "Ada")
    assert proof.drifted_statements(NAME) == []
    assert [line.old for line in readings.read_review_log() if isinstance(line, readings.Rewording)] == [
        proof.recorded_reliances(NAME)["other#a"]
    ] * 2


@pytest.mark.parametrize("line", ["{", "[]", '{"document": "a"}', '{"statement": "a", "old": "b", "more": 1}'])
def test_a_log_that_is_none(kept: Path, line: str) -> None:
    write(readings.review_log_path(), line + "\n")
    with pytest.raises(tk.errors.ProofError, match="line 1 of"):
        readings.read_review_log()


def test_a_quote_is_three_words_of_the_document_or_a_tag_that_it_cites(house: Path) -> None:
    text = "By \\codetag{range}, all of it\n is bounded by [0, 1] and [a, b] too, as (k) says."
    write(house / "proofs/inner/quoted.tex", text)
    quoted = "[range]", "all of it is", "is bounded by [0, 1]", "[0, 1] and [a, b] too"
    others = "[reach]", "range", "all of", "all of them is", "by [0, 1] and [a, c]", "one two three"
    for quote in (*quoted, *others):
        assert is_quoted("inner/quoted", quote) == (quote in quoted), quote


def test_the_command_lists_faults_of_documents_named_or_of_all(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(house / "proofs/inner/other.tex", "\\relieson{inner/nowhere}\nText.\n\\pin{sum}{0123456789abcdef}\n")
    for named in (["inner/other"], ["inner/sums", "inner/other"], []):
        assert form.main(named) == 1
        said = capsys.readouterr().out
        assert "inner/other.tex relies on inner/nowhere.tex, which does not exist" in said
        assert "nothing is wrong" not in said
