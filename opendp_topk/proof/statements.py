"""What a proof document states, and on which statements of others it relies.

A statement is the text of a theorem together with the hypotheses of its document. Layout and comments do not
belong to it: any other change makes another statement.
"""

from __future__ import annotations

import hashlib
import re

CHECKED = re.compile(r"\\checked\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%.*")
_RELIES = re.compile(r"\\relieson(?:\[([^\[\]]*)\])?\{([^{}]*)\}")
_KINDS = "theorem|lemma|corollary|proposition|definition|remark|example"
_ENVIRONMENT = re.compile(rf"\\begin\{{({_KINDS})\}}.*?\\end\{{\1\}}", re.DOTALL)
_PARTS = re.compile(r"\\(precondition|pseudocode|postcondition|proofs|runtimeerrors|references)\b")

Relation = tuple[str, str]


def uncommented(text: str) -> str:
    """The text of a document without its comments."""
    return "\n".join(_COMMENT.sub("", line) for line in text.splitlines())


def relations(text: str) -> list[Relation]:
    """The documents on which ``text`` relies, each with the label of the theorem (empty: the whole document)."""
    return sorted({(target, label) for label, target in _RELIES.findall(text)})


def theorem(text: str, label: str) -> str:
    """The theorem with this label, with single spaces; the empty text where the label is that of none."""
    found = (match[0] for match in _ENVIRONMENT.finditer(text) if rf"\label{{{label}}}" in match[0] and label)
    return " ".join(next(found, "").split())


def statement(text: str, label: str) -> str:
    """The hypotheses of the document, and the theorem with this label (empty: all that the document states).

    A label outside of theorems stands for all that the document states, too. That a machine has checked a theorem is no
    part of what it states.
    """
    text = CHECKED.sub("", text)
    parts = _parts(text)
    stated = theorem(text, label) or parts.get("postcondition", "")
    return " ".join((parts.get("precondition", "") + " " + stated).split())


def statement_digest(text: str, label: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a statement."""
    return hashlib.sha256(statement(text, label).encode()).hexdigest()[:16]


def _parts(text: str) -> dict[str, str]:
    marks = list(_PARTS.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=False)}
