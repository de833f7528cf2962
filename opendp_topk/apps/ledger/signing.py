"""Heads that are signed by Ed25519: that the holder of a key has seen the ledger's records, as they were up to one."""

from __future__ import annotations

import os
import re
from typing import Any

from ...errors import LedgerError, ParameterError
from ...errors.extras import load
from ...errors.files import quoted, read_ordinary

_LINE = re.compile(r"(\d{1,18}-[0-9a-f]{64})(?::ed25519:([0-9a-f]{128}))?", re.ASCII)
_PURPOSE = "opendp_topk ledger head "  # signed with each head, so that a signature of something else is none of a head
_MOST = 2**16  # bytes of a file with a key


def signed(head: str, key: str | os.PathLike[str]) -> str:
    """``head`` with its signature, in one line.

    Raises:
        LedgerError: The file is no private Ed25519 key in PEM without a password.
        MissingExtraError: The library for signatures is missing.
    """
    keys, kind = _library()
    content = _content(key)
    try:
        found = keys.load_pem_private_key(content, password=None)
    except Exception:  # what is wrong with a key is told in words of our own, which hold nothing of it
        found = None
    if not isinstance(found, kind.Ed25519PrivateKey):
        raise LedgerError(
            f"{quoted(os.fspath(key))} is no private Ed25519 key in PEM without a password: "
            "openssl genpkey -algorithm ed25519 makes one"
        )
    return f"{head}:ed25519:{found.sign((_PURPOSE + head).encode('ascii')).hex()}"


def told(line: Any) -> tuple[str, str | None]:
    """The head of a line that was kept, and its signature, if it has one.

    Raises:
        ParameterError: It is no such line.
    """
    found = _LINE.fullmatch(line.strip()) if isinstance(line, str) else None
    if found is None:
        raise ParameterError("head must be a line that `head` printed")
    return found[1], found[2]


def is_signed(line: Any, key: str | os.PathLike[str]) -> bool:
    """Whether the holder of the private part of ``key``, a public Ed25519 key in PEM, has signed this very line.

    Raises:
        ParameterError: The line is no head.
        LedgerError: The file is no such key.
        MissingExtraError: The library for signatures is missing.
    """
    keys, kind = _library()
    head, signature = told(line)
    content = _content(key)
    try:
        found = keys.load_pem_public_key(content)
    except Exception:
        found = None
    if not isinstance(found, kind.Ed25519PublicKey):
        raise LedgerError(
            f"{quoted(os.fspath(key))} is no public Ed25519 key in PEM: openssl pkey -pubout makes that of another"
        )
    try:
        found.verify(bytes.fromhex(signature or ""), (_PURPOSE + head).encode("ascii"))
    except Exception:
        return False
    return signature is not None


def _content(key: str | os.PathLike[str]) -> bytes:
    return read_ordinary(key, "the key", LedgerError, at_most=_MOST)


def _library() -> tuple[Any, Any]:
    names = ("serialization", "asymmetric.ed25519")
    keys, kind = (
        load(f"cryptography.hazmat.primitives.{one}", "signatures need cryptography", "opendp_topk[sign]")
        for one in names
    )
    return keys, kind
