"""Whatever goes wrong ends in one line on standard error and an exit code, never in a traceback."""

from __future__ import annotations

import contextlib
import errno
import functools
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import typer

from ...errors import CandidatesError, ParameterError, TableError, TopKError
from ...markup import foreign
from ..ledger.planned import KEPT

P = ParamSpec("P")
DATA, USAGE, INTERRUPTED = 1, 2, 130


class Interrupted(Exception):
    """Ctrl-C at a point where something was released already."""


def with_exit_codes(command: Callable[P, None]) -> Callable[P, None]:
    """``command`` with its errors turned into one line and an exit code.

    A traceback would show source lines and, in some terminals, local variables: data. An exception that is not
    ours may quote data in its message, so that only its type is shown.
    """

    @functools.wraps(command)
    def run_with_exit_code(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            if sys.stdout is None:
                raise TableError("standard output is closed: nothing was released")
            with _interrupt_on_sigterm():
                command(*args, **kwargs)
                sys.stdout.flush()
            return
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Interrupted as stopped:
            code, line = INTERRUPTED, str(stopped)
        except KeyboardInterrupt:
            code, line = INTERRUPTED, "interrupted: nothing was released and nothing was written"
        except TopKError as error:
            code, line = exit_code(error), "; ".join([str(error), *spent_budget_notes(error)])
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            code, line = DATA, f"{error.strerror or type(error).__name__}: {error.filename or 'input or output'}"
        except Exception as error:
            code, line = DATA, f"internal error ({type(error).__name__}); the details are withheld, they may hold data"
            line = "; ".join([line, *spent_budget_notes(error)])
        typer.echo(f"opendp-topk: {foreign.terminal_line(' '.join(line.split()))}", err=True)
        raise typer.Exit(code)

    return run_with_exit_code


def spent_budget_notes(error: BaseException) -> list[str]:
    """That the budget was spent, where a ledger has said so of this error."""
    return [note for note in getattr(error, "__notes__", ()) if note.startswith(KEPT)]


def exit_code(error: TopKError) -> int:
    """2 where the command line is at fault, 1 where files or data are."""
    usage = isinstance(error, ParameterError) and not isinstance(error, CandidatesError)
    return USAGE if usage else DATA


@contextlib.contextmanager
def ignore_interrupts() -> Iterator[None]:
    """What was drawn has its cost, so that Ctrl-C cannot keep it from being written."""
    with _handle_signal(signal.SIGINT, signal.SIG_IGN), _handle_signal(signal.SIGTERM, signal.SIG_IGN):
        yield


@contextlib.contextmanager
def _interrupt_on_sigterm() -> Iterator[None]:
    """SIGTERM, as of a service that is stopped, ends a command as Ctrl-C does, which leaves no draft behind."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    with _handle_signal(signal.SIGTERM, signal.default_int_handler):
        yield


@contextlib.contextmanager
def _handle_signal(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Let a signal be handled so, in the main thread, which alone receives signals."""
    try:
        before = signal.signal(number, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(number, before)
