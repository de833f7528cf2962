"""``opendp-topk audit --html``: the report as a folder of pages."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ...errors import ParameterError
from ...proof.latex import tex_is_missing
from ..audit.html import Material, refuted, untested, write_report
from . import show


def require_html(html: str | None, *, pdf: bool, force: bool) -> None:
    """Options of the report need the report."""
    for name, given in (("--pdf", pdf), ("--force", force)):
        if given and html is None:
            raise ParameterError(f"{name} is for the report: add --html FOLDER")


def write(folder: str, *, signoffs: str | None, pdf: bool, force: bool, budget: int) -> bool:
    """Write the report, and say what is in it; whether all holds."""
    if pdf and tex_is_missing():
        show.note(f"The pages will hold the proofs as LaTeX only: {tex_is_missing()}.")
    with _Bars() as bars:
        made = write_report(folder, signoffs=signoffs, pdf=pdf, force=force, budget=budget, progress=bars.show)
    states = [claim.status for claim in made.claims]
    bad = sum(state in show.BAD for state in states)
    wrong = refuted(made)
    pairs = [
        ("report", f"{folder}/index.html"),
        ("claims", f"{len(states)}, of which {bad} stale or missing"),
        ("verified", _verified(made)),
    ]
    if made.pdfs or made.unbuilt:
        pairs.append(("PDFs", f"{len(made.pdfs)}; {len(made.unbuilt)} did not build"))
    show.rows(pairs)
    return not bad and not wrong and not made.unbuilt


def _verified(made: Material) -> str:
    maps = sum(one.report is not None for one in made.findings)
    return f"{maps} maps, of which {len(refuted(made))} fail and {len(untested(made))} not tested"


class _Bars:
    """One bar for each kind of work, on standard error and only where that is a terminal."""

    def __init__(self) -> None:
        screen: Console = show.console(stderr=True)
        columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> _Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, what: str, done: int, total: int) -> None:
        """Move the bar of ``what``."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done)
