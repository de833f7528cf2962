"""A Spark of the tests' own, on loopback, where Java and pyspark are there: one session at a time, each with a Java.

Most modules share one, for it starts for longer than their tests take.
"""

import importlib.util
import ipaddress
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

LOOPBACK = str(ipaddress.ip_network("127.0.0.0/8")[1])
_TASKS = "local[2,4]"  # two at a time; one that fails is tried three times more
# What Java compiles well only pays in processes that last: tests take half of the time without.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
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


class Shared:
    """One session for all modules of a process that need none of their own; it starts where it is first asked for."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._spark: Any = None
        self._running: Iterator[Any] = iter(())

    def get(self) -> Any:
        """The session, which may have served other modules."""
        if self._spark is None:
            self._running = session(self._folder(), more={"spark.driver.extraJavaOptions": BRIEF})
            self._spark = next(self._running)
        return self._spark

    def end(self) -> None:
        """End it, where it runs: a process has one Spark at a time."""
        next(self._running, None)
        self._spark = None


def _end_java() -> None:
    """End the process behind pyspark, which otherwise serves the next session with the settings of this one."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None
