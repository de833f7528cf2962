"""A Spark of the tests' own, in local mode on loopback, where Java and pyspark are there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

_TASKS = "local[2,4]"  # two at a time; one that fails is tried three times more


def require_spark() -> None:
    """Skip where there is no Java or no pyspark, or fail if OPENDP_TOPK_REQUIRE_SPARK=1."""
    if shutil.which("java") and importlib.util.find_spec("pyspark"):
        return
    reason = "tables of Spark are tested with the Debian package default-jre-headless and pyspark, of the extra spark"
    if os.environ.get("OPENDP_TOPK_REQUIRE_SPARK") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def session(folder: Path, master: str = _TASKS, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Any]:
    """The session, with ``more`` settings, and its end; its workers run the Python of the tests."""
    require_spark()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    here = ".".join(("127", "0", "0", "1"))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": here,
        "spark.driver.bindAddress": here,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        **more,
    }
    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()
