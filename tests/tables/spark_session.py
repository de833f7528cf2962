"""A Spark of the tests' own, on loopback, where Java and pyspark are there: each session with a Java of its own."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

LOOPBACK = str(ipaddress.ip_network("127.0.0.0/8")[1])
_TASKS = "local[2,4]"  # two at a time; one that fails is tried three times more
_ROOT = str(Path(__file__).parents[2])


def require_spark() -> None:
    """Skip where there is no Java or no pyspark, or fail if OPENDP_TOPK_REQUIRE_SPARK=1."""
    if shutil.which("java") and importlib.util.find_spec("pyspark"):
        return
    reason = "tables of Spark are tested with the Debian package default-jre-headless and pyspark, of the extra spark"
    if os.environ.get("OPENDP_TOPK_REQUIRE_SPARK") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def session(folder: Path, master: str = _TASKS, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Any]:
    """The session, with ``more`` settings, and its end; its workers run this Python and find these tests."""
    require_spark()
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": _ROOT,
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        **more,
    }
    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
        _end_java()


def _end_java() -> None:
    """End the process behind pyspark, which otherwise serves the next session with the settings of this one."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None
