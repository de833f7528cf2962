"""``opendp-topk verify``: check a record against what this library computes and against the ledger that has paid."""

from __future__ import annotations

import contextlib

import typer

from ..ledger import Ledger
from ..planning.record_file import read_fields
from ..planning.verification import DISAGREES, verify_record
from . import show
from .exit_codes import DATA
from .output import print_json


def verify(
    record: str, *, ledger: str | None = None, head: str | None = None, key: str | None = None, as_json: bool = False
) -> None:
    """Verify a release record: report which fields agree, which do not, and which cannot be known.

    The measurement is rebuilt from the record, and its cost, accuracy and proofs are computed again. With --ledger,
    the record is compared with the entry that paid for it, and with the digest in that entry.

    The exit code is 1 if a field is inconsistent.

    \b
    Example:
      opendp-topk verify top.json
      opendp-topk verify top.json --ledger budget.ledger

    Options:
        record (RECORD): A .json file written by `release --out`.
        ledger (LEDGER): The ledger that is claimed to have paid for the release.
        head (HEAD): With --ledger: a head that `ledger head` printed earlier and you kept.
    """
    fields = read_fields(record)
    with contextlib.nullcontext() if ledger is None else Ledger(ledger) as account, show.show_progress("verifying"):
        found = verify_record(fields, account, head, key)
    agrees = all(one.verdict != DISAGREES for one in found)
    if as_json:
        print_json({"agrees": agrees, "findings": [vars(one) for one in found]})
    else:
        show.print_rows([(one.what, f"{one.verdict}: {one.why}") for one in found])
    if not agrees:
        raise typer.Exit(DATA)
