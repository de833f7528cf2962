"""``opendp-topk verify``: check a record against what this library computes and against the ledger that has paid."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from ..ledger import Ledger
from ..planning.verification import DISAGREES, verify_record
from . import show
from .exit_codes import DATA
from .ledger_files import Json, KeyOption, print_json
from .record_file import read_fields


def verify(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="A .json file that `release --out` wrote.")],
    ledger: Annotated[
        str | None,
        typer.Option(metavar="LEDGER", help="The ledger that is said to have paid for it.", show_default=False),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(metavar="HEAD", help="A line that `ledger head` printed and you kept.", show_default=False),
    ] = None,
    key: KeyOption = None,
    as_json: Json = False,
) -> None:
    """Say line by line what of a record agrees, what does not, and what cannot be known.

    The measurement is built again from the record, and its cost, its accuracy and its proofs are computed anew. With
    --ledger, the entry that has paid is looked up, and the digest of the record that it keeps is compared.

    The exit code is 1 if anything does not agree.

    \b
    Example:
      opendp-topk verify top.json
      opendp-topk verify top.json --ledger budget.ledger
    """
    fields = read_fields(record)
    with contextlib.ExitStack() as stack:
        account = None if ledger is None else stack.enter_context(Ledger(ledger))
        with show.show_progress("verifying"):
            found = verify_record(fields, account, head, key)
    agrees = all(one.verdict != DISAGREES for one in found)
    if as_json:
        print_json({"agrees": agrees, "findings": [vars(one) for one in found]})
    else:
        show.print_rows([(one.what, f"{one.verdict}: {one.why}") for one in found])
    if not agrees:
        raise typer.Exit(DATA)
