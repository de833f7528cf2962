"""What the command computes from a table is held back until a public deadline, an error as an answer is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from ...core.repeatable import Answer, hold, seconds_of
from ...errors import ParameterError
from .exit_codes import Interrupted

PadOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Answer so long after the table begins to be opened, and not before; where it takes longer there is an "
        "error, no answer, and what was paid stays paid. Choose it without looking at the table.",
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


def held(pad: float | None, compute: Callable[[], Answer]) -> Answer:
    """What ``compute`` returns or raises, at the deadline if there is one.

    Raises:
        DeadlineError: It took longer.
        Interrupted: Somebody did not want to wait. Whether it was drawn by then is not told.
    """
    if pad is None:
        return compute()
    try:
        return hold(seconds_of(pad, "--pad"), compute)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted before the deadline: there is no answer, and what was drawn has its cost"
        ) from None
