"""What a recorder knows of uniform numbers: by their own digits, and by what a race skipped."""

from __future__ import annotations

import numpy as np

from opendp_topk.sampling.samplers.entropy import Entropy, Indices

from .certified import Known, Recorder


class Scripted(Entropy):
    """Candidate i begins with the digits of i, and goes on with those of 100 + i."""

    def draw_prefixes(self, index: Indices) -> np.ndarray:
        return index.astype(np.uint16)

    def draw_words(self, index: Indices) -> np.ndarray:
        return (index + 100).astype(np.uint64)


def test_what_is_known_grows_with_the_digits() -> None:
    recorder, one = Recorder(Scripted()), np.array([7])
    assert recorder.known(7) == Known(0, 1, 0)
    recorder.put_off(one, np.array([5]))
    assert recorder.known(7) == Known(0, 31, 5)  # of five ones first it has not all
    assert not recorder.known(7).is_drawn
    assert recorder.draw_prefixes(one).tolist() == [7]
    assert recorder.known(7) == Known(7, 8, 16)
    assert recorder.draw_words(one).tolist() == [107]
    assert recorder.known(7) == Known(7 * 2**64 + 107, 7 * 2**64 + 108, 80)
    assert recorder.known(7).is_drawn
    assert recorder.known(8) == Known(0, 1, 0)
    assert not recorder.known(8).is_drawn
