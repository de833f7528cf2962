"""The table of proofs/README.md that lists what a reviewer reads for the privacy of the default of noisy top-k.

Statements are followed from one to the next by ``opendp_topk.proof.status``, as ``opendp-topk proofs`` follows them.
"""

from graphlib import TopologicalSorter

from opendp_topk.proof import status

START = "measurements/report_noisy_top_k", "default"
HEAD = "| document | statements, with their proofs | words |\n|---|---|--:|\n"


def read(start: tuple[str, str] = START) -> list[tuple[str, list[str], int]]:
    """Documents, each before those on which it relies, with the statements that ``start`` needs, and their words.

    The words are those of these statements and their proofs, and of all that is outside of statements and proofs.
    """
    needed: dict[str, list[str]] = {}
    below: dict[str, set[str]] = {}
    for document, label in status.supporting_statements(*start):
        needed.setdefault(document, []).append(label)
        cited = {other for other, _ in status._statement_citations(document, label)}
        below.setdefault(document, set()).update(cited - {document})
    order = reversed([*TopologicalSorter({one: sorted(below[one]) for one in sorted(below)}).static_order()])
    return [(one, *_words(one, needed[one])) for one in order]


def _words(document: str, labels: list[str]) -> tuple[list[str], int]:
    blocks, homes, common = status._split_statement_blocks(document)
    cited = list(dict.fromkeys(home for one in labels for home in ([homes[one]] if one in homes else blocks) if home))
    return cited, len(" ".join([common, *(blocks[one] for one in cited)]).split())


def table() -> str:
    """The documents, and their number and words in the last line."""
    rows = read()
    named = [(f"[{one}]({one}.tex)", ", ".join(f"`{label}`" for label in labels), n) for one, labels, n in rows]
    total = f"| {len(rows)} documents | | {sum(n for *_, n in rows):,} |\n"
    return HEAD + "".join(f"| {one} | {labels} | {n:,} |\n" for one, labels, n in named) + total
