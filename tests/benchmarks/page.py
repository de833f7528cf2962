"""``python -m tests.benchmarks.page``: write docs/benchmarks.md, and say which ratios are worse than those it had.

Every row is of one run, own and peers in turns: the median of each time, and the medians of the ratios turn by turn. A
ratio that is more than 1.3 times the stored one is measured once more; if it still is, it is reported, and the exit
code is 1. ``--check`` writes nothing.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import bench_types, goals, one_shot, others, page_text
from .bench import WORSE, Case, Stored, measured, printed
from .page_text import Found
from .timing import with_steady_memory

ROOT = Path(__file__).resolve().parents[2]
PAGE, STORED, PLOT = (ROOT / "docs" / f"benchmarks.{suffix}" for suffix in ("md", "json", "svg"))
TYPES = 7  # the power of ten of the scores of each type


def measure(most: int, foreign: Path, stored: Stored) -> Found:
    """All cases, with one-shot releases from up to 10^most scores."""
    one_shots = {}
    for spot, bench in one_shot.benches(most):
        one_shots[spot] = next(printed(measured([bench], stored)))
    parts = [part for part in goals.PARTS if part != "one-shot"]
    return Found(
        one_shots,
        list(bench_types.rows(10 ** min(most, TYPES), stored)),
        list(printed(measured(goals.benches(parts), stored))),
        list(printed(measured(others.benches(foreign), stored))),
        page_text.held(most),
    )


def slower(cases: Iterable[Case], stored: Stored) -> list[str]:
    """What is reported."""
    return [line for case in cases for line in case.worse(stored)]


def write(found: Found, stored: Stored) -> None:
    """The page, its ratios and its plots; ratios of cases that were left out stay."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    PAGE.write_text(page_text.markdown(found, before), encoding="utf-8")
    kept = {case.name: {peer: float(f"{ratio:.4g}") for peer, ratio in case.ratios.items()} for case in found.cases()}
    STORED.write_text(json.dumps({**stored, **kept}, indent=1) + "\n", encoding="utf-8")
    page_text.draw(found.one_shot, PLOT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases; the exit code is 1 where a ratio is worse than the stored one."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.page", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--most", type=int, default=8, metavar="N", help="up to 10^N scores; 8 needs 4 GiB of memory")
    parser.add_argument("--foreign", type=Path, default=others.FOREIGN, help="a Python that has diffprivlib")
    options = parser.parse_args(arguments)
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.is_file() else {}
    found = measure(options.most, options.foreign, stored)
    lines = slower(found.cases(), stored)
    print("\n".join(lines) or f"no ratio is more than {WORSE} times the stored one")
    if not options.check:
        write(found, stored)
    return int(bool(lines))


if __name__ == "__main__":
    with_steady_memory()
    raise SystemExit(main())
