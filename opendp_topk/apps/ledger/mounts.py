"""On which kind of file system a file lies, as Linux tells it: on some kinds a ledger cannot be sure of its records.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import os
import sys

from ...errors import ParameterError

_REMOTE = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"),
    *("nfs4", "ocfs2", "orangefs", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
)
_MEMORY = "devtmpfs", "hugetlbfs", "ramfs", "rootfs", "tmpfs"
_LAYERS = "aufs", "overlay", "overlayfs", "unionfs"
UNKNOWN = "unknown"  # the system has a table of mounts, and the file's is not in it, as below a changed root
_WHY = {
    UNKNOWN: "for the table of mounts that this process may read has no line of it, as below a changed root",
    **dict.fromkeys(_REMOTE, "to which other machines write too, so that its locks are not relied on"),
    **dict.fromkeys(_MEMORY, "which is in memory: nothing there is on a disk"),
    **dict.fromkeys(_LAYERS, "in which each mount over the same folder has the whole budget again"),
}
_FUSE = "which a program keeps, so that its locks and its disk are not relied on"


def doubt(kind: str | None) -> str:
    """Why a ledger cannot rely on a kind of file system; nothing where it can, or where nothing is known."""
    if kind is None:
        return ""
    return _FUSE if kind == "fuse" or kind.startswith("fuse.") else _WHY.get(kind, "")


def accepted(kind: str | None) -> frozenset[str]:
    """What a caller accepts, who names a kind that would be refused.

    Raises:
        ParameterError: It is none.
    """
    if kind is None:
        return frozenset()
    if not isinstance(kind, str) or not doubt(kind):
        raise ParameterError(
            "accept_file_system must be the kind of file system that an error named, such as 'overlay' or 'tmpfs'"
        )
    return frozenset((kind,))


# proof-region: mounts
def kind_of(handle: int) -> str | None:
    """The kind of file system on which the open file lies; None where the system has no table of mounts.

    Raises:
        OSError: There is one, and it cannot be read, as where no descriptor is left.
    """
    table = _text("/proc/self/mountinfo")
    if table is None:
        return None
    found = listed(table, _mount(_text(f"/proc/self/fdinfo/{handle}") or ""), os.fstat(handle).st_dev)
    return UNKNOWN if found is None else found  # [unlisted]


def listed(table: str, mount: str | None, device: int) -> str | None:
    """The kind that Linux's ``table`` of mounts has for a mount's number, or for a device where that is not known.

    A file of an overlay may have the device of the folder below it, so that the device alone does not tell.
    """
    numbers = f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        found = fields.split()
        if len(found) > 2 and rest.split() and (found[0] == mount if mount else found[2] == numbers):  # [mounted]
            return rest.split()[0]
    return None


def _mount(told: str) -> str | None:
    """The number of the mount through which a file was opened."""
    for line in told.splitlines():
        if line.startswith("mnt_id:"):
            return line.split()[1]
    return None


def _text(name: str) -> str | None:
    """What the system tells under a name: None where there is none, as without /proc, and nothing where it may not."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        with open(name, "rb", buffering=0) as stream:
            return os.fsdecode(stream.readall())
    except (FileNotFoundError, NotADirectoryError):  # [missing-alone]
        return None
    except PermissionError:
        return ""


# end-proof-region: mounts
