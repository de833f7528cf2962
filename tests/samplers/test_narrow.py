"""Scores of fewer than 64 bits race as the same numbers of 64 bits do: with the same digits, the same winners."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import race
from opendp_topk.spaces.domains import find_block_maxima

from .recorder import Recorder
from .streams import Streams

D = 17 * 4096 + 33
SHAPES = {
    "spread": lambda rng, ends: rng.integers(*ends, D, endpoint=True),
    "equal": lambda rng, ends: np.full(D, ends[1]),
    "extremes": lambda rng, ends: np.where(rng.random(D) < 0.001, ends[1], ends[0]),
    "steps": lambda rng, ends: np.arange(D) * 100 // D,
}


def _typed(shape: str, dtype: Any) -> Any:
    kind = np.dtype(dtype).kind
    ends = (-1000, 1000) if kind == "f" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    values = SHAPES[shape](np.random.default_rng(5), ends).astype(dtype)
    return values / dtype(7) if kind == "f" else values


@pytest.mark.further
@pytest.mark.quick(dtype="float32", shape="spread", sign=1)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.float16, np.float32])
def test_the_type_of_the_scores_changes_no_winner(
    dtype: Any, shape: str, sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = _typed(shape, dtype)
    wide = narrow.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[narrow.dtype.kind])
    domain = tk.VectorDomain(tk.AtomDomain(float if narrow.dtype.kind == "f" else int))
    seen = find_block_maxima(domain, narrow, sign)
    assert seen is not None
    for k, scale in ((1, Fraction(3)), (40, Fraction(1, 7))):
        options: Any = {"sign": sign, "ordered": True}
        with monkeypatch.context() as patch:
            recorder = Recorder(patch, Streams(k))
            found = race.top_k(seen, scale, tk.Gumbel(), k, **options, entropy=recorder.streams)
            assert recorder.branches["forecast"] > 0
            recorder.check("Gumbel", narrow.tolist(), scale, sign, found.tolist(), D)
        again = race.top_k(wide, scale, tk.Gumbel(), k, **options, entropy=Streams(k))
        assert found.tolist() == again.tolist()
