"""File systems on which a ledger cannot rely: refused unless they are named, and then told. Real mounts, where allowed.

Tries proofs/ledger/storage.tex.
"""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files as mounts
from opendp_topk.errors import LedgerError, ParameterError
from tests.concepts.processes import ROOT
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .test_processes import run
from .workers import costing

DOUBTED = (
    *("tmpfs", "ramfs", "overlay", "overlayfs", "aufs", "fuse", "fuse.sshfs", "fuse.anything", "9p", "nfs", "nfs4"),
    *("cifs", "smb3", "virtiofs", "ceph", "lustre"),
)
KIND_OF = mounts.file_system_kind
RELIED_ON = "ext4", "xfs", "btrfs", "zfs", "f2fs", "fuseblk", "vfat", None


def on(kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "file_system_kind", lambda handle: kind)


@pytest.mark.parametrize("kind", DOUBTED)
def test_a_kind_not_relied_on_is_refused_unless_named(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on(kind, monkeypatch)
    raises_exactly(LedgerError, lambda: new(path, 4), f"its file system is {kind}", f"accept_file_system='{kind}'")
    assert list(path.parent.iterdir()) == []
    with new(path, 4, accept_file_system=kind) as ledger:
        ledger.release(costing(1.0), [1])
    with tk.ledger.Ledger(path) as again:
        again.release(costing(1.0), [1])
        assert (again.spent(), again.accepted, again.verify()) == (2.0, (kind,), [])


@pytest.mark.parametrize("kind", RELIED_ON)
def test_others_are_not(path: Path, kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    on(kind, monkeypatch)
    with new(path, 4) as ledger:
        ledger.release(costing(1.0), [1])
        assert ledger.accepted == ()
    raises_exactly(ParameterError, lambda: tk.ledger.Ledger(path, accept_file_system=kind or "x"), "accept_file_system")


def test_a_moved_ledger_is_read_and_takes_debits_once_accepted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new(path, 4).close()
    on("overlay", monkeypatch)
    drawn: list[int] = []
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.verify()) == (0.0, [])
        mine = costing(1.0, function=drawn.append)
        raises_exactly(LedgerError, lambda: ledger.release(mine, [1]), "has the whole budget again")
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(path, accept_file_system="tmpfs"), "overlay")
    with (
        tk.ledger.Ledger(path, accept_file_system="overlay") as ledger,
        tk.ledger.Ledger(path, accept_file_system="overlay") as again,
    ):
        ledger.release(mine, [1])
        again.release(mine, [1])
        assert (ledger.spent(), ledger.accepted, ledger.count(), ledger.verify()) == (2.0, ("overlay",), 2, [])
        assert len(list(ledger._journal.log.iter_records())) == 6, "it is said once"
    on("tmpfs", monkeypatch)
    with tk.ledger.Ledger(path, accept_file_system="tmpfs") as ledger:
        assert ledger.accepted == ("overlay", "tmpfs")
        head = ledger.head()
        assert ledger.verify(head) == []
    assert len(drawn) == 2


def test_only_a_record_of_its_own_accepts(path: Path) -> None:
    from .test_attacks import overwrite, resealed, texts

    with new(path, 4) as ledger:
        ledger.release(costing(1.0), [1])
    fields = [json.loads(one[65:]) for one in texts(path)]
    fields[2]["accepted"] = ["overlay"]
    overwrite(path, resealed(fields))
    assert tk.ledger.Ledger(path).verify() == ["record 2 has a total that does not match the earlier records"]


def mounted(script: str, *arguments: object) -> str:
    """What a script prints that runs as root of a mount namespace of its own; the test is skipped where none may be."""
    command = ["unshare", "-m", "sh", "-ec", script, sys.executable, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    except FileNotFoundError:
        pytest.skip("this system has no `unshare`")
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"mounts need a right that this account does not have: {done.stderr.strip()[-100:]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


OVERLAYS = """
mount -t tmpfs none "$1" || exit 77
cd "$1"
mkdir lower one one-upper one-work two two-upper two-work
cp "$2" lower/budget.ledger
for name in one two; do
    mount -t overlay overlay -o lowerdir=lower,upperdir=$name-upper,workdir=$name-work $name || exit 77
done
here=$PWD
cd "$3"
for name in one two; do "$0" -m tests.ledger.workers releases "$here/$name/budget.ledger" $4; done
"""


OVER_A_DISK = """
cd "$1"
mkdir one two
mount -t tmpfs none two || exit 77
mkdir two/upper two/work
mount -t overlay overlay -o lowerdir="$2",upperdir=two/upper,workdir=two/work one || exit 77
here=$PWD
cd "$3"
"$0" -m tests.ledger.workers releases "$here/one/budget.ledger"
"""


BELOW_A_ROOT = """
mount -t tmpfs none "$1" || exit 77
cd "$1"
mkdir -p lower/jail one-upper one-work one two-upper two-work two
cp "$2" lower/jail/budget.ledger
for name in one two; do
    mount -t overlay overlay -o lowerdir=lower,upperdir=$name-upper,workdir=$name-work $name || exit 77
    for folder in /bin /dev /etc /lib /lib64 /proc /usr $4; do
        [ -d "$folder" ] || continue
        mkdir -p "$name/jail$folder"
        mount --rbind "$folder" "$name/jail$folder"
    done
    chroot $name/jail sh -ec 'cd "$1"; "$0" -Bm tests.ledger.workers releases /budget.ledger $2' "$0" "$3" $5
done
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "kind", "accept", "mounts_made"),
    [(OVERLAYS, "overlay", "", 2), (OVERLAYS, "overlay", "overlay", 2), (OVER_A_DISK, "overlay", "", 1),
     (BELOW_A_ROOT, "unknown", "", 2), (BELOW_A_ROOT, "unknown", "unknown", 2)],
    ids=["two of one folder", "two, accepted", "of a folder on a disk", "below a root", "below a root, accepted"],
)  # fmt: skip
def test_overlays_release_nothing_by_default(path: Path, script: str, kind: str, accept: str, mounts_made: int) -> None:
    """Stated, each of two releases the whole budget, which is what the error says of such mounts.

    Files may have the device of the folder below, and the table of mounts may have no line of a mount point outside of
    the root.
    """
    new(path, 2).close()
    folder = path.parent / "mounted"
    folder.mkdir()
    code = " ".join({str(one) for one in (ROOT, sys.prefix, sys.base_prefix, *sys.path) if os.path.isdir(one)})
    given = {OVERLAYS: (path, ROOT, accept), OVER_A_DISK: (path.parent, ROOT), BELOW_A_ROOT: (path, ROOT, code, accept)}
    found = [json.loads(line) for line in mounted(script, folder, *given[script]).splitlines()]
    assert [(one["released"], one["accepted"]) for one in found] == [(2, [kind]) if accept else (0, [])] * mounts_made
    assert accept or all(f"its file system is {kind}" in one["told"] for one in found)


@pytest.mark.parametrize("table", ["", "20 1 0:5 / / rw - ext4 none rw"])
def test_an_unlisted_file_is_refused_unless_stated(path: Path, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "file_system_kind", KIND_OF)
    monkeypatch.setattr(mounts, "_read_proc_file", lambda name: table if "mountinfo" in name else "mnt_id: 7")
    raises_exactly(LedgerError, lambda: new(path, 4), "its file system is unknown", "accept_file_system='unknown'")
    with new(path, 4, accept_file_system="unknown") as ledger:
        ledger.release(costing(1.0), [1])
        assert ledger.accepted == ("unknown",)


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO])
@pytest.mark.parametrize("name", ["mountinfo", "fdinfo"])
def test_only_a_system_without_a_table_of_mounts_is_taken_at_its_word(
    path: Path, name: str, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that cannot be read, as where no descriptor is left, is no reason to go on."""
    ledger, real = new(path, 4), open

    def failing(what: Any, *given: Any, **more: Any) -> Any:
        if name in str(what):
            raise OSError(error, os.strerror(error))
        return real(what, *given, **more)

    monkeypatch.setattr(mounts, "file_system_kind", KIND_OF)
    monkeypatch.setattr(mounts.sys, "platform", "linux")
    monkeypatch.setattr("builtins.open", failing)
    raises_exactly(LedgerError, lambda: ledger.release(costing(1.0), [1]), os.strerror(error))
    error = errno.ENOENT
    ledger.release(costing(1.0), [1])
    assert ledger.spent() == 1.0


@pytest.mark.further
def test_few_free_descriptors_do_not_hide_the_kind_of_file_system(path: Path) -> None:
    """With every number of them a release from memory is refused, for whatever reason."""
    folder = Path("/dev/shm")
    if not folder.is_dir() or not os.access(folder, os.W_OK) or KIND_OF is not mounts.file_system_kind:
        pytest.skip("there is no file system in memory here")
    assert run("descriptors", folder) == [[0] * 8]


IN_MEMORY = """
mount -t $3 none "$1" || exit 77
cd "$2"
"$0" -m tests.ledger.workers creates "$1/budget.ledger"
"$0" -m tests.ledger.workers creates "$1/budget.ledger" $3
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tmpfs", "ramfs"])
def test_nothing_is_created_in_memory_unless_it_is_accepted(tmp_path: Path, kind: str) -> None:
    refused, made = map(json.loads, mounted(IN_MEMORY, tmp_path, ROOT, kind).splitlines())
    assert f"its file system is {kind}, which is in memory" in refused["told"]
    assert made == {"released": 1, "accepted": [kind], "told": ""}


def test_the_command_states_it_and_shows_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typer = pytest.importorskip("typer.testing")
    from opendp_topk.apps.cli.app import app

    def told(*line: Any) -> str:
        done = typer.CliRunner().invoke(app, ["ledger", *map(str, line)])
        assert done.exit_code == 0, done.output
        return str(done.output)

    on("tmpfs", monkeypatch)
    create = "create", path, "--dataset", "votes", "--epsilon", 1
    refused = typer.CliRunner().invoke(app, ["ledger", *map(str, create)])
    assert refused.exit_code == 1
    assert "for a new ledger with --accept-file-system" in refused.output
    assert "tmpfs: accepted, without guarantees" in told(*create, "--accept-file-system", "tmpfs")
    assert "tmpfs: accepted, without guarantees" in told("show", path)
    on("9p", monkeypatch)
    assert (
        typer.CliRunner().invoke(app, ["ledger", "reserve", str(path), "--amount", "1", "--label", "x"]).exit_code == 1
    )
    assert "9p" in told("accept", path, "9p")
    told("reserve", path, "--amount", 1, "--label", "x")
    assert json.loads(told("show", path, "--json"))["accepted"] == ["9p", "tmpfs"]
    assert "consistent" in told("verify", path)


@pytest.mark.parametrize("kind", [b"overlay", "ext4", "", 7, "fuseblk", "Overlay"])
def test_only_a_kind_that_is_refused_can_be_accepted(path: Path, kind: Any) -> None:
    raises_exactly(ParameterError, lambda: new(path, 1, accept_file_system=kind), "accept_file_system must be")
    assert not os.path.exists(path)
    at = "postgresql://host/votes"
    raises_exactly(ParameterError, lambda: tk.ledger.Ledger(at, accept_file_system=kind), "must be the server")


@pytest.mark.parametrize(("device", "numbers"), [(0x11110370, "259:70000"), (0x801, "8:1")])
def test_a_device_is_found_by_its_numbers(device: int, numbers: str) -> None:
    table = f"20 1 0:5 / / rw - tmpfs none rw\n21 1 {numbers} / /home rw shared:1 - ext4 /dev/x rw"
    assert mounts.find_mount_kind(table, None, device) == "ext4"
