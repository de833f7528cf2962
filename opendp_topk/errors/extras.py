"""Modules that are loaded when they are first needed: extras, and back ends that do not survive a fork.

A module's lock does not survive a fork: a child that was forked while another thread loaded a module would wait for it
for ever. So what this library loads late is loaded under :data:`LOADING`, for which a fork waits.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from . import MissingExtraError, TableError

_OWN = __name__.partition(".")[0] + "."
_PATIENCE = 10.0  # seconds: loading takes moments
_TASKS = "/proc/self/task"  # the threads of this process, on Linux
_POOL = ("polars-0", "async-executor-", "tokio-rt-worker")  # names of the threads that do the work of polars
_LOST: set[str] = set()  # packages whose threads were not forked with this process


def import_extra(module: str, need: str, extra: str) -> Any:
    """The module of another library, which is imported if it was not.

    Args:
        module: Its name.
        need: What an error begins with, such as "tables need narwhals".
        extra: What ``pip install`` is to be given.

    Raises:
        MissingExtraError: It is not installed, or it is and its import fails; the failure is the error's cause.
    """
    if sys.modules.get(module) is not None and not _is_initialising(sys.modules[module]):
        return sys.modules[module]
    with LOADING:
        try:
            return importlib.import_module(module)
        except Exception as error:
            failure = error
    if isinstance(failure, ModuleNotFoundError) and failure.name and f"{module}.".startswith(f"{failure.name}."):
        raise MissingExtraError(f'{need}: pip install "{extra}"') from failure
    where = f" from {failure.name}" if isinstance(failure, ImportError) and failure.name else ""
    raise MissingExtraError(
        f"{need}, which is installed and cannot be imported ({type(failure).__name__}{where}): check that no file "
        "beside yours has the name of a module that it needs, such as secrets.py, or install it again"
    ) from failure


def require_threads() -> None:
    """Raise if this process was forked from one in which polars had started its threads: it would wait for them.

    Where the system does not list threads, polars counts as started once it is loaded.

    Raises:
        TableError: It was.
    """
    if "polars" in _LOST:
        raise TableError(
            "tables cannot be read in this process: it was forked after polars had started its threads, for which it "
            "would wait for ever. Start such processes by spawn: multiprocessing.get_context('spawn')"
        )


def _is_loading() -> bool:
    """Whether a module of this package is being loaded that is not under the lock: one that a function imports."""
    return any(name.startswith(_OWN) and _is_initialising(module) for name, module in [*sys.modules.items()])


def _is_initialising(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _has_pool() -> bool:
    with contextlib.suppress(OSError):
        return any(_thread_name(task).startswith(_POOL) for task in os.listdir(_TASKS))
    return True


def _thread_name(task: str) -> str:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return Path(_TASKS, task, "comm").read_text(errors="replace")
    return ""


def _lock_across_forks(lock: threading.RLock) -> threading.RLock:
    """``lock``, for which a fork waits, and for modules of this package that a function of another thread imports."""

    started = False

    def acquire_before_fork() -> None:
        nonlocal started
        lock.acquire()
        end = time.monotonic() + _PATIENCE
        while _is_loading() and time.monotonic() < end:
            time.sleep(0.001)
        started = "polars" in sys.modules and _has_pool()

    def release_in_child() -> None:
        if started:
            _LOST.add("polars")
        lock.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=acquire_before_fork, after_in_parent=lock.release, after_in_child=release_in_child)
    return lock


LOADING = _lock_across_forks(threading.RLock())
"""Held while a process does what it does once: load a name or an extra, read a proof. A fork waits for it."""
