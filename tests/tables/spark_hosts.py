"""A cluster of Spark whose two workers seem to be two machines, each with an address of its own on loopback.

Spark tries a slow task a second time only on another machine, and the workers of ``local-cluster`` are all on one.
"""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .spark_session import BRIEF, require_spark, session

DRIVER, *HOSTS = (str(ipaddress.ip_network("127.0.0.0/8")[at]) for at in (1, 2, 3))
MEMORY = 512
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
}


@contextmanager
def two_hosts(folder: Path) -> Iterator[Any]:
    """A session that runs a slow task twice at once, with two executors of one core, each on a host of its own."""
    require_spark()
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized(conf=SparkConf(False).set("spark.driver.extraJavaOptions", BRIEF))
    more = SPECULATION | {"spark.executor.extraJavaOptions": BRIEF}
    yield from session(folder, _start(SparkContext._gateway, folder), more)


def _start(gateway: Any, folder: Path) -> str:
    """Start a master and a worker a host in the driver's Java, with which they end; the address of the master."""
    jvm, deploy = gateway.jvm, gateway.jvm.org.apache.spark.deploy
    rooms = (deploy.master, "Master$"), (deploy.worker, "Worker$")
    master, worker = (getattr(getattr(room, name), "MODULE$") for room, name in rooms)
    conf = jvm.org.apache.spark.SparkConf(False)
    started = master.startRpcEnvAndEndpoint(DRIVER, 0, 0, conf)._1()
    masters = gateway.new_array(jvm.java.lang.String, 1)
    masters[0] = f"spark://{DRIVER}:{started.address().port()}"
    place, nothing = str(folder / "work"), jvm.scala.Option.empty()
    for number, host in enumerate(HOSTS):
        some = jvm.scala.Some(number)
        worker.startRpcEnvAndEndpoint(host, 0, 0, 1, MEMORY, masters, place, some, conf, nothing)
    return str(masters[0])
