r"""Find the documents that support one statement, such as its privacy, apart from a document's other statements.

Citations in a proof belong to the statement that it proves: ``\relieson`` cites statements of other documents, and
``\Cref`` those of its own. Text outside of statements and proofs, definitions, and statements without a label belong to
all statements of their document. If a whole document is cited, all of its statements are.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from . import library
from .statements import Relation, find_relations

PRIVACY = "privacy"
"""Label of the statement of a measurement's privacy loss in its document."""
_COMBINING = ("combinators", "bridge")
"""Folders of documents about measurements only: if no statement has this label, all of them support it."""
_STATED = "theorem|lemma|corollary|proposition|remark|example"
_BLOCK = re.compile(rf"\\begin\{{({_STATED}|proof)\}}(?:\[((?:[^\[\]]|\[[^\[\]]*\])*)\])?(.*?)\\end\{{\1\}}", re.DOTALL)
_CITED = re.compile(r"\\(?:[cC]ref|eqref|ref)\{([^{}]*)\}")
_LABEL = re.compile(r"\\label\{([^{}]*)\}")


def supporting_documents(name: str) -> list[str]:
    """Return the documents that support the privacy proved in ``name``, including itself, sorted.

    Empty if no statement has the label for privacy, for example if the document is not about a measurement. In folders
    of documents about measurements only, all statements support privacy if none has the label.
    """
    if (
        PRIVACY not in _split_statement_blocks(library.documents_folder(), name)[0]
        and name.partition("/")[0] not in _COMBINING
    ):
        return []
    return sorted({document for document, _ in supporting_statements(name, PRIVACY)})


def other_foundations(name: str) -> list[str]:
    """Return, sorted, the documents that ``name`` relies on only for other statements, such as accuracy.

    Empty if ``name`` has no supporting documents.
    """
    return (
        sorted({name, *library.document_foundations(name)} - set(supporting_documents(name)))
        if supporting_documents(name)
        else []
    )


def supporting_statements(name: str, label: str) -> list[Relation]:
    """Return a statement and all statements that it relies on, as pairs of a document and a label, sorted."""
    return _collect_supporting(library.documents_folder(), name, label)


@functools.cache
def _collect_supporting(root: Path, name: str, label: str) -> list[Relation]:
    found: set[Relation] = set()
    waiting = [(name, label)]
    while waiting:
        one = waiting.pop()
        if one not in found and library.document_path(one[0]) is not None:
            found.add(one)
            waiting += _statement_citations(root, *one)
    return sorted(found)


@functools.cache
def _statement_citations(root: Path, name: str, label: str) -> set[Relation]:
    """Return the citations of one statement and of the common text.

    If the label is unknown, return all citations in the document; if it is in the common text, only those of that text.
    """
    blocks, homes, common = _split_statement_blocks(root, name)
    cited = [blocks[home] for home in ([homes[label]] if label in homes else blocks) if home]
    own = {(name, home) for text in cited for one in _split_labels(_CITED, text) if (home := homes.get(one))}
    return own | {one for text in [common, *cited] for one in find_relations(text)}


@functools.cache
def _split_statement_blocks(root: Path, name: str) -> tuple[dict[str, str], dict[str, str], str]:
    """Return each statement's text with its proofs, the statement of each label, and the other text."""
    text = library.document_text(name)
    blocks: dict[str, list[str]] = defaultdict(list)
    homes: dict[str, str] = {}
    common, at, last = [], 0, ""
    for kind, title, inner, start, end in _find_blocks(text):
        common.append(text[at:start])
        at = end
        if kind != "proof":
            last = next(iter(_split_labels(_LABEL, inner)), "")
        proved = _split_labels(_CITED, title) if kind == "proof" and _CITED.search(title) else [last]
        for home in proved:
            blocks[home].append(f"{title} {inner}")
        homes |= dict.fromkeys(_split_labels(_LABEL, inner), proved[0])
    common += [text[at:], *blocks.pop("", [])]
    between = "\n".join(common)
    return (
        {home: "\n".join(parts) for home, parts in blocks.items()},
        dict.fromkeys(_split_labels(_LABEL, between), "") | homes,
        between,
    )


def _find_blocks(text: str) -> Iterable[tuple[str, str, str, int, int]]:
    return ((found[1], found[2] or "", found[3], found.start(), found.end()) for found in _BLOCK.finditer(text))


def _split_labels(pattern: re.Pattern[str], text: str) -> list[str]:
    return [label.strip() for listed in pattern.findall(text) for label in listed.split(",")]


def clear_support_cache() -> None:
    """Clear the caches, so that every document is read again on the next call."""
    for remembered in (_collect_supporting, _statement_citations, _split_statement_blocks):
        remembered.cache_clear()
