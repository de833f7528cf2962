"""Faults of noise on the integers by inversion."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "bound-one-up",
        "a lower bound on a step of a cumulative law is one too large",
        "samplers/boundaries.py",
        "- digits + 1 for part in sums]  # [above]",
        "- digits + 1 for part in [one + (total >> digits - 1) for one in sums]]  # [above]",
    ),
    Fault(
        "narrow-step",
        "the bounds on a step coincide",
        "samplers/boundaries.py",
        "width = 3 +",
        "width = 0 +",
    ),
    Fault(
        "weights-end-early",
        "the weights of a law end where 2^-16 is left",
        "samplers/boundaries.py",
        "weight << digits > one",
        "weight << 16 > one",
    ),
    Fault(
        "room-rounded-up",
        "an integer is given a cell more than its probability has room for",
        "samplers/inversion.py",
        "0) >> 2 * _PART  # [room]",
        "0) + 2**31 >> 2 * _PART  # [room]",
    ),
    Fault(
        "rest-not-moved",
        "what is left of the probabilities lies where it was",
        "samplers/inversion.py",
        "(total - given << 2 * _PART)",
        "(total - given[::-1] << 2 * _PART)",
    ),
    Fault(
        "places-of-first-chunk",
        "values that 32 digits leave open are put where the first chunk has such",
        "samplers/inversion.py",
        "places + i * _CHUNK",
        "places + 0 * _CHUNK",
    ),
    Fault(
        "step-within",
        "21 digits are taken to decide where a step lies among them",
        "samplers/inversion.py",
        "(starts == after) & (starts > 0)",
        "(starts > 0)",
    ),
    Fault(
        "hugging-decided",
        "48 digits that begin like a step are taken to be above it",
        "samplers/inversion.py",
        "< law.width  # [near]",
        "< 0  # [near]",
    ),
    Fault(
        "deep-inclusive",
        "further digits are not read while they begin like a step",
        "samplers/inversion.py",
        ">= found.width:\n",
        ">= 0:\n",
    ),
    Fault(
        "fresh-digits-lost",
        "digits beyond 48 count as zeros",
        "samplers/inversion.py",
        "known << _WORD | fresh, digits",
        "known << _WORD, digits",
    ),
    Fault(
        "always-kept",
        "every place in a cell is kept",
        "samplers/lattice.py",
        "    late = np.flatnonzero(~kept)\n",
        "    kept[:] = True\n    late = np.flatnonzero(~kept)\n",
    ),
    Fault(
        "digits-twice",
        "the digits of the place decide on it",
        "samplers/lattice.py",
        "choices = (digits[:, 0] & 2**_CHOICE - 1)",
        "choices = (digits[:, -1] >> np.uint64(_NARROW))",
    ),
    Fault(
        "certain-too-early",
        "a decision counts as certain at half of its bound",
        "samplers/lattice.py",
        ">> _FINE - _CHOICE) + 1",
        ">> _FINE - _CHOICE + 1) + 1",
    ),
    Fault(
        "sign-forgotten",
        "places in cells below zero are counted upwards",
        "samplers/lattice.py",
        ") + places) ^ sign  # [value]",
        ") ^ sign) + places  # [value]",
    ),
    Fault(
        "rejected-stay",
        "a value that was not kept stays",
        "samplers/integers.py",
        "        values[open_] = again  # [again]\n",
        "        again = values[open_]\n",
    ),
)
