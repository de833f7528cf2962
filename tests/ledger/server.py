"""A PostgreSQL server of the tests' own, from Debian's package, on loopback, in a folder that goes away with it."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

_ACCOUNTS = ("postgres", "nobody")  # the server refuses to run as root


def programs() -> Path:
    """The folder of its programs; skip where there is none, or fail if OPENDP_TOPK_REQUIRE_POSTGRES=1."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if folders and importlib.util.find_spec("psycopg") is not None:
        return folders[-1].parent
    reason = "a ledger on a server is tested with the Debian package postgresql and psycopg, of the extra postgres"
    if os.environ.get("OPENDP_TOPK_REQUIRE_POSTGRES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


_HERE = ".".join(("127", "0", "0", "1"))  # this machine alone


class Server:
    """One server with one database; ``kill`` ends it as a power failure would, ``start`` recovers it."""

    def __init__(self) -> None:
        self.programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-server-"))
        self.data = self.folder / "data"
        self.user = self._account()
        with socket.socket() as probe:
            probe.bind((_HERE, 0))
            self.port = probe.getsockname()[1]
        options = ("-D", str(self.data), "-U", "ledger", "-A", "trust", "-E", "UTF8", "--no-locale")
        subprocess.run([self.programs / "initdb", *options], user=self.user, check=True, capture_output=True)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _account(self) -> int | None:
        if os.geteuid() != 0:
            return None
        known = {one.pw_name: one.pw_uid for one in pwd.getpwall()}
        user = next(known[name] for name in _ACCOUNTS if name in known)
        os.chown(self.folder, user, -1)
        return user

    def start(self) -> None:
        """Start it and wait until it answers."""
        import psycopg

        settings = ("-h", _HERE, "-p", str(self.port), "-k", str(self.folder), "-c", "max_connections=60")
        program = [self.programs / "postgres", "-D", self.data, *settings]
        self.process = subprocess.Popen(
            program, user=self.user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(600):
            try:
                psycopg.connect(self.address(""), connect_timeout=2).close()
                return
            except psycopg.Error:
                time.sleep(0.05)
        raise AssertionError("the server does not start")

    def address(self, name: str) -> str:
        """What to give to a ledger of this name."""
        return f"postgresql://ledger@{_HERE}:{self.port}/postgres" + (name and f"#{name}")

    def kill(self) -> None:
        """End the server and all its processes at once."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        lock = self.data / "postmaster.pid"
        if lock.exists():
            lock.unlink()
        time.sleep(0.2)

    def close(self) -> None:
        """End it for good."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
