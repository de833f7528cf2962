"""``opendp-topk ledger``: the commands that write files, and the output that all its commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ...errors import ParameterError
from ...markup.foreign import json_text
from ..ledger import Ledger
from ..ledger.files import write_report
from ..ledger.logs import resolve_path
from ..planning.record_store import STDOUT
from . import show


def backup(file: str, new: str, *, as_json: bool = False) -> None:
    """Copy the records to a new file, and check them.

    The copy is itself a ledger: keep it in a place from which no release is paid.

    Options:
        file (LEDGER): A file, or postgresql://user@host/database#schema/name.
        new (NEW): A new file.
    """
    with Ledger(file) as found:
        account = found.at_one_moment()
        account.backup(new)
        head = account.head()
    print_action({"written": new, "head": head}, f"Copied to {new}.", as_json=as_json)


def repair(file: str, *, charge_rest: bool = False, as_json: bool = False) -> None:
    """Repair a damaged ledger file. The amount spent is never lowered; the damaged file is kept beside it.

    Options:
        file (LEDGER): A file.
        charge_rest: Charge all of the remaining budget if records at the end are lost.
    """
    found = Ledger.repair(file, charge_rest=charge_rest)
    print_result({"repaired": found}, *(found or ["nothing to repair"]), as_json=as_json)


def require_file_ending(to: str, endings: tuple[str, ...]) -> None:
    """Raise unless ``to`` ends in one of ``endings``, or is standard output and JSON lines are allowed."""
    if Path(to).suffix.lower() not in endings and not (to == STDOUT and ".jsonl" in endings):
        raise ParameterError(f"--to must be a name that ends in {' or '.join(endings)}")


def write_output_file(to: str, option: str, text: str) -> None:
    """Write ``text`` to a new file; the umask determines who may read it."""
    write_report(resolve_path(to, option), text.encode("utf-8"))


def write_text_file(to: str, text: str, *, as_json: bool = False) -> None:
    """Write ``text`` to a new file and print a confirmation, or print it if ``to`` is -."""
    if to == STDOUT:
        typer.echo(text, nl=False)
        return
    write_output_file(to, "--to", text)
    print_action({"written": to}, f"Written to {to}.", as_json=as_json)


def print_action(fields: dict[str, Any], words: str, *, as_json: bool) -> None:
    """Print what was done: as JSON on standard output, or in words on standard error."""
    if as_json:
        print_json(fields)
    else:
        show.print_note(words)


def print_result(fields: dict[str, Any], *words: str, as_json: bool) -> None:
    """Print a result on standard output, as JSON or in words."""
    if as_json:
        print_json(fields)
    else:
        show.print_paragraphs(*words)


def print_json(fields: dict[str, Any]) -> None:
    typer.echo(json_text(fields, ascii_only=True))
