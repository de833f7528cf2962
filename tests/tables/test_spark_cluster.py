"""Two executors of Spark, processes of their own: one is killed while they count, and one release comes out."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk

from .spark_session import session

pytestmark = pytest.mark.slow

ROWS = 1_000_000  # some seconds of work for two executors, so that one can be killed in the middle


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Any]:
    yield from session(tmp_path, "local-cluster[2,1,768]")


def executors(spark: Any) -> list[int]:
    """The process ids of the executors of this session, and of no other."""
    name = spark.sparkContext.applicationId.encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if name in words and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
            found.append(int(process.name))
    return sorted(found)


def kill_one(spark: Any, killed: list[int]) -> None:
    """Kill an executor as soon as a stage is under way."""
    tracker = spark.sparkContext.statusTracker()
    while not tracker.getActiveStageIds():
        time.sleep(0.05)
    killed.append(executors(spark)[0])
    os.kill(killed[0], signal.SIGKILL)


def test_an_executor_that_is_killed_costs_one_release(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(ROWS).selectExpr("id % 50000 AS member", "(id * 7) % 20 AS work")
    space = tk.FrameDomain("member", "work"), tk.UserDistance()
    count = space >> tk.then_count_by_item(candidates=range(21))
    release = count >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
    while len(executors(spark)) < 2:
        time.sleep(0.1)
    killed: list[int] = []
    killer = threading.Thread(target=kill_one, args=(spark, killed), daemon=True)
    killer.start()
    unit = {"dataset": "loans", "metric": tk.UserDistance()}
    with tk.Ledger(tmp_path / "budget", budget=10.0, measure=release.output_measure, **unit) as ledger:
        assert len(ledger.release(release, rows, d_in=1)) == 1
        assert ledger.spent() == release.map(1)
        assert len(ledger.history()) == 1
    killer.join(timeout=60)
    assert len(killed) == 1
    expected = [len({n % 50000 for n in range(ROWS) if n * 7 % 20 == item}) for item in range(21)]
    assert count(rows).tolist() == expected
    assert killed[0] not in executors(spark)
