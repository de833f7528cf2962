"""Errors end in one line on standard error and an exit code, never in a traceback."""

from __future__ import annotations

import contextlib
import errno
import functools
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, get_type_hints

import typer

from ...errors import ParameterError, TableError, TopKError
from ...markup import foreign
from ..ledger.planned import KEPT
from ..planning.options import Option, name_options, require_compatible
from ..planning.record_store import Interrupted, handle_signal
from . import log

P = ParamSpec("P")
DATA, USAGE, INTERRUPTED = 1, 2, 130
_IN_COMMAND = (  # advice of a ledger for Python, and for the command
    (r"\. It fits with scale=\S+ or more", ": state a smaller target"),
    (
        "pass accept_file_system='([^']*)'",
        r"accept it with `ledger accept LEDGER \1`, for a new ledger with --accept-file-system \1",
    ),
    (r"open a ledger with Ledger\(address\), or choose", "choose"),
)


def with_exit_codes(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap ``command`` so that its errors become one line and an exit code.

    A traceback can leak data: it shows source lines and, in some terminals, local variables. Exceptions of other
    libraries may quote data in their messages, so only their type is shown.
    """

    @functools.wraps(command)
    def run_with_exit_code(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            if sys.stdout is None:
                raise TableError("standard output is closed: nothing was released")
            with name_options(), _interrupt_on_sigterm():
                _require_compatible_options(command, kwargs)
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
            code = USAGE if isinstance(error, ParameterError) else DATA
            line = "; ".join([str(error), *spent_budget_notes(error)])
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            code, line = DATA, f"{error.strerror or type(error).__name__}: {error.filename or 'input or output'}"
        except Exception as error:
            line = f"internal error ({type(error).__name__}); the details are omitted, as they may contain data"
            code, line = DATA, "; ".join([line, *spent_budget_notes(error)])
        line = " ".join(line.split())
        for python, advice in _IN_COMMAND:
            line = re.sub(python, advice, line)
        if not log.write_event("error", message=line, code=code):
            typer.echo(f"opendp-topk: {foreign.terminal_line(line)}", err=True)
        raise typer.Exit(code)

    return run_with_exit_code


def _require_compatible_options(command: Callable[P, None], values: Mapping[str, Any]) -> None:
    """Raise if options of a command do not fit together, as the :class:`Option` of each parameter declares."""
    declared = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        shown, *relations = getattr(hint, "__metadata__", (None,))
        metavar = getattr(shown, "metavar", None) or ""
        declared[name] = replace(relations[0] if relations else Option(), metavar=metavar)
    given = {name: value for name, value in values.items() if value not in (None, False)}
    require_compatible(given, declared)


def spent_budget_notes(error: BaseException) -> list[str]:
    """Return the notes that a ledger added to this error to report that the budget was spent."""
    return [note for note in getattr(error, "__notes__", ()) if note.startswith(KEPT)]


@contextlib.contextmanager
def _interrupt_on_sigterm() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that stopping a service leaves no draft files behind."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    with handle_signal(signal.SIGTERM, signal.default_int_handler):
        yield
