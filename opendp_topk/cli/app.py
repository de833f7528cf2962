"""The commands, put together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .audit import audit
from .demo import demo
from .exit_codes import guarded
from .ledger import ledger
from .plan import plan
from .proofs import proofs
from .record import version
from .release import release

app = typer.Typer(
    name="opendp-topk",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opendp-topk {version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Differentially private top-k from a table of (user, item) rows.

    Ask with `plan` what a release would cost and how accurate it would be, make it with `release`, and read
    with `proofs` why the claim holds. `demo` does all of it on data that every Python carries.

    Exit codes: 0 done; 1 a file, the data, the budget or a check said no, or a release could not be shown; 2 the
    command line is wrong; 130 Ctrl-C.
    """


for command in (plan, release, proofs, demo):
    app.command()(guarded(command))


app.add_typer(ledger, name="ledger")
app.add_typer(audit, name="audit")


def run() -> None:
    """Run the command on ``sys.argv``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # an item beyond the terminal's encoding is no failure
    app(prog_name="opendp-topk")
