"""``python -m tests.audit.corpus [--samples N ...] [--seed S]``: which broken mechanisms are found, at what cost."""

import argparse
import time
from collections.abc import Iterator

from opendp_topk.apps.audit.report import REFUTED

from . import after, before
from .case import Case

HALVES = {"before": before.CASES, "after": after.CASES}
SAMPLES = (20_000, 200_000)


def needed(case: Case, samples: tuple[int, ...], seed: int) -> tuple[int | None, float]:
    """The first number of samples at which a case is refuted, and the processor time of all audits so far."""
    start = time.process_time()
    for n in samples:
        if case.audited(seed, n) == REFUTED:
            return n, time.process_time() - start
    return None, time.process_time() - start


def rows(samples: tuple[int, ...], seed: int) -> Iterator[str]:
    """The table, a row for a mechanism, and the sums."""
    yield "| written | mechanism | it is | refuted with | CPU s |"
    yield "|---|---|---|--:|--:|"
    sums = []
    for half, cases in HALVES.items():
        refuted = {True: 0, False: 0}
        for case in cases:
            n, seconds = needed(case, samples, seed)
            refuted[case.right] += n is not None
            told = "not" if n is None else f"{n:,}"
            yield f"| {half} | {case.name} | {'right' if case.right else 'broken'} | {told} | {seconds:.1f} |"
        wrong = sum(not case.right for case in cases)
        sums.append(
            f"{half}: of {wrong} broken {refuted[False]} found and {wrong - refuted[False]} missed; "
            f"of {len(cases) - wrong} right {refuted[True]} accused"
        )
    yield ""
    yield from sums


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit.corpus", description=main.__doc__)
    parser.add_argument("--samples", type=int, nargs="+", default=list(SAMPLES), help="tried in turn, on each input")
    parser.add_argument("--seed", type=int, default=1, help="of the mechanisms' generators")
    options = parser.parse_args()
    for line in rows(tuple(options.samples), options.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
