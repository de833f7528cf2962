"""``opendp-topk audit``: the claims as a reviewer sees them, and their sign-offs."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import audit as auditing
from .. import proof
from ..audit.registry import claim_digest, tests_are_here
from ..audit.signoffs import accept
from ..errors import ProofError
from . import html_report, show
from .exit_codes import DATA, guarded
from .proofs import document_of

audit = typer.Typer(name="audit", add_completion=False, rich_markup_mode=None)

Signoffs = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A file of sign-offs, as `audit accept` writes it.", show_default=False),
]


def claims(
    context: typer.Context,
    signoffs: Signoffs = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Write a report for a browser into this folder.", show_default=False),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="With --html: build the proofs as PDFs, too (needs TeX).")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --html: write into a folder that is not empty.")] = False,
    budget: Annotated[
        int,
        typer.Option(min=1, help="With --html: pairs of neighbours tried for each map, two or more."),
    ] = 12,
) -> None:
    """What every constructor claims, where it is proved, what the proof rests on, and who has signed it.

    Sign-offs live in a file of yours; none is shipped. A sign-off holds for the document, the code that it pins, and
    all on which it rests: when any of that changes, it has to be given anew. The exit code is 1 if a proof is stale
    or missing.

    With --html the exact verifier is run, too, and all is written as pages that need no network: index.html is the
    first. That takes about two minutes, and twice as long with --pdf.
    """
    if context.invoked_subcommand is not None:
        return
    html_report.require_html(html, pdf=pdf, force=force)
    if html is not None:
        if not html_report.write(html, signoffs=signoffs, pdf=pdf, force=force, budget=budget):
            raise typer.Exit(DATA)
        return
    found = auditing.proofs(signoffs)
    headers = ("constructor", "proof is", "rests on", "tests", "signed by")
    show.table(
        headers if signoffs else headers[:-1],
        (
            (
                one.constructor,
                show.status(one.status),
                _number(len(one.foundations), "document"),
                _number(len(one.tests), "file") if tests_are_here() else "not here",
                *([_signed(one)] if signoffs else []),
            )
            for one in found
        ),
    )
    show.say("", "One of them: opendp-topk proofs NAME. To sign it: opendp-topk audit accept NAME --by WHO --file FILE")
    if any(one.status in show.BAD for one in found):
        raise typer.Exit(DATA)


def sign(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A constructor such as make_report_noisy_top_k, or a document.")
    ],
    by: Annotated[str, typer.Option(help="Who has read the proof and the code.", metavar="WHO")],
    file: Annotated[str, typer.Option(help="The file of sign-offs; made if it does not exist.", metavar="FILE")],
) -> None:
    """Sign a proof: the document, the code that it pins, and all on which it rests, as they are now.

    A proof that is stale cannot be signed.
    """
    document = document_of(name)
    state = proof.Proof(document).status
    if state in show.BAD:
        raise ProofError(f"proofs/{document}.tex is {state}: what it proves is not the code that runs")
    made = accept(document, claim_digest(document), by=by, file=file)
    show.say(f"{made.by} accepts proofs/{document}.tex at {made.digest}, written to {file}.")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _signed(claim: auditing.Claim) -> str:
    if claim.accepted_by:
        return ", ".join(claim.accepted_by)
    return "outdated" if claim.signoffs else "nobody"


audit.callback(invoke_without_command=True)(guarded(claims))
audit.command("accept")(guarded(sign))
