"""What people read: aligned rows and tables, plain where the output is no terminal."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Container, Iterable, Iterator
from fractions import Fraction
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from .. import _check
from ..core import Measurement
from ..success import Enclosure
from .planning import Request
from .record import links, plain

_WIDEST = 100
_MEASURES = {"epsilon": "pure differential privacy", "rho": "zero-concentrated differential privacy"}
_COUNT_NOISE = {"epsilon": "Laplace", "rho": "Gaussian"}
_NAMES = {
    "Exponential": "exponential",
    "HalfLogistic": "half-logistic",
    "Logistic": "logistic",
    "exponential": "the exponential mechanism",
    "permute_and_flip": "permute-and-flip",
}
_NO_BOUND = "none: the scale is near the largest number that the computer holds"
_STYLES = {"current": "green", "stale": "bold red", "missing": "bold red", "unproven": "yellow"}


def console(*, stderr: bool = False) -> Console:
    """A console that takes no text for markup and draws no line wider than people read."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    made.width = min(made.width, _WIDEST)
    return made


def say(*lines: str, style: str = "") -> None:
    """Paragraphs on standard output."""
    for line in lines:
        console().print(Text(line, style=style))


def note(line: str) -> None:
    """A paragraph on standard error, which leaves standard output to the result."""
    console(stderr=True).print(Text(line, style="dim"))


def rows(pairs: Iterable[tuple[str, str | Text]]) -> None:
    """Names on the left, what they mean on the right; a single word, such as a path, is never broken."""
    screen, listed = console(), list(pairs)
    indent = max(len(name) for name, _ in listed) + 2
    for name, value in listed:
        text = value if isinstance(value, Text) else Text(value)
        wrapped = text.wrap(screen, max(screen.width - indent, 10)) if " " in text.plain else [text]
        for number, line in enumerate(wrapped):
            line.rstrip()
            screen.print(Text.assemble(((name if number == 0 else "").ljust(indent), "bold"), line), soft_wrap=True)


def table(headers: Iterable[str], lines: Iterable[Iterable[str | Text]], *, right: Container[int] = ()) -> None:
    """A table whose columns at the positions ``right`` are aligned to the right."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for position, header in enumerate(headers):
        grid.add_column(header, justify="right" if position in right else "left", overflow="fold")
    for line in lines:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in line))
    console().print(grid)


def status(word: str) -> Text:
    """The state of a proof, coloured on a terminal."""
    return Text(word, style=_STYLES.get(word, ""))


def item(value: Any) -> str:
    """An item as it is, or quoted where it holds characters that would move the cursor or cannot be seen."""
    text = str(value)
    return text if text.isprintable() and text.strip() == text else json.dumps(text)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the time that has passed, on standard error and only where that is a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True) as progress:
        progress.add_task(what)
        yield


def cost(measurement: Measurement, request: Request) -> str:
    """The exact privacy loss, with the neighbours to whom it applies."""
    measure = measurement.output_measure
    return (
        f"{measure.symbol} = {measurement.map(request.users)} {neighbours(request)} "
        f"({type(measure).__name__}: {_MEASURES[measure.symbol]})"
    )


def neighbours(request: Request) -> str:
    """Whom the cost protects."""
    how = "added or removed" if request.neighbors == "add_remove" else "replaced"
    return f"for {_users(request.users)} {how}"


def mechanism(measurement: Measurement, request: Request) -> str:
    """The mechanism in words."""
    named = {name: _NAMES.get(value, value) for name, value in measurement.parameters.items()}
    what = "ranking, best first" if request.release == "ranking" else "set, without order"
    then = f"; then discrete {_COUNT_NOISE[request.target.measure.symbol]} noise on each winner's count"
    words = request.row.words.format_map(named)
    return f"{request.row.name} ({what}): {words}{then if request.counts else ''}"


def scale(measurement: Measurement) -> str:
    """The scale, and that of the counts."""
    parameters = measurement.parameters
    if "count_scale" not in parameters:
        return f"{parameters['scale']} (the smallest that meets the target)"
    counts = plain(parameters["count_scale"])
    return f"{parameters['scale']}, and {counts} for the counts (the smallest that meet the target)"


def proofs(measurement: Measurement) -> Text:
    """The documents that prove the cost, one a line."""
    lines = Text()
    for link in links(measurement.proof):
        lines.append(f"{link.name} (").append(status(link.status)).append(")\n")
    lines.rstrip()
    return lines


def sure(alpha: float) -> tuple[Fraction, str]:
    """The probability of failure as an exact number, and that of success in words, which is never rounded."""
    exactly = Fraction(str(_check.probability(alpha, "--alpha")))
    percent = f"{float(100 * (1 - exactly)):.6g}"
    return exactly, f"{percent} %" if Fraction(percent) == 100 * (1 - exactly) else f"1 - {alpha}"


def guarantee(measurement: Measurement, request: Request, alpha: float) -> str:
    """The accuracy theorem in words. Counts are integers, so that the bound may be rounded down to one."""
    exactly, words = sure(alpha)
    users = request.shortfall(measurement, exactly)
    if users is None:
        return "not computed: the possible releases are too many to count"
    if users == math.inf:
        return _NO_BOUND
    near = f"a count within {_users(users)} of"
    if request.row.ranked:
        winner = "t-th released item" if request.release == "ranking" else "t-th most frequent of the released items"
        return (
            f"with probability at least {words}, for every t from 1 to {request.k} the {winner} "
            f"has {near if users else 'exactly'} the t-th largest count"
        )
    reach = f"{near if users else 'at least'} the {largest(request.k)} count"
    return f"with probability at least {words}, every released item has {reach}"


def count_guarantee(measurement: Measurement, request: Request, alpha: float = 0.05) -> str:
    """How far the noise may drive the counts, in words."""
    exactly, words = sure(alpha)
    users = request.deviation(measurement, exactly)
    if users == math.inf:
        return _NO_BOUND
    near = f"within {_users(users)} of" if users else "exactly"
    return f"with probability at least {words}, every noisy count is {near} the true count"


def success(enclosure: Enclosure | None, request: Request) -> str:
    """The probability of an exact release on the proxy, in words."""
    if enclosure is None:
        return "the probability of the exact release is not known for this mechanism, or too long to compute"
    return f"{exact(request)} has probability {probability(enclosure)}"


def exact(request: Request) -> str:
    """The event that the release is as good as can be, in words."""
    return f"the exact top-{request.k}" + (", in any order," if request.k > 1 else "")


def probability(enclosure: Enclosure | None) -> str:
    """Three decimals, rounded outward where both ends do not share them; a dash for what is not known."""
    if enclosure is None:
        return "-"
    lower, upper = enclosure
    if upper < 0.0005:
        return "0" if upper == 0 else "< 0.001"
    if lower >= 0.9995:
        return "1" if lower == 1 else "> 0.999"
    if f"{lower:.3f}" == f"{upper:.3f}":
        return f"{lower:.3f}"
    return f"{math.floor(lower * 1000) / 1000:.3f}-{math.ceil(upper * 1000) / 1000:.3f}"


def _users(number: float) -> str:
    return "1 user" if number == 1 else f"{number} users"


def largest(rank: int) -> str:
    """Largest, 2nd largest, 3rd largest, 4th largest."""
    if rank == 1:
        return "largest"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending} largest"
