"""A Spark session in this machine, and what its tests need of the processes behind it."""

from __future__ import annotations

import ipaddress
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LOOPBACK = str(ipaddress.ip_network("127.0.0.0/8")[1])
ATTEMPTS = 3
"""How often a task is tried."""


@contextmanager
def session() -> Iterator[Any]:
    """Two workers with the Python of the tests, no page, no port that others reach."""
    if shutil.which("java") is None and not os.environ.get("OPENDP_TOPK_REQUIRE_SPARK"):
        pytest.skip("no Java: apt install default-jre-headless")
    sql = pytest.importorskip("pyspark.sql") if not os.environ.get("OPENDP_TOPK_REQUIRE_SPARK") else None
    if sql is None:
        import pyspark.sql as sql
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.sql.shuffle.partitions": "4",
    }
    builder = sql.SparkSession.builder.master(f"local[2,{ATTEMPTS}]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def kill_workers(worker: int) -> int:
    """Kill the worker with this process id and all that the same daemon has forked; how many there were."""
    daemon = _parent(worker)
    workers = [
        int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and _parent(int(one.name)) == daemon
    ]
    for process in workers:
        os.kill(process, signal.SIGKILL)
    return len(workers)


def _parent(process: int) -> int:
    try:
        status = Path("/proc", str(process), "stat").read_text()
    except OSError:
        return -1
    return int(status.rpartition(")")[2].split()[1])
