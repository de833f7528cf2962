"""``opendp-topk show``: a release that was recorded, for people: on the terminal, or as one page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import ParameterError, TableError
from ...numerics.arithmetic import as_written
from ..ledger import Ledger
from ..planning.release_record import ReleaseRecord
from ..planning.units import written
from . import record_words as words
from . import show as terminal
from .ledger_files import write
from .output import STDOUT
from .record_file import read_fields
from .release_page import page


def show(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="A .json file that `release --out` wrote.")],
    html: Annotated[
        bool,
        typer.Option("--html", help="Write one page for a browser, beside the record unless --to names another place."),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --html: a new .html file; - prints it.", show_default=False),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER", help="The ledger that has paid: what is left of it is shown, too.", show_default=False
        ),
    ] = None,
) -> None:
    """Show a release that was recorded: on the terminal, or as one page.

    It tells the list, how sure it is, what one person could lose, and what it cost.

    The page needs no other file and no network.

    \b
    Example:
      opendp-topk show top.json
      opendp-topk show top.json --html
    """
    if to is not None and not html:
        raise ParameterError("--to is for the page: add --html")
    fields = read_fields(record)
    found = ReleaseRecord.from_dict(fields)
    with contextlib.ExitStack() as stack:
        account = None if ledger is None else stack.enter_context(Ledger(ledger))
        if account is not None:
            _require_paid(fields, account)
        if not html:
            _print(found, account)
        elif to == STDOUT:
            typer.echo(page(found, account), nl=False)
        else:
            target = str(Path(record).with_suffix(".html")) if to is None else to
            if Path(target).suffix.lower() != ".html":
                raise ParameterError("--to must be a name that ends in .html")
            write(target, page(found, account))


def _require_paid(fields: dict[str, Any], ledger: Ledger) -> None:
    """Raise where the ledger and the record do not agree."""
    from ..planning.verification import DISAGREES, verified

    wrong = [one.what for one in verified(fields, ledger) if one.verdict == DISAGREES]
    if wrong:
        raise TableError(
            f"the record and the ledger do not agree on {', '.join(wrong)}: `opendp-topk verify` says more"
        )


def _print(record: ReleaseRecord, ledger: Ledger | None) -> None:
    """The record for people on the terminal."""
    terminal.say(words.question(record), words.how(record), "")
    counts = words.counts(record)
    shown = None if counts is None else [f"{count:.12g}" for count in counts]
    _table(record, shown, record.release == "ranking", "number" if record.quantiles else "item")
    terminal.say("")
    terminal.rows(
        [
            ("released", words.moment(record.time)),
            *((name.replace("_", " "), said) for name, said in words.promised(record).items()),
            *words.other(record),
            *((name, terminal.item(said)) for name, said in words.read(record)),
            *words.facts(record),
            ("cut", words.caps(record)),
            ("at stake", words.at_stake(record)),
            ("cost", words.loss(record.claim)),
            ("paid by", words.paid(record)),
            *([] if ledger is None else words.spent(ledger)),
            ("made by", words.made_by(record)),
            ("proof", f"{record.proof['status']} when it was released"),
        ]
    )


def show_release(record: ReleaseRecord, more: Iterable[tuple[str, str]] = ()) -> None:
    """Print a release that was just made for people."""
    counts, step = record.released.counts, as_written(record.mechanism.get("granularity", 1))
    exactly = None if counts is None else [written(count, step) for count in counts]
    ranked = record.release == "ranking" and record.k is not None
    _table(record, exactly, ranked, _head(record))
    terminal.say("")
    documents = ((one["document"], one["status"]) for one in record.proof["documents"])
    terminal.rows(
        [
            *_end(record),
            *terminal.promised(record.promises),
            ("cost", terminal.cost(record.claim, of_rows=words.of_rows(record))),
            ("proof", terminal.documents(documents)),
        ]
    )
    if more:
        terminal.rows(more)


def _table(record: ReleaseRecord, counts: list[str] | None, ranked: bool, head: str = "item") -> None:
    """What was released, a line an item."""
    released = record.released
    items = [(name, [terminal.item(one) for one in values]) for name, values in words.item_columns(record, head)]
    columns = [
        *([("rank", list(map(str, words.ranks(record))))] if ranked else []),
        *([("quantile", list(map(str, record.quantiles)))] if len(record.quantiles) > 1 else []),
        *([] if counts is None else [(f"noisy {record.noun}", counts)]),
        *([] if released.gaps is None else [("noisy lead", [f"{gap:.6g}" for gap in released.gaps])]),
        *items,
    ]
    groups = [(name, [terminal.item(one) for one in values]) for name, values in words.owners(record)]
    heads, values = zip(*groups, *columns, strict=True)
    right = range(len(groups), len(groups) + len(columns) - len(items))
    terminal.table(heads, zip(*values, strict=True), right=right)


def _head(record: ReleaseRecord) -> str:
    if record.quantiles:
        return "number"
    if record.release == "ranking":
        return "item"
    return "items, in the order of the candidates" if record.listed else "items with enough users, in their order"


def _end(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Where a ranking ends that may have fewer items than were asked for; and that no item came out."""
    if record.k is None and not record.released.items:
        return [("none", "no item came out: none surely had enough users")]
    if record.by_gap:
        return [] if record.released.items else [("none", "no set came out: no gap surely was large enough")]
    if record.k is None or not record.may_stop:
        return []
    short = record.k - len(record.released.items)
    return [("end", f"stopped {short} short of {record.k}: no further item surely had enough" if short else "complete")]
