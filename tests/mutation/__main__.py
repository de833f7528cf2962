"""``python -m tests.mutation``: plant every fault, and say which test notices each.

The exit code is 1 if a fault survives, or does not fit. ``python -m tests.mutation random`` plants others, drawn by
chance. ``python -m tests.mutation reach`` records anew which tests reach what.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from . import by_chance, killers, page, reached
from .checkout import ROOT
from .fault import misfits
from .faults import FAULTS
from .run import Outcome, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["random"]:
        return by_chance.main(given[1:])
    if given[:1] == ["reach"]:
        return reached.record()
    options = _options(given)
    chosen = [one for one in FAULTS if not options.fault or one.name in options.fault]
    problems = misfits(chosen, ROOT) + [f"there is no fault {name}" for name in _unknown(options.fault)]
    if problems or options.check:
        print("\n".join(problems) or f"All {len(chosen)} faults fit.")
        return int(bool(problems))
    known, start = killers.remembered(), time.monotonic()
    live = [one for one in chosen if not one.equivalent]
    outcomes = run(live, known, copies=options.jobs, search=not options.no_search, reach=options.reach, done=_say)
    seconds = time.monotonic() - start
    known = killers.remembered() | {one.fault.name: one.killer for one in outcomes if one.killer}
    killers.remember({fault.name: known[fault.name] for fault in FAULTS if fault.name in known})
    surviving = [one.fault.name for one in outcomes if one.survives]
    print(f"{len(outcomes) - len(surviving)} of {len(outcomes)} faults noticed in {seconds:.0f} s")
    print("\n".join(f"surviving: {name}" for name in surviving))
    if options.write and not surviving:
        page.write(page.figures() | {"listed": page.listed(FAULTS, seconds, options.jobs)})
    return int(bool(surviving))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=main.__doc__)
    parser.add_argument("--fault", action="append", default=[], help="this fault only; may be repeated", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="only say which faults no longer fit the code")
    parser.add_argument("--no-search", action="store_true", help="run the remembered killers only")
    parser.add_argument("--reach", type=int, default=12, help="how many files of tests to try, nearest first")
    parser.add_argument("--write", action="store_true", help=f"write {page.FILE.relative_to(ROOT)} if none survives")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many copies to test at a time")
    return parser.parse_args(arguments)


def _unknown(names: Sequence[str]) -> list[str]:
    return sorted(set(names) - {fault.name for fault in FAULTS})


def _say(outcome: Outcome) -> None:
    if outcome.killer:
        killers.keep(outcome.fault.name, outcome.killer)
    print(f"{outcome.seconds:6.1f} s  {outcome.fault.name:<28} {outcome.killer or 'SURVIVES'}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
