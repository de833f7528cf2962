"""Entries of the quantile tables, held against the bounds that the proof assistant computes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from pathlib import Path

import numpy as np

from opendp_topk.apps.audit import certified
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.samplers.quantile_tables import DIGITS, table

_TABLE = 64  # binary digits with which table entries are compared: entries have 53


def wrong_entries(asked: Mapping[Noise, Iterable[int]], folder: Path) -> list[tuple[str, int]]:
    """Return the prefixes of noises, among the given ones, whose quantile table entries are not proved to be bounds.

    Infinite entries claim nothing.
    """
    names, text, calls, proved = [], certified._HEAD, [], ""
    for noise, prefixes in asked.items():
        chosen, name = list(prefixes), certified._in_coq(noise)
        names += [(noise.name, p) for p in chosen]
        listed, unit = _entries(noise, chosen)
        calls.append(
            f"map (Run.entry_agrees (Floats.PtoP {_TABLE}) {name} {2**DIGITS} {certified._power(unit)}) {name}_table"
        )
        text += f"Definition {name}_table : list Run.table_entry := [{listed}].\n"
        proved += (
            f"Theorem {name}_right : forallb {calls[-1][4:]} = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n"
            f"Definition {name}_bounds := Run.entries_are_right _ _ _ _ _ eq_refl eq_refl {name}_right.\n"
        )
    if certified._coq(folder, "Entries", text + proved)[0] == 0:
        return []
    verdicts = re.findall(r"true|false", certified._answers(folder, text, " ++ ".join(calls)))
    return [name for name, verdict in zip(names, verdicts, strict=True) if verdict == "false"]


def _entries(noise: Noise, prefixes: Sequence[int]) -> tuple[str, int]:
    """Return entries of the table as a list of integers, and the divisor that turns them into the entries."""
    entries = table(noise)
    bounds = [(entries.lower[p], entries.upper[p]) for p in prefixes]
    unit = lcm(*(Fraction(value).denominator for pair in bounds for value in pair if np.isfinite(value)))

    def told(value: float) -> str:
        if not np.isfinite(value):
            return "None"
        exact = Fraction(value)
        return f"Some ({exact.numerator} * {certified._power(unit // exact.denominator)})"

    listed = (f"({p}, ({told(low)}, {told(high)}))" for p, (low, high) in zip(prefixes, bounds, strict=True))
    return "; ".join(listed), unit
