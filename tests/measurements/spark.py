"""What the tests of Spark's workers need of the processes behind them."""

import contextlib
import os
import signal
from pathlib import Path

ATTEMPTS = 3
"""How often a task is tried."""


def kill_workers(worker: int) -> int:
    """Kill the worker with this process id and all that the same daemon has forked; how many there were."""
    daemon = _parent(worker)
    workers = [
        int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and _parent(int(one.name)) == daemon
    ]
    for process in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(workers)


def _parent(process: int) -> int:
    try:
        status = Path("/proc", str(process), "stat").read_text()
    except OSError:
        return -1
    return int(status.rpartition(")")[2].split()[1])
