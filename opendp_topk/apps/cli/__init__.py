"""Command ``opendp-topk``: plan a release, make it, and read its proof.

It may import errors, markup, numerics, tables, proof, spaces, spaces.curves, sampling.distributions, core, apps.ledger,
apps.audit, apps.audit.html and apps.planning.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from ...errors import ParameterError

_EXTRA = ("typer", "rich")
_KEPT = 1_000_000  # a command keeps what it reads: collecting garbage took a quarter of the time of a release


def main() -> None:
    """Run the command.

    The exit code is 0 on success, 1 for data and files, 2 for usage, 3 for an audit that could not test its claim and
    130 after Ctrl-C.

    Raises:
        SystemExit: Always, with the exit code.
    """
    gc.set_threshold(_KEPT)
    atexit.register(gc.freeze)  # without it, Python collects garbage among all that was read once more at exit
    try:
        from .app import run_command_line

        run_command_line()
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        line = f'the command requires {missing}: pip install "opendp_topk[cli]"'
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ParameterError as error:  # raised before a command runs, if Python removed the docstrings
        line = str(error)
    except OSError as error:  # raised when the command's own text, such as its help, is printed
        line = f"standard output could not be written: {error.strerror or type(error).__name__}"
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else flushing the rest fails at exit
    with contextlib.suppress(OSError):
        print(f"opendp-topk: {line}", file=sys.stderr)
    raise SystemExit(1)
