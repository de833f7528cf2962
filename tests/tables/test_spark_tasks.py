"""A job of Spark that fails says what to do, whoever started it, and nothing of what Spark said.

Tries proofs/measurements/spark_scores.tex and proofs/combinators/together.tex.
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.combinators import _spark_groups
from opendp_topk.combinators._selecting import match_counted_selection
from opendp_topk.measurements import _in_parts
from opendp_topk.tables.grouping import cells_by_group

from ..concepts.examples import COUNTS
from ..concepts.sentinels import SENTINEL_TEXT, raises_exactly


class Frame:
    """A frame with the columns ``item`` and ``score``: no job succeeds, or Spark does not even plan one."""

    __module__ = "pyspark.sql.failing"
    schema = SimpleNamespace(
        fields=[
            SimpleNamespace(name=name, dataType=SimpleNamespace(typeName=lambda: "long")) for name in ("item", "score")
        ]
    )

    def __init__(self, planned: bool) -> None:
        self.planned = planned

    def select(self, *_: str) -> "Frame":
        return self

    def mapInArrow(self, *_: Any) -> Any:
        return SimpleNamespace(collect=failed) if self.planned else failed()

    def toArrow(self) -> Any:
        failed()


def failed() -> None:
    raise RuntimeError(f"Exception thrown for the row of {SENTINEL_TEXT}")


def of_groups(monkeypatch: pytest.MonkeyPatch, frame: Any) -> Callable[[], Any]:
    counted = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(candidates=["a", "b"])
    kind = match_counted_selection(counted >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=1.0))
    assert kind is not None
    monkeypatch.setattr(_spark_groups, "cells_by_group", lambda *_: frame)
    return partial(_spark_groups.select_in_workers, frame, [1, 2], 1, kind, b"", [0, 1])


def of_counts(monkeypatch: pytest.MonkeyPatch, frame: Any) -> Callable[[], Any]:
    """Groups whose counts Spark does not even plan."""
    nw = pytest.importorskip("narwhals")
    release = of_groups(monkeypatch, frame)
    schema = nw.Schema({"reader": nw.Int64(), "book": nw.String(), "town": nw.Int64()})
    rows = SimpleNamespace(collect_schema=lambda: schema, to_native=failed)
    monkeypatch.setattr(_spark_groups, "cells_by_group", lambda _, *more: cells_by_group(rows, *more))  # type: ignore[arg-type]
    return release


def of_scores(monkeypatch: pytest.MonkeyPatch, frame: Any, plan: str = "workers") -> Callable[[], Any]:
    monkeypatch.setattr(_in_parts, "require_determinate", lambda frame: None)
    top = COUNTS >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=1.0)
    return partial(tk.release_spark, top, frame, "item", "score", plan=plan)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("started", [of_groups, of_counts, of_scores, partial(of_scores, plan="collect")])
def test_a_job_that_fails_names_what_to_check(monkeypatch: pytest.MonkeyPatch, started: Any, planned: bool) -> None:
    release = started(monkeypatch, Frame(planned))
    raises_exactly(tk.errors.ForeignError, release, "nothing was released", "see its log", "PYSPARK_PYTHON", "[spark]")
