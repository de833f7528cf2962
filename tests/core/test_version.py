"""The library says which version runs."""

from __future__ import annotations

from importlib import metadata

import pytest

import opendp_topk as tk


def test_the_version_is_the_installed_one() -> None:
    assert tk.__version__ == metadata.version("opendp_topk")
    assert "__version__" in dir(tk)


def test_sources_that_nobody_installed_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert tk.__version__ == "unknown"
