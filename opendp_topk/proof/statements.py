"""Read the statements of a proof document, and the statements of other documents that it relies on.

A statement is the text of a theorem together with the hypotheses of its document. Layout and comments are not part of
it; any other change gives another statement.
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


def strip_comments(text: str) -> str:
    """Return the text of a document without its comments."""
    return "\n".join(_COMMENT.sub("", line) for line in text.splitlines())


def find_relations(text: str) -> list[Relation]:
    """Return the documents on which ``text`` relies, each with the label of the theorem (empty: the whole document)."""
    return sorted({(target, label) for label, target in _RELIES.findall(text)})


def find_theorem(text: str, label: str) -> str:
    """Return the theorem with this label, with single spaces; the empty string if there is none."""
    found = (match[0] for match in _ENVIRONMENT.finditer(text) if rf"\label{{{label}}}" in match[0] and label)
    return " ".join(next(found, "").split())


def statement_text(text: str, label: str) -> str:
    """Return the document's hypotheses and the theorem with this label (empty: all that the document states).

    A label outside of theorems also means all that the document states. The mark that a machine has checked a theorem
    is not part of its statement.
    """
    text = CHECKED.sub("", text)
    parts = _split_sections(text)
    stated = find_theorem(text, label) or parts.get("postcondition", "")
    return " ".join((parts.get("precondition", "") + " " + stated).split())


def statement_digest(text: str, label: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a statement."""
    return hashlib.sha256(statement_text(text, label).encode()).hexdigest()[:16]


def _split_sections(text: str) -> dict[str, str]:
    marks = list(_PARTS.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=False)}
