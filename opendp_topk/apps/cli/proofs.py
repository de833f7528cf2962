"""``opendp-topk proofs``: what is proved, where, and whether the proofs still speak of the code that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ... import proof
from ...errors import ParameterError, ProofError
from ...proof.latex import build
from ...proof.note_rows import rows
from ..audit import registry
from . import show
from .exit_codes import DATA


def proofs(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A constructor such as make_report_noisy_top_k, a document such as core/chaining, or the note.",
        ),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Build the document NAME as a PDF (needs TeX).")] = False,
    out: Annotated[
        str | None, typer.Option(help="The folder for the PDF; the current one if not given.", metavar="FOLDER")
    ] = None,
) -> None:
    """List the proofs, show one, or build its PDF.

    A proof pins the code that it speaks of, and what this reaches, by a hash. Where the code that is installed has
    another hash the proof is stale: the claim may still hold, but nobody has checked. The exit code is 1 if a proof
    that was asked for is stale or missing.
    """
    if name is None and (pdf or out is not None):
        raise ParameterError("--pdf needs the NAME of a constructor or document: opendp-topk proofs lists them")
    if out is not None and not pdf:
        raise ParameterError("--out is the folder of the PDF: add --pdf")
    states = _list() if name is None else _one(name, pdf, out)
    if any(state in show.BAD for state in states):
        raise typer.Exit(DATA)


def _list() -> list[str]:
    claims = [(name, registry.document_of(name), registry.status_of(name)) for name in registry.constructors()]
    named = {document for _, document, _ in claims}
    others = [name for name in proof.documents() if name not in named]
    states = [proof.Proof(name).status for name in others]
    show.say("What every public constructor claims is proved in:", "")
    show.table(
        ("constructor", "proof", "status"),
        ((name, document or "none", show.status(state)) for name, document, state in claims),
    )
    if others:
        show.say("", "These rest on:", "")
        show.table(
            ("proof", "status"),
            ((name, show.status(state)) for name, state in zip(others, states, strict=True)),
        )
    show.say(
        "",
        "current: the code that is installed is the code that was proved. stale: it is not. unproven: the caller "
        "supplies the claim.",
        _checked(),
        "One of them: opendp-topk proofs NAME; as a PDF: opendp-topk proofs NAME --pdf",
        *[
            f"Where to begin: opendp-topk proofs {note} --pdf, a few pages that lead from the argument to the "
            "documents and the code."
            for note in proof.notes()
        ],
    )
    return [state for _, _, state in claims] + states


def _checked() -> str:
    """How much a proof assistant has checked."""
    found = [check for name in proof.documents() for check in proof.checks(name)]
    current = {(one.document, one.label) for one in found if one.status == "current"}
    stale = sum(one.status != "current" for one in found)
    return (
        f"A proof assistant has checked {len(current)} statements of {len({name for name, _ in current})} documents, "
        "at least in part; the view of one document lists them."
        + (f" {stale} are no longer what was checked." * bool(stale))
    )


def document_of(name: str) -> str:
    """The document of a constructor (with or without its ``make_``), or the one of that name."""
    for maker in registry.constructors():
        if name in (maker, maker.removeprefix("make_")) and (document := registry.document_of(maker)) is not None:
            return document
    stem = _stem(name)
    if stem not in proof.documents():
        raise ParameterError("NAME must be one of the constructors or documents that opendp-topk proofs lists")
    return stem


def _stem(name: str) -> str:
    return name.removeprefix("proofs/").removesuffix(".tex")


def _one(name: str, pdf: bool, out: str | None) -> list[str]:
    return _note(_stem(name), pdf, out) if _stem(name) in proof.notes() else _show(name, pdf, out)


def _note(name: str, pdf: bool, out: str | None) -> list[str]:
    """A note pins nothing: what it leads to has a state."""
    leads = [(row, proof.Proof(row.document).status) for row in rows(name)]
    show.rows([("note", str(proof.document(name)))])
    show.say("", "It pins nothing, and leads to these statements and lines:", "")
    show.table(
        ("statement", "status", "code"),
        ((f"{row.document}#{row.label}", show.status(state), row.place) for row, state in leads),
    )
    _built(name, pdf, out)
    return [state for _, state in leads]


def _built(name: str, pdf: bool, out: str | None) -> None:
    if pdf:
        with show.working("building the PDF"):
            built = build(name, Path(out or "."))
        show.rows([("built", str(built))])


def _show(name: str, pdf: bool, out: str | None) -> list[str]:
    document = document_of(name)
    if proof.document(document) is None:
        raise ProofError(f"the document proofs/{document}.tex is missing")
    state = proof.Proof(document).status
    makers = [maker for maker in registry.constructors() if registry.document_of(maker) == document]
    about: list[tuple[str, str | Text]] = [("constructor", ", ".join(makers))] if makers else []
    pins = Text("\n").join(
        Text.assemble(f"{pin.digest} (", show.status(_state(pin)), f") region {pin.region}{_place(pin)}")
        for pin in proof.pins(document)
    )
    about += [("document", str(proof.document(document))), ("status", show.status(state)), ("pins", pins)]
    checks = Text("\n").join(Text.assemble(f"{one} (", show.status(one.status), ")") for one in proof.checks(document))
    reading = ("last reading", str(proof.last(document) or "none is recorded"))
    show.rows([*about, ("checked by machine", checks or "none of its statements"), reading, *_rests(document)])
    _built(document, pdf, out)
    return [state]


def _rests(document: str) -> list[tuple[str, str]]:
    """Which documents carry its privacy, and which carry laws, accuracy, success and batches alone."""
    found = (("carry its privacy", proof.carriers(document)), ("carry other claims alone", proof.others(document)))
    return [(words, f"{len(names)} documents: {', '.join(names)}") for words, names in found if names]


def _state(pin: proof.Pin) -> str:
    try:
        return "current" if pin.is_current else "stale"
    except ProofError:
        return "missing"


def _place(pin: proof.Pin) -> str:
    try:
        return f" of {pin.source}"
    except ProofError:
        return ""
