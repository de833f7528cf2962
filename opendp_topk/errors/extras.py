"""Modules that are imported on first use: extras, and back ends that do not survive a fork.

A module's import lock does not survive a fork: if a process is forked while another thread imports a module, the child
waits for the lock forever. So this library holds :data:`LOADING` while it imports such a module, and forks wait for it.
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
_PATIENCE = 10.0  # seconds; an import takes much less
_TASKS = "/proc/self/task"  # the threads of this process, on Linux
_POOL = ("polars-0", "async-executor-", "tokio-rt-worker")  # names of polars' worker threads
_LOST: set[str] = set()  # packages whose threads were lost when this process was forked


def import_extra(module: str, need: str, extra: str) -> Any:
    """Return a module of another library; import it if necessary.

    Args:
        module: The name of the module.
        need: The beginning of the error message, such as "tables need narwhals".
        extra: The argument of ``pip install`` in the message.
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
        f"{need}, which is installed but cannot be imported ({type(failure).__name__}{where}): check that "
        "none of your files has the name of a module that it imports, such as secrets.py, or reinstall it"
    ) from failure


def require_threads() -> None:
    """Raise if this process was forked after polars had started its threads: polars would wait for them forever.

    If the system does not list threads, polars counts as started once it is imported.
    """
    if "polars" in _LOST:
        raise TableError(
            "tables cannot be read in this process: it was forked after polars had started its threads, and would wait "
            "for them forever. Start such processes with spawn: multiprocessing.get_context('spawn')"
        )


def _is_loading() -> bool:
    """Return True if a module of this package is being imported, possibly without the lock: inside a function."""
    return any(name.startswith(_OWN) and _is_initialising(module) for name, module in [*sys.modules.items()])


def _is_initialising(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _has_pool() -> bool:
    with contextlib.suppress(OSError):
        return any(_thread_name(task).startswith(_POOL) for task in os.listdir(_TASKS))
    return True


def _thread_name(task: str) -> str:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
        return Path(_TASKS, task, "comm").read_text(errors="replace")
    return ""


def _lock_across_forks(lock: threading.RLock) -> threading.RLock:
    """Return ``lock``, after making forks wait for it and for running imports of modules of this package."""

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
"""Lock for work that a process does once: import a public name or an extra, or read a proof. A fork waits for it."""
