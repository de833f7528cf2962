"""``opendp-topk proofs``: list and show the proofs, and whether they are about the code that runs."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.text import Text

from ... import proof
from ...core.public_names import name_hint
from ...errors import ParameterError, ProofError
from ...proof.latex import build_pdf, parse_note_rows
from ..audit import registry
from . import show
from .exit_codes import DATA


def proofs(name: str | None = None, *, pdf: bool = False, out: str | None = None) -> None:
    """List the proofs, show one, or build its PDF.

    A proof contains a hash of the code that it is about, and of the code that this reaches. If the installed code has
    another hash, the proof is stale: the claim may still be valid, but the proof was not checked against this code.
    The exit code is 1 if a proof that is listed or shown is stale or missing.

    Options:
        name (NAME): A constructor such as make_report_noisy_top_k, a proof document such as core/chaining, or the note.
        pdf: Build the document NAME as a PDF (needs TeX).
        out (FOLDER, needs pdf): Folder for the PDF. Default: the current folder.
    """
    if name is None and not pdf:
        states = _list_proofs()
    elif (stem := _document_stem(name or "")) in proof.note_names():
        states = _show_note(stem, pdf, out)
    else:
        states = _show_document(name or "", pdf, out)
    if any(state in show.BAD for state in states):
        raise typer.Exit(DATA)


def _list_proofs() -> list[str]:
    claims = [(name, registry.document_of(name), registry.status_of(name)) for name in registry.constructor_names()]
    named = {document for _, document, _ in claims}
    others = [name for name in proof.document_names() if name not in named]
    states = [proof.Proof(name).status for name in others]
    show.print_paragraphs("Proof documents of the public constructors:", "")
    show.print_table(
        ("constructor", "proof", "status"),
        ((name, document or "none", show.status_text(state)) for name, document, state in claims),
    )
    if others:
        rows = ((name, show.status_text(state)) for name, state in zip(others, states, strict=True))
        show.print_paragraphs("", "Documents on which these rely:", "")
        show.print_table(("proof", "status"), rows)
    show.print_paragraphs(
        "",
        "current: the installed code is the code that was proved. stale: the code has changed since. "
        "unproven: the caller supplies the claim.",
        _machine_checks_text(),
        "One of them: opendp-topk proofs NAME; as a PDF: opendp-topk proofs NAME --pdf",
        *[
            f"Start with: opendp-topk proofs {note} --pdf, a few pages with the argument and references to "
            "the documents and the code."
            for note in proof.note_names()
        ],
    )
    return [state for _, _, state in claims] + states


def _machine_checks_text() -> str:
    """Return how many statements a proof assistant has checked, in words."""
    found = [check for name in proof.document_names() for check in proof.machine_checks(name)]
    current = {(one.document, one.label) for one in found if one.status == "current"}
    stale = sum(one.status != "current" for one in found)
    return (
        f"A proof assistant has checked {len(current)} statements of {len({name for name, _ in current})} documents, "
        "at least in part; the view of one document lists them."
        + (f" {stale} have changed since they were checked." * bool(stale))
    )


def resolve_document(name: str) -> str:
    """Return the document of a constructor (with or without its ``make_``), or the document of that name.

    Raises:
        ParameterError: There is neither.
    """
    for maker in registry.constructor_names():
        if name in (maker, maker.removeprefix("make_")) and (document := registry.document_of(maker)) is not None:
            return document
    stem = _document_stem(name)
    if stem not in proof.document_names():
        required = "NAME must be one of the constructors or documents that opendp-topk proofs lists"
        raise ParameterError(required + name_hint(name))
    return stem


def _document_stem(name: str) -> str:
    return name.removeprefix("proofs/").removesuffix(".tex")


def _show_note(name: str, pdf: bool, out: str | None) -> list[str]:
    """Print a note. It pins no code, so the states that are shown and returned are those of the documents it cites."""
    leads = [(row, proof.Proof(row.document).status) for row in parse_note_rows(name)]
    show.print_rows([("note", str(proof.document_path(name)))])
    show.print_paragraphs("", "It covers no code itself, and refers to these statements and lines:", "")
    show.print_table(
        ("statement", "status", "code"),
        ((f"{row.document}#{row.label}", show.status_text(state), row.code_location) for row, state in leads),
    )
    _build_requested_pdf(name, pdf, out)
    return [state for _, state in leads]


def _build_requested_pdf(name: str, pdf: bool, out: str | None) -> None:
    if pdf:
        with show.show_progress("building the PDF"):
            built = build_pdf(name, Path(out or "."))
        show.print_rows([("built", str(built))])


def _show_document(name: str, pdf: bool, out: str | None) -> list[str]:
    document = resolve_document(name)
    if proof.document_path(document) is None:
        raise ProofError(f"the document proofs/{document}.tex is missing")
    state = proof.Proof(document).status
    makers = [maker for maker in registry.constructor_names() if registry.document_of(maker) == document]
    about: list[tuple[str, str | Text]] = [("constructor", ", ".join(makers))] if makers else []
    pins = Text("\n").join(map(_pin_text, proof.code_hashes(document)))
    about += [("document", str(proof.document_path(document))), ("status", show.status_text(state)), ("pins", pins)]
    checks = Text("\n").join(
        Text.assemble(f"{one} (", show.status_text(one.status), ")") for one in proof.machine_checks(document)
    )
    about.append(("checked by machine", checks or "none of its statements"))
    about.append(("last reading", str(proof.last_review(document) or "no review is recorded")))
    show.print_rows([*about, *_reliance_rows(document)])
    _build_requested_pdf(document, pdf, out)
    return [state]


def _reliance_rows(document: str) -> list[tuple[str, str]]:
    """Return the documents that its privacy rests on, and those that only its other claims rest on."""
    found = (
        ("required for its privacy", proof.supporting_documents(document)),
        ("required for other claims only", proof.other_foundations(document)),
    )
    return [(words, f"{len(names)} documents: {', '.join(names)}") for words, names in found if names]


def _pin_text(pin: proof.CodeHash) -> Text:
    try:
        state, place = "current" if pin.is_current else "stale", f" of {pin.source_file}"
    except ProofError:
        state, place = "missing", ""
    return Text.assemble(f"{pin.digest} (", show.status_text(state), f") region {pin.region}{place}")
