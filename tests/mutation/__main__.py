"""``python -m opendp_topk.audit.gauntlet FILE``: run the gauntlet, and write the kill matrix to a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.mutation.faults import FAULTS
from tests.mutation.matrix import markdown
from tests.mutation.run import Outcome, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gauntlet; the exit code is 1 if a fault survives."""
    parser = argparse.ArgumentParser(prog="python -m opendp_topk.audit.gauntlet", description=main.__doc__)
    parser.add_argument("file", nargs="?", help="where to write the kill matrix, in Markdown")
    parser.add_argument("--fault", action="append", help="plant this fault only; may be repeated", metavar="NAME")
    options = parser.parse_args(arguments)
    unknown = set(options.fault or []) - {fault.name for fault in FAULTS}
    if unknown:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    chosen = [fault for fault in FAULTS if not options.fault or fault.name in options.fault]
    outcomes = run(chosen, done=_say)
    if options.file is not None:
        Path(options.file).write_text(markdown(outcomes), encoding="utf-8")
    return 0 if all(one.is_caught for one in outcomes) else 1


def _say(outcome: Outcome) -> None:
    print(f"{outcome.fault.name:<24} {', '.join(outcome.caught) or 'SURVIVES'}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
