"""Aligned rows and tables for terminals; plain text if the output is not a terminal."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ...markup import foreign
from ..planning.plan import AccuracyGuarantee
from ..planning.release_record import OtherUsersCount, PrivacyClaim
from ..planning.steps import log_step, watch_steps
from ..planning.units import users_to_rows
from . import log

_GAP = "   "  # between columns
_PATIENCE = 2  # seconds that pass before progress is shown
_LONG = 500  # most lines of a table that is fitted to the width of the screen, which takes a while for each line
_WIDEST, _USUAL, _NARROWEST = 100, 80, 8
_MEASURES = {
    "MaxDivergence": "pure differential privacy",
    "ZeroConcentratedDivergence": "zero-concentrated differential privacy",
    "PrivacyProfile": "(epsilon, delta)-differential privacy, from the whole privacy curve",
}
BAD = ("stale", "missing")  # states of a proof that is not about the code that runs
_TONES = {"current": "good", "stale": "bad", "missing": "bad", "unproven": "warn"}  # tones of the states of a proof
_STYLES = {"good": "green", "bad": "bold red", "warn": "yellow", "open": "blue"}
_TWELVE_UP = Context(prec=12, rounding=ROUND_CEILING)


def open_console(*, stderr: bool = False) -> Console:
    """Return a console that interprets no markup and is at most 100 columns wide."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    made.width = min(made.width if made.width > _NARROWEST else _USUAL, _WIDEST)
    return made


def print_paragraphs(*lines: str, style: str = "") -> None:
    for line in lines:
        open_console().print(_printable_text(line, style))


def print_note(line: str) -> None:
    """Print a paragraph on standard error, since standard output is for the result."""
    if not log.write_event("note", message=line):
        open_console(stderr=True).print(_printable_text(line, "dim"))


def print_rows(pairs: Iterable[tuple[str, str | Text]]) -> None:
    """Print names on the left and their values on the right. A single word, such as a path, is never broken."""
    screen, listed = open_console(), list(pairs)
    indent = max(len(name) for name, _ in listed) + 2
    for name, value in listed:
        text = _printable_text(value)
        wrapped = text.wrap(screen, max(screen.width - indent, 10)) if " " in text.plain else [text]
        for number, line in enumerate(wrapped):
            line.rstrip()
            screen.print(Text.assemble(((name if number == 0 else "").ljust(indent), "bold"), line), soft_wrap=True)


def print_table(headers: Iterable[str], lines: Iterable[Iterable[str | Text]], *, right: Container[int] = ()) -> None:
    """Print a table whose columns at the positions ``right`` are right-aligned. Lines of long tables never wrap."""
    named, listed = list(headers), [list(map(_printable_text, line)) for line in lines]
    if len(listed) > _LONG:
        _print_plain_table(named, [[cell.plain for cell in line] for line in listed], right)
        return
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for position, header in enumerate(named):
        grid.add_column(header, justify="right" if position in right else "left", overflow="fold")
    for line in listed:
        grid.add_row(*line)
    open_console().print(grid)


def _print_plain_table(headers: list[str], lines: list[list[str]], right: Container[int]) -> None:
    """Print a table as :func:`print_table` does, but without colours and without wrapping wide lines."""
    widths = [max(map(cell_len, column)) for column in zip(headers, *lines, strict=True)]

    def align_cells(line: list[str]) -> str:
        gaps = (" " * (width - cell_len(cell)) for width, cell in zip(widths, line, strict=True))
        cells = enumerate(zip(gaps, line, strict=True))
        return _GAP.join(gap + one if at in right else one + gap for at, (gap, one) in cells)

    rule = "\u2500" * len(align_cells(["" for _ in headers]))
    typer.echo("\n".join((align_cells(headers), rule, *map(align_cells, lines))))


def _printable_text(text: str | Text, style: str = "") -> Text:
    """Return text that is safe to print: strings may come from files, so they become one line without control codes."""
    return text if isinstance(text, Text) else Text(foreign.terminal_line(text), style=style)


def status_text(word: str, tone: str = "") -> Text:
    """Return the state of a proof, or another word with a tone, coloured on a terminal."""
    return Text(foreign.terminal_line(word), style=_STYLES.get(tone or _TONES.get(word, ""), ""))


def item_text(value: Any) -> str:
    """Return an item as it is, or quoted if it contains unprintable characters or begins or ends with a space."""
    text = str(value)
    return text if text.isprintable() and text.strip() == text else json.dumps(text)


class _LateProgress(Progress):
    """Progress that shows nothing until a task takes longer than the patience of a reader."""

    def get_renderables(self) -> Iterable[RenderableType]:
        return super().get_renderables() if any((one.elapsed or 0) > _PATIENCE for one in self.tasks) else ()


class ProgressReporter:
    """Receiver of reports on one task, which are shown if its progress has started."""

    def __init__(self, progress: Progress, what: str) -> None:
        self.progress, self.what, self.task = progress, what, progress.add_task(what, total=None)

    def __call__(self, far: str) -> None:
        self.progress.update(self.task, description=f"{self.what}: {far}")

    def show_step(self, event: str, step: str, **_: Any) -> None:
        """Show the step that starts, and no longer the one that ends."""
        self.progress.update(self.task, description=f"{self.what}: {step}" if event == "start" else self.what)

    def report_parts(self, done: int, of: int) -> None:
        self.progress.update(self.task, completed=done, total=of)

    def stop(self) -> None:
        """Remove the progress bar, because the result is printed."""
        if self.progress.live.is_started:
            self.progress.stop()


@contextlib.contextmanager
def show_progress(what: str) -> Iterator[ProgressReporter]:
    """Log the step ``what``, and show its progress if it takes more than two seconds.

    The bar, on standard error if that is a terminal, has the elapsed time, and moves when progress is reported.
    """
    screen = open_console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    progress = _LateProgress(*columns, console=screen, transient=True)
    reporter = ProgressReporter(progress, what)
    with contextlib.ExitStack() as stack:
        stack.enter_context(log_step(what))
        if screen.is_terminal and not log.is_on():
            stack.enter_context(progress)
            stack.enter_context(watch_steps(reporter.show_step))
        yield reporter


def rounded_up(loss: float) -> str:
    """Return ``loss`` rounded up to twelve significant digits. Records have all digits."""
    return repr(float(_TWELVE_UP.create_decimal(Decimal(repr(float(loss))))))


def cost_text(claim: PrivacyClaim, *, of_rows: bool = False) -> str:
    """Return the privacy loss and the unit that it protects: users, or rows."""
    kind = f"({claim.measure}: {_MEASURES[claim.measure]})" if claim.measure in _MEASURES else ""
    if not isinstance(claim.d_out, tuple):
        loss = f"{claim.main_symbol} = {rounded_up(claim.d_out)}"
    elif kind:
        loss = f"{claim.main_symbol} = {claim.d_out[0]!r} at delta = {rounded_up(claim.d_out[1])}"
    else:
        loss = f"{claim.main_symbol} = {rounded_up(claim.d_out[0])} and delta = {rounded_up(claim.d_out[1])}"
    return f"{loss} for {users_to_rows(claim.protected_users) if of_rows else claim.protected_users} {kind}".rstrip()


def guarantee_rows(promises: Mapping[str, AccuracyGuarantee]) -> list[tuple[str, str]]:
    names = {"accuracy": "accuracy", "count_accuracy": "counts", "other_accuracy": "others"}
    return [(names[name], promise.words) for name, promise in promises.items()]


def other_cost_text(count: OtherUsersCount, how: str) -> str:
    """Return the privacy loss of the count of all other users; ``how`` relates it to the loss of the release."""
    return f"({count.whole.main_symbol} = {rounded_up(count.count_loss)} {how})"


def document_lines(states: Iterable[tuple[Any, str]]) -> Text:
    """Return documents and their states, one per line."""
    lines = Text()
    for name, state in states:
        lines.append(f"{name} (").append(status_text(state)).append(")\n")
    lines.rstrip()
    return lines
