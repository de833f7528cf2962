"""A PostgreSQL server of the tests' own, from Debian's package, on loopback, in a folder that goes away with it."""

import contextlib
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
from typing import Any

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


HERE = ".".join(("127", "0", "0", "1"))  # this machine alone


class Server:
    """One server with one database, or a standby ``of`` another.

    ``kill`` ends it as a power failure would, ``start`` recovers it.
    """

    def __init__(self, of: "Server | None" = None) -> None:
        self.programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-server-"))
        self.data = self.folder / "data"
        self.database = "postgres" if of is None else of.database
        self.user = self._account()
        with socket.socket() as probe:
            probe.bind((HERE, 0))
            self.port = probe.getsockname()[1]
        command = ["initdb", "-D", self.data, "-U", "ledger", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]
        if of is not None:
            command = ["pg_basebackup", "-D", self.data, "-R", "-c", "fast", "-d", of.address("")]
        subprocess.run([self.programs / command[0], *command[1:]], user=self.user, check=True, capture_output=True)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _account(self) -> int | None:
        if os.geteuid() != 0:
            return None
        known = {one.pw_name: one.pw_uid for one in pwd.getpwall()}
        user = next(known[name] for name in _ACCOUNTS if name in known)
        os.chown(self.folder, user, -1)
        return user

    def twin(self) -> "Server":
        """A standby of this server."""
        return Server(self)

    def start(self) -> None:
        """Start it and wait until it answers."""
        import psycopg

        settings = ("-h", HERE, "-p", str(self.port), "-k", str(self.folder), "-c", "max_connections=60")
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

    def address(self, name: str, account: str = "ledger", database: str = "") -> str:
        """What to give to a ledger of this name."""
        return f"postgresql://{account}@{HERE}:{self.port}/{database or self.database}" + (name and f"#{name}")

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the last of these statements returns to the administrator."""
        import psycopg

        with psycopg.connect(self.address(""), autocommit=True) as connection:
            for statement in statements:
                found = connection.execute(statement)  # type: ignore[arg-type]
            return found.fetchall() if found.description else []

    def set(self, **settings: str) -> None:
        """Change settings of the server, now and after each start; some take effect at the next start alone."""
        changes = [f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items()]
        self.sql(*changes, "SELECT pg_reload_conf()")

    def fast(self) -> None:
        """End it as ``pg_ctl stop -m fast`` does: connections are closed, and what is in memory is written."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def promote(self) -> None:
        """Make a standby a server of its own."""
        self.sql("SELECT pg_promote()")

    def stop(self) -> None:
        """End it as ``pg_ctl stop -m immediate`` does: at once, without writing what is in memory."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def kill(self) -> None:
        """End the server and all its processes at once."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
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
