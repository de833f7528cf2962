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
from ..planning.plan import Plan, Promise
from ..planning.release_record import Claim, Other, links, parameters_of, plain
from ..planning.units import in_rows

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


def console(*, stderr: bool = False) -> Console:
    """A console that takes no text for markup and draws no line wider than people read."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    made.width = min(made.width if made.width > _NARROWEST else _USUAL, _WIDEST)
    return made


def say(*lines: str, style: str = "") -> None:
    """Paragraphs on standard output."""
    for line in lines:
        console().print(_text(line, style))


def note(line: str) -> None:
    """A paragraph on standard error, which leaves standard output to the result."""
    console(stderr=True).print(_text(line, "dim"))


def rows(pairs: Iterable[tuple[str, str | Text]]) -> None:
    """Names on the left, what they mean on the right; a single word, such as a path, is never broken."""
    screen, listed = console(), list(pairs)
    indent = max(len(name) for name, _ in listed) + 2
    for name, value in listed:
        text = _text(value)
        wrapped = text.wrap(screen, max(screen.width - indent, 10)) if " " in text.plain else [text]
        for number, line in enumerate(wrapped):
            line.rstrip()
            screen.print(Text.assemble(((name if number == 0 else "").ljust(indent), "bold"), line), soft_wrap=True)


def table(headers: Iterable[str], lines: Iterable[Iterable[str | Text]], *, right: Container[int] = ()) -> None:
    """A table whose columns at the positions ``right`` are aligned to the right; a long one breaks no line."""
    named, listed = list(headers), [list(map(_text, line)) for line in lines]
    if len(listed) > _LONG:
        _write(named, [[cell.plain for cell in line] for line in listed], right)
        return
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for position, header in enumerate(named):
        grid.add_column(header, justify="right" if position in right else "left", overflow="fold")
    for line in listed:
        grid.add_row(*line)
    console().print(grid)


def _write(headers: list[str], lines: list[list[str]], right: Container[int]) -> None:
    """As :func:`table` does, but for colours and for lines that are too wide."""
    widths = [max(map(cell_len, column)) for column in zip(headers, *lines, strict=True)]

    def aligned(line: list[str]) -> str:
        gaps = (" " * (width - cell_len(cell)) for width, cell in zip(widths, line, strict=True))
        cells = enumerate(zip(gaps, line, strict=True))
        return _GAP.join(gap + one if at in right else one + gap for at, (gap, one) in cells)

    rule = "\u2500" * len(aligned(["" for _ in headers]))
    typer.echo("\n".join((aligned(headers), rule, *map(aligned, lines))))


def _text(text: str | Text, style: str = "") -> Text:
    """What is printed: a string may come from a file, and is one line that no terminal obeys."""
    return text if isinstance(text, Text) else Text(foreign.line(text), style=style)


def status(word: str, tone: str = "") -> Text:
    """The state of a proof, or another word in its tone, coloured on a terminal."""
    return Text(foreign.line(word), style=_STYLES.get(tone or _TONES.get(word, ""), ""))


def item(value: Any) -> str:
    """An item as it is, or quoted where it holds characters that would move the cursor or cannot be seen."""
    text = str(value)
    return text if text.isprintable() and text.strip() == text else json.dumps(text)


class Working:
    """Says how far some work is; by itself it says nothing, as where nobody looks."""

    def __call__(self, far: str) -> None:
        """In words."""

    def parts(self, done: int, of: int) -> None:
        """In parts that are read, so many of so many."""


class _Shown(Working):
    def __init__(self, progress: Progress, what: str) -> None:
        self.progress, self.what, self.task = progress, what, progress.add_task(what, total=None)

    def __call__(self, far: str) -> None:
        self.progress.update(self.task, description=f"{self.what}: {far}")

    def parts(self, done: int, of: int) -> None:
        self.progress.update(self.task, completed=done, total=of)


@contextlib.contextmanager
def working(what: str) -> Iterator[Working]:
    """A bar with the time that has passed, on standard error and only where that is a terminal.

    It moves as it is told. Until then, only the time does.
    """
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield Working()
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True) as progress:
        yield _Shown(progress, what)


def rounded_up(loss: float) -> str:
    """Twelve digits of the decimal that ``loss`` is written as, rounded up. Records have all digits."""
    return repr(float(_TWELVE_UP.create_decimal(Decimal(repr(float(loss))))))


def cost(claim: Claim, *, of_rows: bool = False) -> str:
    """The privacy loss, with the neighbours to whom it applies: users, or rows."""
    kind = f"({claim.measure}: {_MEASURES[claim.measure]})" if claim.measure in _MEASURES else ""
    if not isinstance(claim.d_out, tuple):
        loss = f"{claim.main} = {rounded_up(claim.d_out)}"
    elif kind:
        loss = f"{claim.main} = {claim.d_out[0]!r} at delta = {rounded_up(claim.d_out[1])}"
    else:
        loss = f"{claim.main} = {rounded_up(claim.d_out[0])} and delta = {rounded_up(claim.d_out[1])}"
    return f"{loss} for {in_rows(claim.whom) if of_rows else claim.whom} {kind}".rstrip()


def noise(plan: Plan[Any, Any]) -> list[tuple[str, str]]:
    """The scale, that of the counts, and the threshold."""
    parameters = parameters_of(plan.measurement)
    counts = f", and {plain(parameters['count_scale'])} for the counts" if "count_scale" in parameters else ""
    if "delta" in parameters and "gaussian" not in parameters:
        return _of_keys(parameters)
    smallest = f"the smallest that meet{'' if counts else 's'} the target"
    chosen = "chosen with the threshold, so that this is about the smallest" if "delta" in parameters else smallest
    rows = [("scale", f"{parameters['scale']}{counts} ({chosen})")]
    if "threshold" in parameters:
        least = parameters.get("minimum_users", 1)
        beyond = f", counted from {least} users on, as fewer are never released" if least > 1 else ""
        rows.append(("threshold", f"{parameters['threshold']} (the smallest that keeps delta){beyond}"))
    return rows


def _of_keys(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What noise takes part where items are released without counts."""
    if "scale" not in parameters:
        epsilon, delta = parameters["each"]
        return [("each item", f"may lose epsilon = {epsilon:.6g} and delta = {delta:.6g}")]
    beside = "in units of weights, the squares of which have a sum of at most 1 for a user"
    return [("scale", f"{parameters['scale']:.6g}, {beside}"), ("threshold", f"{parameters['threshold']:.6g}")]


def promised(promises: Mapping[str, Promise]) -> list[tuple[str, str]]:
    """What theorems promise."""
    names = {"accuracy": "accuracy", "count_accuracy": "counts"}
    return [(names[name], promise.words) for name, promise in promises.items()]


def other(count: Other, how: str) -> str:
    """What the count of all other users costs, beside or of the whole."""
    return f"({count.whole.symbol} = {rounded_up(count.loss)} {how})"


def proofs(proof: Proof) -> Text:
    """The documents that prove the cost, one a line."""
    return documents((link.name, link.status) for link in links(proof))


def documents(states: Iterable[tuple[Any, str]]) -> Text:
    """Documents with the state of each, one a line."""
    lines = Text()
    for name, state in states:
        lines.append(f"{name} (").append(status(state)).append(")\n")
    lines.rstrip()
    return lines


def users(number: float) -> str:
    """1 user, 2 users."""
    return "1 user" if number == 1 else f"{number} users"
