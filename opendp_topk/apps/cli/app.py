"""The command-line application: all commands, each loaded when it is first called."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

# The line that the list of commands shows for each command: the first line of its own help.
COMMANDS = {
    "plan": "Show the cost and the accuracy of a release, without private data.",
    "release": "Release items or numbers from a table, with differential privacy.",
    "show": "Show a release record on the terminal, or as an HTML page.",
    "verify": "Verify a release record: report which fields agree, which do not, and which cannot be known.",
    "ledger": "Manage the privacy budget of one data set: create, show, verify and report.",
    "proofs": "List the proofs, show one, or build its PDF.",
    "demo": "Make a real release, offline, step by step.",
    "audit": "List the constructors: the status of the proof, the documents that it relies on, tests and sign-offs.",
}
_MODULES = {"show": "shown"}  # modules whose name differs from that of their command


class CommandGroup(TyperGroup):
    """Commands by name. Listing them, as the help does, loads none of them."""

    def list_commands(self, _: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: Any, name: str) -> Any:
        for wanted in (name,) if name in COMMANDS else COMMANDS:  # an unknown name loads all, to suggest similar ones
            if wanted not in self.commands:
                self.commands[wanted] = load_command(wanted)
        return self.commands.get(name)

    def format_commands(self, _: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@functools.cache
def load_command(name: str) -> Any:
    """Return the command of this name, loading its module on the first call."""
    from .options import documented_command, single_command

    found = getattr(importlib.import_module(f".{_MODULES.get(name, name)}", __package__), name)
    if isinstance(found, TyperGroup):
        return found
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    return single_command(name, documented_command(found))


app = typer.Typer(
    name="opendp-topk",
    cls=CommandGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from ...core.version import version

        typer.echo(f"opendp-topk {version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log progress to standard error, without any data.")
    ] = False,
) -> None:
    """Differentially private top-k from a table of (user, item) rows.

    `plan` shows the cost and the accuracy of a release, `release` makes it, and `proofs` shows why the privacy claim
    is valid. `demo` plans and makes a release from data that is part of every Python installation.

    Exit codes: 0 success; 1 input, budget or verification error, or a release that could not be printed; 2 usage
    error; 3 an audit that could not test its claim; 130 Ctrl-C.
    """
    if verbose:
        import logging

        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)


def run_command_line() -> None:
    """Run the command on ``sys.argv``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # items outside the terminal's encoding must not raise
    app(prog_name="opendp-topk")
