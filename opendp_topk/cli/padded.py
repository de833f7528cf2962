"""What the command computes from a table is held back until a public deadline, an error as an answer is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

import typer

from ..core.padding import Deadline, seconds_of
from ..errors import ParameterError
from .exit_codes import Interrupted

PadOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Answer so long after the table begins to be opened, and not before; where it takes longer there is an "
        "error, no answer, and the cost is spent. Choose it without looking at the table.",
        show_default=False,
    ),
]


def require_fitting(pad: float | None, files: str | None, from_record: str | None) -> None:
    """Raise unless the deadline is one, and holds back all that is written of the table."""
    if pad is None:
        return
    seconds_of(pad, "--pad")
    if files is not None:
        raise ParameterError("--files writes as soon as the table was counted: leave it out, or --pad")
    if from_record is not None:
        raise ParameterError("--from-record looks at no table: leave --pad out")


@contextlib.contextmanager
def held(pad: float | None) -> Iterator[None]:
    """End at the deadline, however the body ends.

    Raises:
        DeadlineError: The body took longer.
        Interrupted: Somebody did not want to wait. What was drawn is not told.
    """
    if pad is None:
        yield
        return
    deadline, failure = Deadline(seconds_of(pad, "--pad")), None
    try:
        yield
    except Exception as error:
        failure = error
    try:
        deadline.wait()
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted before the deadline: there is no answer, and what was drawn has its cost"
        ) from None
    if failure is not None:
        raise failure
