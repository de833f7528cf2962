"""``opendp-topk show``: present a recorded release on the terminal or as an HTML page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from ...errors import TableError
from ...numerics.arithmetic import printed_fraction
from ..ledger import Ledger
from ..ledger.stated import OWN
from ..planning.record_file import read_fields
from ..planning.record_store import STDOUT
from ..planning.release_record import ReleaseRecord
from ..planning.units import format_grid_score
from . import record_words as words
from . import show as terminal
from .options import config_text
from .output import require_file_ending, write_text_file
from .release_page import render_release_page


def show(
    record: str, *, html: bool = False, to: str | None = None, ledger: str | None = None, config: bool = False
) -> None:
    """Show a release record on the terminal, or as an HTML page.

    The output contains the list, its accuracy, the accuracy of the best attack on one person, and the cost.

    The page needs no other file and no network.

    \b
    Example:
      opendp-topk show top.json
      opendp-topk show top.json --html

    Options:
        record (RECORD): A .json file written by `release --out`.
        html: Write an HTML page, beside the record unless --to is given.
        to (FILE, needs html): With --html: a new .html file; - prints the page on standard output.
        ledger (LEDGER): The ledger that paid for the release; its remaining budget is shown, too.
        config: Print the options of the release as TOML, for `release --config`.
    """
    fields = read_fields(record)
    found = ReleaseRecord.from_dict(fields)
    if config:
        typer.echo(config_text(_release_options(found)), nl=False)
        return
    with contextlib.nullcontext() if ledger is None else Ledger(ledger) as account:
        if account is not None:
            _require_paid(fields, account)
        if not html:
            _print_record(found, account)
            return
        target = str(Path(record).with_suffix(".html")) if to is None else to
        if target != STDOUT:
            require_file_ending(target, (".html",))
        write_text_file(target, render_release_page(found, account))


def _release_options(record: ReleaseRecord) -> dict[str, Any]:
    """Return the options of the release that a record is of; lists of candidates and of groups are not among them."""
    where, stated = record.where, record.stated
    own = {name: stated[name] for name in ("label", *OWN) if stated.get(name)}
    return {**record.asked.record_options(record), **({} if where is None else {"where": where}), **own}


def _require_paid(fields: dict[str, Any], ledger: Ledger) -> None:
    """Raise if the ledger and the record contradict each other."""
    from ..planning.verification import DISAGREES, verify_record

    wrong = [one.what for one in verify_record(fields, ledger) if one.verdict == DISAGREES]
    if wrong:
        raise TableError(f"the record and the ledger differ in {', '.join(wrong)}: `opendp-topk verify` shows details")


def _print_record(record: ReleaseRecord, ledger: Ledger | None) -> None:
    asked = record.asked
    terminal.print_paragraphs(asked.title(record), asked.method(record), "")
    counts = words.count_amounts(record)
    shown = None if counts is None else [f"{count:.12g}" for count in counts]
    _print_items(record, shown, asked.heading(record))
    terminal.print_paragraphs("")
    terminal.print_rows(
        [
            ("released", words.format_time(record.time)),
            *((name.replace("_", " "), said) for name, said in words.accuracy_texts(record).items()),
            *words.other_users_rows(record),
            *((name, terminal.item_text(said)) for name, said in words.provenance_rows(record)),
            *words.release_facts(record),
            ("cut", asked.truncation(record)),
            ("at stake", words.attack_text(record)),
            ("cost", words.loss_text(record.claim)),
            ("paid by", words.payment_text(record)),
            *([] if ledger is None else words.budget_rows(ledger)),
            ("made by", words.software_text(record)),
            ("proof", f"{record.proof['status']} when it was released"),
        ]
    )


def show_release(record: ReleaseRecord, more: Iterable[tuple[str, str]] = ()) -> None:
    """Print a release that was just made."""
    counts, step = record.released.counts, printed_fraction(record.mechanism.get("granularity", 1))
    exactly = None if counts is None else [format_grid_score(count, step) for count in counts]
    asked = record.asked
    _print_items(record, exactly, asked.heading(record), ranked=record.k is not None)
    terminal.print_paragraphs("")
    documents = ((one["document"], one["status"]) for one in record.proof["documents"])
    terminal.print_rows(
        [
            *asked.ending(record),
            *terminal.guarantee_rows(record.promises),
            ("cost", terminal.cost_text(record.claim, of_rows=record.is_row_level)),
            ("proof", terminal.document_lines(documents)),
        ]
    )
    if more:
        terminal.print_rows(more)


def _print_items(record: ReleaseRecord, counts: list[str] | None, head: str, *, ranked: bool = True) -> None:
    released = record.released
    items = [(name, [terminal.item_text(one) for one in values]) for name, values in record.item_columns(head)]
    columns = [
        *((name, list(map(str, values))) for name, values in record.asked.labels(record) if ranked),
        *([] if counts is None else [(f"noisy {record.score_noun}", counts)]),
        *([] if released.gaps is None else [("noisy lead", [f"{gap:.6g}" for gap in released.gaps])]),
        *items,
    ]
    groups = [(name, [terminal.item_text(one) for one in values]) for name, values in words.group_column(record)]
    heads, values = zip(*groups, *columns, strict=True)
    right = range(len(groups), len(groups) + len(columns) - len(items))
    terminal.print_table(heads, zip(*values, strict=True), right=right)
