"""On which kind of file system a file lies: locks of those that other machines write to are not relied on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_REMOTE = (
    *(
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
    ),
    *("fuse.sshfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2", "smb3"),
    *("smbfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.goofys", "fuse.juicefs", "fuse.curlftpfs"),
)


def remote(device: int, table: str | None = None) -> str | None:
    """The kind of the file system on ``device``, if other machines may write to it too; None where none is known.

    ``table`` is that of Linux, one mount a line; other systems have none, and there nothing is known.
    """
    numbers = f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"
    for line in (_table() if table is None else table).splitlines():
        fields, _, rest = line.partition(" - ")
        if numbers in fields.split()[2:3] and rest.split()[:1] and rest.split()[0] in _REMOTE:
            return rest.split()[0]
    return None


def _table() -> str:
    if not sys.platform.startswith("linux"):
        return ""
    try:
        return os.fsdecode(Path("/proc/self/mountinfo").read_bytes())
    except OSError:
        return ""
