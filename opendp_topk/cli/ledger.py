"""``opendp-topk ledger``: what is left of a budget, and what was spent on what."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError, TableError
from ..ledger import Entry, Ledger
from . import show
from .options import Epsilon, Rho, target
from .output import STDOUT


def ledger(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The ledger.")],
    epsilon: Epsilon = None,
    rho: Rho = None,
    history: Annotated[bool, typer.Option("--history", help="List all releases.")] = False,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write all releases to a new .csv or .json file; - prints them as JSON on standard output.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what is left of a privacy budget, or make a ledger with one.

    With --epsilon or --rho the file is made if it does not exist; it keeps that budget for good. `release --ledger`
    takes each release's cost from it before the table is read, and refuses what does not fit.

    \b
    Example:
      opendp-topk ledger budget.sqlite --epsilon 3
      opendp-topk release visits.parquet --user visitor --item page \\
        --candidates pages.txt --k 10 --epsilon 1 --ledger budget.sqlite
    """
    goal = None if epsilon is None and rho is None else target(epsilon, rho)
    where = None if export in (None, STDOUT) else _new(str(export))
    with Ledger(file) if goal is None else Ledger(file, budget=goal.budget, measure=goal.measure) as account:
        entries = account.history()
        if export == STDOUT:
            typer.echo(_as_json(account, entries), nl=False)
            return
        if where is not None:
            _write(where, _as_csv(entries) if where.suffix.lower() == ".csv" else _as_json(account, entries))
        show.rows(
            [
                ("measure", f"{type(account.measure).__name__} ({account.measure.symbol})"),
                ("budget", _words(account.budget)),
                ("spent", f"{_words(account.spent())} on {_count(entries)}"),
                ("left", _words(account.remaining())),
            ]
        )
        if history:
            show.say("")
            show.table(
                ("no.", "cost", "time", "release"),
                ((str(one.number), _words(one.cost), one.time, _summary(one)) for one in entries),
                right=range(2),
            )
        if where is not None:
            show.note(f"Written to {export}: {_count(entries)}.")


def _new(export: str) -> Path:
    where = Path(export)
    if where.suffix.lower() not in (".csv", ".json"):
        raise ParameterError("--export must be a name that ends in .csv or .json, or -")
    if where.exists():
        raise ParameterError(f"--export {export!r} exists already: choose another name")
    return where


def _write(where: Path, text: str) -> None:
    reason = ""
    try:
        with where.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if reason:
        raise TableError(f"--export could not be written: {reason}")


def _as_json(account: Ledger, entries: list[Entry]) -> str:
    whole = {
        "measure": repr(account.measure),
        "budget": account.budget,
        "spent": account.spent(),
        "releases": [{**one._asdict(), "d_in": str(one.d_in)} for one in entries],
    }
    return json.dumps(whole, indent=2) + "\n"


def _as_csv(entries: list[Entry]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Entry._fields)
    writer.writerows(one._replace(cost=_words(one.cost), spent=_words(one.spent)) for one in entries)
    return text.getvalue()


def _count(entries: list[Entry]) -> str:
    return f"{len(entries)} release{'' if len(entries) == 1 else 's'}"


def _words(distance: Any) -> str:
    return ", ".join(map(str, distance)) if isinstance(distance, tuple) else str(distance)


def _summary(entry: Entry) -> str:
    """The mechanism and k out of the repr of the measurement."""
    fields = dict(line.split("=", 1) for line in entry.measurement.splitlines() if "=" in line)
    named = {name.strip(): value.strip() for name, value in fields.items()}
    size = ["k = " + named["k"]] if "k" in named else []
    return ", ".join([named.get("mechanism", "a measurement"), *size, f"d_in = {entry.d_in}"])
