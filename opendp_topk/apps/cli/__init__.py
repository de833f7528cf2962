"""The command ``opendp-topk``: plan a release, make it, and read its proof.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators, apps.ledger, apps.audit, apps.audit.html and apps.planning.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from ...errors import MissingExtraError

_EXTRA = ("typer", "rich")
_KEPT = 1_000_000  # what a command reads it keeps: looking for garbage among it took a quarter of a release


def main() -> None:
    """Run the command; the exit code is 0, 1 for data and files, 2 for usage, 130 after Ctrl-C.

    Raises:
        SystemExit: Always, with the exit code.
    """
    gc.set_threshold(_KEPT)
    atexit.register(gc.freeze)  # or Python looks for garbage in all that was read, once more, before it ends
    try:
        from .app import run_command_line

        run_command_line()
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        line = str(missing_extra_error(missing))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:  # of what the command prints of itself, such as its help
        line = f"standard output could not be written: {error.strerror or type(error).__name__}"
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or what is left fails again at the end
    with contextlib.suppress(OSError):
        print(f"opendp-topk: {line}", file=sys.stderr)
    raise SystemExit(1)


def missing_extra_error(package: str) -> MissingExtraError:
    """The error that says how to install what the command needs."""
    return MissingExtraError(f'the command needs {package}: pip install "opendp_topk[cli]"')
