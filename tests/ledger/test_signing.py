"""Heads that are signed: one changed byte of the line, of the ledger or of the key, and they are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .test_attacks import overwrite, resealed, spend, texts
from .workers import signing_keys

pytest.importorskip("cryptography", reason="heads are signed with cryptography, of the extra sign")

from cryptography.hazmat.primitives import serialization as keys
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

RAW = keys.Encoding.PEM, keys.PrivateFormat.PKCS8, keys.NoEncryption()


@pytest.fixture
def signed(path: Path) -> tuple[tk.Ledger, str, Path]:
    """A ledger, its signed head, and the public key."""
    private, public = signing_keys(path.parent)
    ledger = new(path, 1)
    spend(ledger, 0.25)
    return ledger, ledger.head(sign=private), public


def test_a_signed_head_is_the_head_and_agrees(signed: tuple[tk.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    assert line.split(":")[:2] == [ledger.head(), "ed25519"]
    assert ledger.verify(line, key=key) == []
    spend(ledger, 0.25)
    assert ledger.verify(line, key=key) == []
    assert ledger.head(1, sign=key.with_suffix(".pem")).startswith(ledger.head(1))


def test_one_changed_byte_of_the_line_is_refused(signed: tuple[tk.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    for place, letter in enumerate(line):
        other = line[:place] + chr(ord(letter) ^ 1) + line[place + 1 :]
        try:
            found = ledger.verify(other, key=key)
        except tk.ParameterError:
            continue
        assert any("not signed with this key" in one for one in found), place
    assert any("not signed" in one for one in ledger.verify(ledger.head(), key=key))


def test_another_key_and_another_purpose_are_refused(signed: tuple[tk.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    _, other = signing_keys(key.parent, "other")
    assert any("not signed with this key" in one for one in ledger.verify(line, key=other))
    private = keys.load_pem_private_key(key.with_suffix(".pem").read_bytes(), password=None)
    assert isinstance(private, ed25519.Ed25519PrivateKey)
    bare = f"{ledger.head()}:ed25519:{private.sign(ledger.head().encode()).hex()}"
    assert any("not signed" in one for one in ledger.verify(bare, key=key)), (
        "a signature of the bare text is of no head"
    )


def test_a_ledger_that_was_rewritten_does_not_fit_its_signed_head(
    path: Path, signed: tuple[tk.Ledger, str, Path]
) -> None:
    from opendp_topk.apps.ledger.records import unseal_record

    ledger, line, key = signed
    ledger.close()
    fields = [found.fields for found in map(unseal_record, texts(path)) if found is not None]
    fields[1] = {**fields[1], "label": "nothing of interest"}
    overwrite(path, resealed(fields))
    with tk.Ledger(path) as again:
        assert again.verify() == []
        assert again.verify(line, key=key) != []


def test_a_signed_head_needs_its_key_and_a_key_its_head(signed: tuple[tk.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    raises_exactly(tk.ParameterError, lambda: ledger.verify(line), "give the key")
    raises_exactly(tk.ParameterError, lambda: ledger.verify(key=key), "give the head")
    raises_exactly(tk.LedgerError, lambda: ledger.head(sign=key), "no private Ed25519 key")
    raises_exactly(tk.LedgerError, lambda: ledger.verify(line, key=key.with_suffix(".pem")), "no public Ed25519 key")
    raises_exactly(tk.LedgerError, lambda: ledger.head(sign=key.with_suffix(".none")), "does not exist")


def test_keys_of_other_kinds_are_told_without_a_word_of_them(path: Path, signed: tuple[tk.Ledger, str, Path]) -> None:
    ledger, line, _ = signed
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    locked = ed25519.Ed25519PrivateKey.generate()
    for name, content in {
        "rsa": other.private_bytes(*RAW),
        "locked": locked.private_bytes(*RAW[:2], keys.BestAvailableEncryption(b"a word")),
        "none": b"nonsense",
        "empty": b"",
    }.items():
        file = path.with_name(name)
        file.write_bytes(content)
        raises_exactly(tk.LedgerError, lambda file=file: ledger.head(sign=file), "no private Ed25519 key")
        raises_exactly(tk.LedgerError, lambda file=file: ledger.verify(line, key=file), "no public Ed25519 key")
