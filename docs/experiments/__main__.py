"""``python -m docs.experiments``: compute, draw and tabulate what the papers show."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from . import figures, jobs, tables
from .vectors import Vector, folder, read, zipf

FIGURES = ("budgets", "curves", "zipf", "joint", "noise", "lecture", "cells")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m docs.experiments", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="counts: .npy, or .csv or .parquet with a column 'count'")
    parser.add_argument("--data", type=Path, help="a folder of such files; without any, Zipf's law stands in")
    parser.add_argument("--out", type=Path, default=Path("build/experiments"), help="where PNG, SVG and CSV go")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES, help="some of the figures")
    parser.add_argument("--page", type=Path, help="a Markdown file whose table of budgets is written anew")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args(arguments)


def vectors(options: argparse.Namespace) -> list[Vector]:
    """The counts that are asked for."""
    given = [read(path) for path in options.files]
    if options.data is not None and not options.data.is_dir():
        raise SystemExit(f"--data: there is no folder {options.data}; leave it out for Zipf's law")
    return given + (folder(options.data) if options.data is not None else [])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all files; the exit code is 1 where draws contradict a formula."""
    options = _options(arguments)
    chosen = vectors(options)
    if not chosen:
        print("no counts are given: Zipf's law stands in for them")
    options.out.mkdir(parents=True, exist_ok=True)
    rows = jobs.run(jobs.jobs(chosen, options.only), options.processes)
    for name, listed in rows.items():
        tables.write(options.out / f"{name}.csv", listed)
        if name in figures.DRAWN:
            figures.DRAWN[name](listed, options.out)
    if rows["budgets"]:
        studied = chosen or [zipf(exponent) for exponent in jobs.SYNTHETIC]
        table = tables.budgets(rows["budgets"], studied)
        (options.out / "budgets.md").write_text(table, encoding="utf-8")
        if options.page is not None:
            tables.insert(options.page, table)
    wrong = [cell.name for cell in rows["cells"] if not cell.agrees]
    print(f"{len(rows['cells'])} cells against draws, {len(wrong)} refused {' '.join(wrong)}".rstrip())
    print(f"written to {options.out}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
