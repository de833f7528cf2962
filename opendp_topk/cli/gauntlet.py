"""``opendp-topk audit --gauntlet``: planted faults, and the checks that notice them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..audit.gauntlet import FAULTS, Outcome, run
from . import show
from .guard import DATA


def gauntlet() -> None:
    """Run all faults and list by which checks each is noticed; exit with 1 if one survives."""
    with _progress(len(FAULTS)) as advance:
        outcomes = run(FAULTS, done=advance)
    show.table(
        ("fault", "noticed by", "what is wrong"),
        ((one.fault.name, ", ".join(one.caught) or "nothing", one.fault.what) for one in outcomes),
    )
    survivors = [one.fault.name for one in outcomes if not one.is_caught]
    show.say("", f"{len(outcomes) - len(survivors)} of {len(outcomes)} faults are caught by a check other than pins.")
    if survivors:
        show.say(f"These survive: {', '.join(survivors)}.", style="bold red")
        raise typer.Exit(DATA)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[Outcome], None]]:
    """A bar on standard error, where that is a terminal."""
    screen = show.console(stderr=True)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("the package without any fault", total=total)

        def advance(outcome: Outcome) -> None:
            progress.update(task, advance=1, description=outcome.fault.name)

        yield advance
