"""Where Python runs without POSIX: every name that only POSIX has is hidden, and the library is used."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.concepts.processes import printed

ROOT = Path(__file__).parents[2]
HIDDEN = """
import importlib.abc, os, signal, sys
import getpass, mpmath, multiprocessing, numpy, gmpy2, pathlib, random, shutil, subprocess, tempfile
import threading, uuid
try:
    import narwhals, polars, rich.console, typer.testing
except ImportError:
    pass
MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
NAMES = (
    "chown", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getpgid", "getpgrp", "getuid",
    "kill",
    "killpg", "lchown", "lockf", "mkfifo", "nice", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "setgid",
    "setsid", "setuid", "statvfs", "sync", "uname", "wait", "waitpid", "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK",
    "O_SYNC",
)
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
for name in MODULES:
    sys.modules.pop(name, None)
for name in NAMES:
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "alarm", "setitimer", "pthread_kill"):
    if hasattr(signal, name):
        delattr(signal, name)
open_ = os.open
def no_folders(path, *rest, **named):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied")
    return open_(path, *rest, **named)
os.open = no_folders
"""
MSVCRT = """
import types
held = {}
def locking(handle, mode, size):
    found = os.fstat(handle)
    key = found.st_dev, found.st_ino
    if mode == 2 and held.get(key, handle) != handle or (mode == 2 and key in held):
        raise PermissionError(13, "Permission denied")
    if mode == 2:
        held[key] = handle
    else:
        del held[key]
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0)
"""
USE = """
import opendp_topk as tk
space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
top = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=4.0)
assert len(top([3, 1, 2])) == 2 and top.map(1) == 0.5 and top.proof.status == "current"
folder = tempfile.mkdtemp()
path = os.path.join(folder, "budget.ledger")
unit = {"budget": 1, "measure": tk.MaxDivergence(), "dataset": "votes", "metric": space[1]}
"""
LEDGER = """
with tk.ledger.Ledger.create(path, **unit) as ledger:
    assert len(ledger.release(top, [3, 1, 2])) == 2 and ledger.spent() == 0.5 and ledger.verify(ledger.head()) == []
    assert os.listdir(folder) == ["budget.ledger"]
"""
REFUSED = """
with tk.ledger.Ledger.create(path, **unit) as ledger:
    try:
        ledger.release(top, [3, 1, 2])
    except tk.errors.LedgerError as error:
        assert "this Python does not support file locks: use PostgreSQL. Nothing was released" in str(error)
    assert ledger.spent() == 0.0
"""
COMMAND = """
from opendp_topk.apps.cli.app import app
done = typer.testing.CliRunner().invoke(app, ["ledger", "create", path, "--dataset", "votes", "--epsilon", "1"])
assert done.exit_code == 0, done.output
done = typer.testing.CliRunner().invoke(app, ["plan", "top-k", "--k", "3", "--candidates", "50", "--epsilon", "1"])
assert done.exit_code == 0, done.output
"""


def run(script: str) -> None:
    printed("-c", script)


@pytest.mark.slow
@pytest.mark.parametrize("last", ["ledger", "refused", "command"])
def test_no_name_of_posix_is_needed(last: str) -> None:
    """Locks are those of Windows, as far as a stand-in shows; without any, the ledger alone refuses."""
    if last == "command":
        pytest.importorskip("typer", reason="the command needs the extra cli")
    script = {"ledger": LEDGER, "refused": REFUSED, "command": COMMAND}[last]
    run(HIDDEN + ("" if last == "refused" else MSVCRT) + USE + script)


@pytest.mark.slow
def test_what_is_hidden_is_hidden() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN + "import fcntl"], capture_output=True, text=True, check=False)
    assert "No module named 'fcntl'" in done.stderr
