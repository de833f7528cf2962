"""``opendp-topk show``: a release that was recorded, for people: on the terminal, or as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError
from . import record_words as words
from . import show as terminal
from .ledger_files import write
from .output import STDOUT
from .record_file import read_record
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
    found = read_record(record)
    if not html:
        _print(found)
    elif to == STDOUT:
        typer.echo(page(found), nl=False)
    else:
        target = str(Path(record).with_suffix(".html")) if to is None else to
        if Path(target).suffix.lower() != ".html":
            raise ParameterError("--to must be a name that ends in .html")
        write(target, page(found))


def _print(record: dict[str, Any]) -> None:
    """The record for people on the terminal."""
    terminal.say(words.question(record), words.how(record), "")
    counts, noun = words.counts(record), "count" if words.summed(record) is None else "sum"
    columns = {
        **({"rank": range(1, len(record["items"]) + 1)} if record["release"] == "ranking" else {}),
        **({} if counts is None else {f"noisy {noun}": [f"{count:.12g}" for count in counts]}),
        **({"noisy lead": [f"{gap:.6g}" for gap in record["gaps"]]} if "gaps" in record else {}),
        "item": [terminal.item(item) for item in record["items"]],
    }
    lines = ([str(cell) for cell in line] for line in zip(*columns.values(), strict=True))
    terminal.table(columns, lines, right=range(len(columns) - 1))
    terminal.say("")
    promises = [(name.replace("_", " "), record[name]["words"]) for name in _PROMISES if name in record]
    terminal.rows(
        [
            ("released", words.moment(record["time"])),
            *promises,
            *words.other(record),
            *((name, terminal.item(said)) for name, said in words.read(record)),
            ("at stake", words.at_stake(record)),
            ("cost", words.cost(record)),
            ("paid by", words.paid(record)),
            ("made by", words.made_by(record)),
            ("proof", f"{record['proof']['status']} when it was released"),
        ]
    )


_PROMISES = ("accuracy", "count_accuracy")
