"""What the library's speed is held to, figure and goal side by side: ``python -m tests.benchmarks.goals``.

The exit code is 1 where a goal is missed. ``--no-counting`` leaves out what takes a minute; names of parts choose some.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec

from . import bench_calls, bench_count, bench_groups, bench_noise, bench_race, bench_sets, one_shot
from .bench import Bench, Case, measured, printed
from .timing import readable, with_steady_memory

PARTS: dict[str, Callable[[], Iterator[Bench]]] = {
    "one-shot": one_shot.with_goals,
    "races": bench_race.benches,
    "sets": bench_sets.benches,
    "noise": bench_noise.benches,
    "calls": bench_calls.benches,
    "groups": bench_groups.benches,
    "counting": lambda: bench_count.benches("polars n_unique"),
}
_OF_TABLES = ("groups", "counting")


def benches(parts: Iterable[str]) -> Iterator[Bench]:
    """Those of the parts that have a goal; tables need polars."""
    for part in parts:
        if part in _OF_TABLES and find_spec("polars") is None:
            print(f"polars is not installed (extra tables): {part} is left out")
        else:
            yield from (bench for bench in PARTS[part]() if bench.goal)


def markdown(found: Iterable[Case]) -> list[str]:
    """A table of those that have a goal."""
    return [
        "",
        "| case | here | ratio | of | goal | |",
        "|---|--:|--:|---|--:|---|",
        *(_line(case) for case in found if case.goal),
        "",
    ]


def _line(case: Case) -> str:
    peer = case.goal.peer or next(iter(case.ratios), "")
    ratio = f"{case.ratios[peer]:.2f}" if peer else ""
    met = "met" if case.met else "missed"
    return f"| {case.name} | {readable(case.own)} | {ratio} | {peer} | {case.goal} | {met} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print them."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.goals", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="part", help=", ".join(PARTS))
    parser.add_argument("--no-counting", action="store_true", help="leave out what takes a minute")
    options = parser.parse_args(arguments)
    parts = [part for part in options.parts if not (options.no_counting and part == "counting")]
    found = list(printed(measured(benches(parts), {})))
    missed = [case for case in found if not case.met]
    print(f"{len(found) - len(missed)} of {len(found)} goals are met")
    return int(bool(missed))


if __name__ == "__main__":
    with_steady_memory()
    raise SystemExit(main())
