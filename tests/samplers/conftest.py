"""What tests of samplers share."""

from fractions import Fraction

import pytest

from opendp_topk.sampling.samplers import bins
from opendp_topk.sampling.samplers import bins as head


@pytest.fixture
def close_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short vectors have a head, too, however large it is."""
    for name, value in {"_MANY": 0, "_EACH": 1, "_SAMPLE": 1, "_LARGEST": 0}.items():
        monkeypatch.setattr(head, name, value)


@pytest.fixture
def wide_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short vectors are in bins, too, some of which hold several candidates, up to four scales apart."""
    sizes = {"_MANY": 0, "_EACH": 1, "_SAMPLE": 2**60, "_LARGEST": 2**40, "_LONG": 0, "_AMONG": 0}
    for name, value in sizes.items():
        monkeypatch.setattr(head, name, value)
    monkeypatch.setattr(bins, "_NARROW", Fraction(1, 4))
    monkeypatch.setattr(bins, "_CHUNK", 3)
