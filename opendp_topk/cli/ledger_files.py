"""``opendp-topk ledger``: the commands that write a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ParameterError
from ..ledger import Ledger
from ..ledger.copies import migrate as take_over
from ..ledger.creation import write_report
from ..ledger.logs import path_of
from ..ledger.report import page
from ..ledger.units import Unit
from ..spaces.metrics import UserDistance
from . import show
from .options import NEIGHBORS, NeighborsOption
from .output import STDOUT

Source = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://user@host/database#name.")]
New = Annotated[str, typer.Argument(metavar="NEW", help="A new file.")]


def report(file: Source, to: Annotated[str, typer.Option(metavar="FILE", help="A new .html file.")]) -> None:
    """Write one page for a privacy officer: the budget over time, every entry, and what is left."""
    require(to, (".html",))
    with Ledger(file) as account:
        write(to, page(account))


def backup(file: Source, new: New) -> None:
    """Copy the records to a new file, checked; it is a ledger itself, so keep it where nobody releases from it."""
    with Ledger(file) as account:
        account.backup(new)
    show.note(f"Copied to {new}.")


def migrate(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A ledger of the first format, a SQLite file.")],
    new: New,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="The name of the data set that the budget protects.")],
    neighbors: NeighborsOption = NEIGHBORS[0],
    users: Annotated[int, typer.Option(metavar="D_IN", min=1, help="The protected number of users.")] = 1,
) -> None:
    """Take over a ledger of the first format, which did not know its unit. The old file is refused from then on."""
    take_over(old, new, Unit.of(dataset, UserDistance(neighbors), users))
    show.note(f"Taken over into {new}; {old} is kept and cannot be used any more.")


def require(to: str, endings: tuple[str, ...]) -> None:
    """Raise unless ``to`` ends in one of ``endings``, or is standard output where JSON lines may go."""
    if Path(to).suffix.lower() not in endings and not (to == STDOUT and ".jsonl" in endings):
        raise ParameterError(f"--to must be a name that ends in {' or '.join(endings)}")


def write(to: str, text: str) -> None:
    """A new file that only its owner may read."""
    write_report(path_of(to, "--to"), text.encode("utf-8"))
    show.note(f"Written to {to}.")
