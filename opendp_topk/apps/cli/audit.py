"""``opendp-topk audit``: the claims, their sign-offs, the report, and audits of functions."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ... import proof
from ...errors import ParameterError, ProofError
from ...proof.latex import missing_tex_message
from .. import audit as auditing
from ..audit.audited import Audited, audit_pair
from ..audit.html.report import render_audit, write_report
from ..audit.registry import append_signoff, tests_are_here
from ..audit.report import REFUTED, TONES
from ..ledger.files import write_new_file
from ..planning.units import count_with_noun
from . import show
from .exit_codes import DATA
from .options import Positive, documented_command
from .proofs import resolve_document

# ``opendp-topk audit --html``: the report as a folder of pages.


def write_audit_report(folder: str, *, signoffs: str | None, pdf: bool, force: bool, budget: int) -> bool:
    """Write the report and print a summary. Return whether no proof is stale or missing and no check failed."""
    if pdf and missing_tex_message():
        show.print_note(f"The pages will contain the proofs as LaTeX only: {missing_tex_message()}.")
    screen, tasks = show.open_console(stderr=True), dict[str, TaskID]()  # a bar for each kind of work
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:

        def move_bar(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        made = write_report(folder, signoffs=signoffs, pdf=pdf, force=force, budget=budget, progress=move_bar)
    states = [claim.status for claim in made.claims]
    bad = sum(state in show.BAD for state in states)
    pairs = [
        ("report", f"{folder}/index.html"),
        ("claims", f"{len(states)}, of which {bad} stale or missing"),
        ("verified", made.verified_text),
    ]
    if made.pdfs or made.unbuilt:
        pairs.append(("PDFs", f"{len(made.pdfs)}; {len(made.unbuilt)} did not build"))
    show.print_rows(pairs)
    return not bad and not made.refuted and not made.unbuilt


# ``opendp-topk audit``: the claims as a reviewer sees them, and their sign-offs.

_SURE = 1 - 1e-9  # confidence of a repeated audit: a report of a fault should leave no doubt

audit = typer.Typer(name="audit", add_completion=False, rich_markup_mode=None)


def list_claims(
    context: typer.Context,
    *,
    signoffs: str | None = None,
    html: str | None = None,
    pdf: bool = False,
    force: bool = False,
    budget: Positive = 12,
) -> None:
    """List the constructors: the status of the proof, the documents that it relies on, tests and sign-offs.

    Sign-offs are in a file of your own; the package contains none. A sign-off is valid for the document, the code
    whose hash it contains, and all documents that it relies on: if one of them changes, the proof must be signed again.
    The exit code is 1 if a proof is stale or missing.

    With --html, the exact verifier runs, too, and the results are written as pages that need no network; the first is
    index.html. The exit code is then also 1 if the verifier refutes a claim or a PDF cannot be built. This takes about
    two minutes, and twice as long with --pdf.

    Options:
        signoffs (FILE): File of sign-offs, written by `audit accept`.
        html (FOLDER): Write a report as HTML pages into this folder.
        pdf (needs html): With --html: also build the proofs as PDFs (needs TeX).
        force (needs html): With --html: allow a folder that is not empty.
        budget: With --html: maximum number of neighbouring pairs tried for each privacy map; two are always tried.
    """
    if context.invoked_subcommand is not None:
        return
    if html is not None:
        if not write_audit_report(html, signoffs=signoffs, pdf=pdf, force=force, budget=budget):
            raise typer.Exit(DATA)
        return
    found = auditing.proofs(signoffs)
    headers = ("constructor", "proof is", "rests on", "tests", "signed by")
    show.print_table(
        headers if signoffs else headers[:-1],
        (
            (
                one.constructor,
                show.status_text(one.status),
                count_with_noun(len(one.foundations), "document"),
                count_with_noun(len(one.tests), "file") if tests_are_here() else "not here",
                *([one.signers] if signoffs else []),
            )
            for one in found
        ),
    )
    show.print_paragraphs(
        "", "One of them: opendp-topk proofs NAME. To sign it: opendp-topk audit accept NAME --by WHO --file FILE"
    )
    if any(one.status in show.BAD for one in found):
        raise typer.Exit(DATA)


def sign_proof(name: str, *, by: str, file: str) -> None:
    """Sign a proof in its current state.

    The sign-off is for the document, the code whose hash it contains, and all documents that it relies on. A proof
    that is stale or missing cannot be signed.

    Options:
        name (NAME): A constructor such as make_report_noisy_top_k, or a proof document.
        by (WHO): Name of the person who has read the proof and the code.
        file (FILE): File to which the sign-off is appended; created if it does not exist.
    """
    document = resolve_document(name)
    state = proof.Proof(document).status
    if state in show.BAD:
        raise ProofError(f"proofs/{document}.tex is {state}: it does not prove the installed code")
    made = append_signoff(document, proof.claim_digest(document), by=by, file=file)
    show.print_paragraphs(f"{made.by} accepts proofs/{document}.tex at {made.digest}, written to {file}.")


def audit_function_claim(
    function: str,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    on: str = "vectors",
    size: Positive | None = None,
    d_in: float = 1.0,
    samples: int = 20_000,
    confidence: float = 0.999,
    batched: bool = False,
    timed: bool = False,
    pair: str | None = None,
    as_json: bool = False,
    html: str | None = None,
) -> None:
    """Try to refute a privacy claim about a function, from its releases only.

    refuted (exit code 1): the privacy loss exceeds the claim; this is wrong with at most the error probability that is
    printed. not refuted (0): no such loss was found, which proves nothing. not tested (3): this number of samples
    cannot refute so large a claim.

    If a claim is refuted, the output contains the command that audits its pair again, with fresh samples, at an error
    probability of 1e-9.

    Options:
        function (MODULE:NAME): A function of one input that returns one release.
        epsilon: Epsilon of the claim, > 0. Default: the privacy map, if the function is a measurement.
        delta: Delta of the claim.
        rho: Rho of the claim, instead of epsilon.
        on (vectors|MODULE:NAME): Pairs of neighbouring inputs. vectors: generated vectors of scores. MODULE:NAME: your
            own list of pairs, or a function that returns one.
        size: Length of the generated vectors. Default: 2 to 6.
        d_in: Maximum distance between neighbours; for vectors, the largest change of a score.
        samples: Number of releases drawn on each of the two inputs that are tested.
        confidence: Confidence level: a true claim is refuted with probability at most 1 - CONFIDENCE.
        batched: The function takes (input, n) and returns n releases.
        timed: Append the time of each call to its release, as the last value.
        pair (PAIR): Audit only this pair, as an earlier audit printed it: a number, or JSON.
        html (FILE): Write an HTML page with the two output distributions to this new file.
    """
    given = None if on == "vectors" else _import_attribute(on, "--on")
    pairs, audited = given() if callable(given) else given, _import_attribute(function, "MODULE:NAME")
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "size": size, "d_in": d_in}
    claim |= {"batched": batched, "timed": timed}
    settings: dict[str, Any] = {**claim, "pairs": pairs, "samples": samples, "confidence": confidence}
    if pair is None:
        found = auditing.audit_claim(audited, **settings)
    else:
        found = audit_pair(audited, _parse_pair(pair), **settings)
    repeated = {**claim, "on": on, "samples": samples}
    again = _repeat_command(function, found, repeated) if found.verdict == REFUTED else None
    if html is not None:
        write_new_file(Path(html), render_audit(function, found, again).encode())
    if as_json:
        typer.echo(json.dumps({**found.as_dict(), "again": again}, indent=2))
    else:
        (word, why), *more = ((name, value) for name, _, value in (line.partition(": ") for line in found.lines))
        show.print_rows([("verdict", show.status_text(word, TONES[word])), ("why", why), *more])
        if again:
            show.print_paragraphs("", "To audit this pair again with fresh samples, at an error probability of 1e-9:")
            typer.echo(again)  # unwrapped, so that it can be copied
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _repeat_command(function: str, found: Audited, options: dict[str, Any]) -> str:
    """Return the command that audits the pair of a refuted claim again."""
    usual = {name: one.default for name, one in inspect.signature(audit_function_claim).parameters.items()}
    words = ["opendp-topk", "audit", "run", function]
    for name, value in {**options, "pair": json.dumps(found.pair), "confidence": _SURE}.items():
        if value != usual[name]:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def _parse_pair(pair: str) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(pair)
    raise ParameterError("--pair must be a number, or two lists in JSON, such as [[0, 1], [1, 0]]")


def _import_attribute(name: str, option: str) -> Any:
    """Import the object MODULE:NAME; the current folder is searched for the module as well."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ParameterError(f"{option} must be MODULE:NAME, such as my_module:my_function")
    sys.path.insert(0, "")
    try:
        found = importlib.import_module(module)
    except ImportError:
        found = None
    finally:
        sys.path.remove("")
    if found is None:
        raise ParameterError(f"{option}: module {module} cannot be imported")
    if not hasattr(found, attribute):
        raise ParameterError(f"{option}: module {module} has no such name")
    return getattr(found, attribute)


audit.callback(invoke_without_command=True)(documented_command(list_claims))
audit.command("run")(documented_command(audit_function_claim))
audit.command("accept")(documented_command(sign_proof))
