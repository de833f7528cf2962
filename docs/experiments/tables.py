"""Rows as CSV files, and the budgets as a table in Markdown."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .curves import Budget
from .mechanisms import DISTANCE, EXPONENTIAL, GUMBEL, JOINT, MARGIN, WORST
from .vectors import Vector

COLUMNS = (EXPONENTIAL, GUMBEL, WORST, DISTANCE, MARGIN, JOINT)
UNREACHABLE = "unreachable"
_MARKED = re.compile("(?<=<!-- budgets -->).*?(?=<!-- end -->)", re.DOTALL)


def write(path: Path, rows: Sequence[Any]) -> None:
    """Rows of one kind, a column for each of their fields, numbers in six digits."""
    listed = [asdict(row) for row in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _plain(value) for key, value in row.items()} for row in listed)


def _plain(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def budgets(rows: Sequence[Budget], vectors: Sequence[Vector]) -> str:
    """For each vector and k the budgets, how much less sets need than peeling, and the margin than the distance."""
    found = {(row.vector, row.k, row.mechanism): row.epsilon for row in rows}
    tied = {(vector.name, k) for vector in vectors for k in {row.k for row in rows} if vector.tied(k)}
    heads = ("counts", "k", *COLUMNS, "Gumbel / distance", "distance / margin", "best one-shot / best")
    lines = [heads, ("---", *["--:"] * (len(heads) - 1))]
    for vector, k in dict.fromkeys((row.vector, row.k) for row in rows):
        costs = [found.get((vector, k, name)) for name in COLUMNS]
        exponential, gumbel, _, distance, margin, joint = costs
        best = min(cost for cost in (distance, margin, joint) if cost is not None and math.isfinite(cost))
        ratios = (_ratio(gumbel, distance), _ratio(distance, margin), _ratio(min(exponential, gumbel), best))
        mark = " (tie)" if (vector, k) in tied else ""
        lines.append((vector, f"{k}{mark}", *map(shown, costs), *ratios))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def shown(cost: float | None) -> str:
    """Three digits; a dash where there is no formula."""
    if cost is None or math.isnan(cost):
        return "–"
    return UNREACHABLE if math.isinf(cost) else f"{float(f'{cost:.3g}'):g}"


def _ratio(dear: float, cheap: float) -> str:
    return "–" if not math.isfinite(dear) or not math.isfinite(cheap) else f"{dear / cheap:.3g}"


def insert(page: Path, table: str) -> None:
    """Put the table of budgets between its marks.

    Raises:
        ValueError: The page has no such marks.
    """
    made, count = _MARKED.subn(lambda _: f"\n\n{table}\n", page.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{page.name} must hold <!-- budgets --> and <!-- end --> around its table")
    page.write_text(made, encoding="utf-8")
