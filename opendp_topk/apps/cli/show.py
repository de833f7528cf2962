"""What people read: aligned rows and tables, plain where the output is no terminal."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ...markup import foreign
from ...proof import Proof
from ..planning.plan import AccuracyGuarantee, Plan
from ..planning.release_record import OtherUsersCount, PrivacyClaim, linked_proofs, parameters_of, plain_value
from ..planning.units import users_to_rows

_GAP = "   "  # between columns
_LONG = 500  # lines of a table that is laid out in the width of the screen: each takes a part of a millisecond
_WIDEST, _USUAL, _NARROWEST = 100, 80, 8
_MEASURES = {
    "MaxDivergence": "pure differential privacy",
    "ZeroConcentratedDivergence": "zero-concentrated differential privacy",
    "PrivacyProfile": "(epsilon, delta)-differential privacy, from the whole privacy curve",
}
BAD = ("stale", "missing")  # states of a proof that is none of the code that runs
_TONES = {"current": "good", "stale": "bad", "missing": "bad", "unproven": "warn"}  # of those states
_STYLES = {"good": "green", "bad": "bold red", "warn": "yellow", "open": "blue"}
_TWELVE_UP = Context(prec=12, rounding=ROUND_CEILING)


def open_console(*, stderr: bool = False) -> Console:
    """A console that takes no text for markup and draws no line wider than people read."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    made.width = min(made.width if made.width > _NARROWEST else _USUAL, _WIDEST)
    return made


def print_paragraphs(*lines: str, style: str = "") -> None:
    """Paragraphs on standard output."""
    for line in lines:
        open_console().print(_printable_text(line, style))


def print_note(line: str) -> None:
    """A paragraph on standard error, which leaves standard output to the result."""
    open_console(stderr=True).print(_printable_text(line, "dim"))


def print_rows(pairs: Iterable[tuple[str, str | Text]]) -> None:
    """Names on the left, what they mean on the right; a single word, such as a path, is never broken."""
    screen, listed = open_console(), list(pairs)
    indent = max(len(name) for name, _ in listed) + 2
    for name, value in listed:
        text = _printable_text(value)
        wrapped = text.wrap(screen, max(screen.width - indent, 10)) if " " in text.plain else [text]
        for number, line in enumerate(wrapped):
            line.rstrip()
            screen.print(Text.assemble(((name if number == 0 else "").ljust(indent), "bold"), line), soft_wrap=True)


def print_table(headers: Iterable[str], lines: Iterable[Iterable[str | Text]], *, right: Container[int] = ()) -> None:
    """A table whose columns at the positions ``right`` are aligned to the right; a long one breaks no line."""
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
    """As :func:`print_table` does, but for colours and for lines that are too wide."""
    widths = [max(map(cell_len, column)) for column in zip(headers, *lines, strict=True)]

    def align_cells(line: list[str]) -> str:
        gaps = (" " * (width - cell_len(cell)) for width, cell in zip(widths, line, strict=True))
        cells = enumerate(zip(gaps, line, strict=True))
        return _GAP.join(gap + one if at in right else one + gap for at, (gap, one) in cells)

    rule = "\u2500" * len(align_cells(["" for _ in headers]))
    typer.echo("\n".join((align_cells(headers), rule, *map(align_cells, lines))))


def _printable_text(text: str | Text, style: str = "") -> Text:
    """What is printed: a string may come from a file, and is one line that no terminal obeys."""
    return text if isinstance(text, Text) else Text(foreign.terminal_line(text), style=style)


def status_text(word: str, tone: str = "") -> Text:
    """The state of a proof, or another word in its tone, coloured on a terminal."""
    return Text(foreign.terminal_line(word), style=_STYLES.get(tone or _TONES.get(word, ""), ""))


def item_text(value: Any) -> str:
    """An item as it is, or quoted where it holds characters that would move the cursor or cannot be seen."""
    text = str(value)
    return text if text.isprintable() and text.strip() == text else json.dumps(text)


class ProgressReporter:
    """Says how far some work is; by itself it says nothing, as where nobody looks."""

    def __call__(self, far: str) -> None:
        """In words."""

    def report_parts(self, done: int, of: int) -> None:
        """In parts that are read, so many of so many."""


class _ProgressBar(ProgressReporter):
    def __init__(self, progress: Progress, what: str) -> None:
        self.progress, self.what, self.task = progress, what, progress.add_task(what, total=None)

    def __call__(self, far: str) -> None:
        self.progress.update(self.task, description=f"{self.what}: {far}")

    def report_parts(self, done: int, of: int) -> None:
        self.progress.update(self.task, completed=done, total=of)


@contextlib.contextmanager
def show_progress(what: str) -> Iterator[ProgressReporter]:
    """A bar with the time that has passed, on standard error and only where that is a terminal.

    It moves as it is told. Until then, only the time does.
    """
    screen = open_console(stderr=True)
    if not screen.is_terminal:
        yield ProgressReporter()
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True) as progress:
        yield _ProgressBar(progress, what)


def rounded_up(loss: float) -> str:
    """Twelve digits of the decimal that ``loss`` is written as, rounded up. Records have all digits."""
    return repr(float(_TWELVE_UP.create_decimal(Decimal(repr(float(loss))))))


def cost_text(claim: PrivacyClaim, *, of_rows: bool = False) -> str:
    """The privacy loss, with the neighbours to whom it applies: users, or rows."""
    kind = f"({claim.measure}: {_MEASURES[claim.measure]})" if claim.measure in _MEASURES else ""
    if not isinstance(claim.d_out, tuple):
        loss = f"{claim.main_symbol} = {rounded_up(claim.d_out)}"
    elif kind:
        loss = f"{claim.main_symbol} = {claim.d_out[0]!r} at delta = {rounded_up(claim.d_out[1])}"
    else:
        loss = f"{claim.main_symbol} = {rounded_up(claim.d_out[0])} and delta = {rounded_up(claim.d_out[1])}"
    return f"{loss} for {users_to_rows(claim.protected_users) if of_rows else claim.protected_users} {kind}".rstrip()


def noise_rows(plan: Plan[Any, Any]) -> list[tuple[str, str]]:
    """The scale, that of the counts, and the threshold."""
    parameters = parameters_of(plan.measurement)
    counts = f", and {plain_value(parameters['count_scale'])} for the counts" if "count_scale" in parameters else ""
    if "delta" in parameters and "gaussian" not in parameters:
        return _partition_noise_rows(parameters)
    smallest = f"the smallest that meet{'' if counts else 's'} the target"
    chosen = "chosen with the threshold, so that this is about the smallest" if "delta" in parameters else smallest
    rows = [("scale", f"{parameters['scale']}{counts} ({chosen})")]
    if "threshold" in parameters:
        least = parameters.get("minimum_users", 1)
        beyond = f", counted from {least} users on, as fewer are never released" if least > 1 else ""
        rows.append(("threshold", f"{parameters['threshold']} (the smallest that keeps delta){beyond}"))
    return rows


def _partition_noise_rows(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What noise takes part where items are released without counts."""
    if "scale" not in parameters:
        epsilon, delta = parameters["each"]
        return [("each item", f"may lose epsilon = {epsilon:.6g} and delta = {delta:.6g}")]
    beside = "in units of weights, the squares of which have a sum of at most 1 for a user"
    return [("scale", f"{parameters['scale']:.6g}, {beside}"), ("threshold", f"{parameters['threshold']:.6g}")]


def guarantee_rows(promises: Mapping[str, AccuracyGuarantee]) -> list[tuple[str, str]]:
    """What theorems promise."""
    names = {"accuracy": "accuracy", "count_accuracy": "counts"}
    return [(names[name], promise.words) for name, promise in promises.items()]


def other_cost_text(count: OtherUsersCount, how: str) -> str:
    """What the count of all other users costs, beside or of the whole."""
    return f"({count.whole.main_symbol} = {rounded_up(count.count_loss)} {how})"


def proof_lines(proof: Proof) -> Text:
    """The documents that prove the cost, one a line."""
    return document_lines((link.name, link.status) for link in linked_proofs(proof))


def document_lines(states: Iterable[tuple[Any, str]]) -> Text:
    """Documents with the state of each, one a line."""
    lines = Text()
    for name, state in states:
        lines.append(f"{name} (").append(status_text(state)).append(")\n")
    lines.rstrip()
    return lines


def users_text(number: float) -> str:
    """1 user, 2 users."""
    return "1 user" if number == 1 else f"{number} users"
