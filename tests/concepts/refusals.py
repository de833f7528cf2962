"""Calls that are refused, as a file ``refused.txt`` lists them: CALL -> ERROR: words of its message."""

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import opendp_topk as tk

_OTHERS = {"Fraction": Fraction, "inf": math.inf, "nan": math.nan, "noise": tk.noise, "replace": dataclasses.replace}
_PUBLIC = _OTHERS | {name: getattr(tk, name) for name in tk.__all__}


def refusals(folder: Path, start: str = "") -> Iterator[tuple[str, type[Exception], str]]:
    """The calls of a folder's file that begin with ``start``, each with the error and words of its message."""
    for line in (folder / "refused.txt").read_text("utf-8").splitlines():
        if line.startswith(start) and not line.startswith("#"):
            call, _, expected = line.partition(" -> ")
            error, _, words = expected.partition(": ")
            yield call, getattr(tk.errors, error), words


def evaluate(call: str) -> Any:
    """The value of a call of public names."""
    return eval(call, _PUBLIC)
