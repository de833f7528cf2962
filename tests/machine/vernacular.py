"""The sources for the proof assistant as sentences, and the kinds of sentence that they may hold.

Everything that could make a theorem say less than it seems to, or hold without a proof, is refused by not being listed:
options (``Unset Guard Checking``), axioms, plugins, notations inside of proofs, and whatever Coq may know besides.
"""

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_SENTENCE = re.compile(r"\.(?=\s|\Z)")
_LIBRARIES = "Reals|List|Lra|Lia|Bool|Arith|ZArith|Permutation|Sorted|FunctionalExtensionality|Coquelicot|Rbar"
_STATED = r"(?:Theorem|Lemma) \w+\b.*"
_ALLOWED = [
    rf"From (?:Coq|Coquelicot) Require Import (?:{_LIBRARIES})(?: (?:{_LIBRARIES}))*",
    r"From Coquelicot Require Rcomplements",
    r"From Interval Require Import (?:Xreal|Interval|Sig)(?: (?:Xreal|Interval|Sig))*",
    r"From Machine Require Import \w+(?: \w+)*",
    r"Import ListNotations",
    r"Open Scope R_scope",
    r"(?:Definition|Fixpoint) \w+'?\b[^\"]* := [^\"]*",
    r"Inductive \w+\b[^\"]*",
    r"Record \w+ := \{[^\"]*\}",
    r"Implicit Types [^\"]*",
    r"Section \w+",
    # Over any intervals that keep what the library's signature promises, and never with one of ours.
    r"Module \w+ \(In : IntervalOps\)",
    r"Module \w+ := \w+ In",
    r"End \w+",
    # Of a word, never of a symbol, so that what the libraries write keeps its meaning.
    r"Notation (?:\w+'?(?: \w+)*|\"'\w+'*'\") := \([^\"]*\)",
    r"Notation \w+ := \w+\.\w+",
]  # fmt: skip
_IN_A_SECTION = r"(?:Context|Hypothesis|Variables?) [^\"]*"  # outside of one these are axioms
_TACTIC = re.compile(r"(?:[-+*{}]+ *|(?:all|\d+): *)*+(?:[a-z(\[].*)?")
_UNFINISHED = re.compile(r"\b(?:admit|give_up|Admitted|Abort)\b")


def sentences(text: str) -> list[str]:
    """The sentences of a source, with single spaces and without comments."""
    return [" ".join(one.split()) for one in _SENTENCE.split(_COMMENT.sub("", text)) if one.strip()]


def refused(text: str) -> Iterator[str]:
    """The sentences of a source that it may not hold."""
    opened: list[str] = []
    proving, stated = False, False
    for one in sentences(text):
        if proving:
            fine = one == "Qed" or (_TACTIC.fullmatch(one) is not None and not _UNFINISHED.search(one))
            proving = one != "Qed"
        elif stated:
            fine = proving = one == "Proof"
            stated = False
        else:
            stated = re.fullmatch(_STATED, one) is not None and '"' not in one
            fine = stated or any(re.fullmatch(kind, one) for kind in _ALLOWED)
            fine = fine or (opened[-1:] == ["Section"] and re.fullmatch(_IN_A_SECTION, one) is not None)
            if re.match(r"(?:Section|Module) \w+(?: \(|\Z)", one):
                opened.append(one.split()[0])
            if one.startswith("End ") and opened:
                opened.pop()
        if not fine:
            yield one
    if proving or stated:
        yield "a proof that does not end"
