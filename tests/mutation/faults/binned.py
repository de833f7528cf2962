"""Faults in bins of candidates: bounds of the next bin, members left out or counted twice, order taken for granted."""

from __future__ import annotations

from ..fault import Fault

FAULTS = (
    Fault(
        "last-number-is-worst",
        "of a set the last one in the order of bins is taken for the worst",
        "sampling/samplers/bins.py",
        "self.scores_at_ranks(ranks[bins == bins[-1]])",
        "self.scores_at_ranks(ranks[-1:])",
    ),
    Fault(
        "float-top-too-low",
        "the best score of a bin of floats is bounded by where the next bin begins",
        "sampling/samplers/bins.py",
        "np.nextafter(steps * 2.0**self.power, 0)",
        "(steps + 1) * 2.0**self.power",
    ),
    Fault(
        "integer-top-too-low",
        "the best score of a bin of integers is bounded by where the next bin begins",
        "sampling/samplers/bins.py",
        "np.minimum(steps.astype(np.uint64) <<",
        "np.minimum((steps + 1).astype(np.uint64) <<",
    ),
    Fault(
        "last-bin-not-reached",
        "a ceiling leaves out the bin that the limit lies in",
        "sampling/samplers/bins.py",
        "self._bin_ends[self.edges.bin_labels(least)]",
        "self._bin_ends[self.edges.bin_labels(least) - 1]",
    ),
    Fault(
        "bins-are-in-order",
        "the members of a set that is drawn from bins are taken for sorted",
        "sampling/samplers/bins.py",
        "scores if ordered else np.sort(scores)[::-1]",
        "scores",
    ),
    Fault(
        "best-in-two-bins",
        "the best are counted in the bins of their scores, too",
        "sampling/samplers/bins.py",
        "    labels[best] = 0  # [bin-of-best]\n",
        "",
    ),
    Fault(
        "remainder-not-best",
        "candidates after the last whole row are never among the best",
        "sampling/samplers/bins.py",
        "np.arange(_EACH * wide, len(scores))",
        "np.arange(0)",
    ),
    Fault(
        "strips-overlap",
        "strips of cells share the lowest member where they meet",
        "sampling/samplers/canonical.py",
        "np.append(starts[1:] - 1, k + fall.size)",
        "np.append(starts[1:], k + fall.size)",
    ),
)
