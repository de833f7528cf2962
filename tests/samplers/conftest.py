"""What tests of samplers share."""

from __future__ import annotations

import pytest

from opendp_topk.samplers import head


@pytest.fixture
def close_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short vectors have a head, too, however large it is."""
    for name, value in {"_MANY": 0, "_EACH": 1, "_SAMPLE": 1, "_LARGEST": 0}.items():
        monkeypatch.setattr(head, name, value)
