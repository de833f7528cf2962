"""The formulas of docstrings and of theorems, and the measurements of which they speak."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import mpmath

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.apps.audit.html.claim import measure_formulas, split_docstring

Key = tuple[str, str]
MEASURES = ("MaxDivergence", "RangeDivergence", "ZeroConcentratedDivergence")
_BOUND = re.compile(r"\\bound\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}")
_WORDS = re.compile(r",? (?:attained|the exact supremum|the rho of|where) .*|, (?:attained|the exact supremum).*")
_NAMED = re.compile(r"^(?:epsilon|rho|a) = (?=\S)")
# Where a docstring says it in running text: constructor -> (pattern, case and measure of each group).
PROSE: dict[str, list[tuple[str, list[Key]]]] = {
    "make_gaussian": [(r"^(rho = .*?), where", [("", MEASURES[2])])],
    "make_joint_top_k": [
        (r": MaxDivergence (.*?), RangeDivergence (.*?), Z\w* (.*?)\. For k = 1", [("", one) for one in MEASURES]),
        (
            r"For k = 1, and where the domain's size is 2, M\w* (.*?), RangeDivergence (.*?), Z\w* (.*?)\. A set",
            [("a choice of one", one) for one in MEASURES],
        ),
    ],
    "make_peeled_top_k": [
        (r"- MaxDivergence: (.*?)\. -", [("exponential", MEASURES[0])]),
        (r"- MaxDivergence: (.*?)\. -", [("permute_and_flip", MEASURES[0])]),
        (
            r'RangeDivergence: (.*?) for ``"exponential"``; (.*?) for ``"permute_and_flip"``',
            [("exponential", MEASURES[1]), ("permute_and_flip", MEASURES[1])],
        ),
        (
            r'ZeroConcentratedDivergence: (.*?) for ``"exponential"``; (.*?) for ``"permute_and_flip"``',
            [("exponential", MEASURES[2]), ("permute_and_flip", MEASURES[2])],
        ),
    ],
    "make_pureDP_to_range": [(r"^(a = .*?)\.", [("", MEASURES[1])])],
    "make_pureDP_to_zCDP": [(r"^(rho = .*?), which", [("", MEASURES[2])])],
    "make_range_to_pureDP": [(r"^(epsilon = .*?)\.", [("", MEASURES[0])])],
    "make_range_to_zCDP": [(r"^(rho = .*?), which", [("", MEASURES[2])])],
}


def privacy(constructor: str, doc: str | None = None) -> str:
    """The section on privacy of a docstring."""
    return split_docstring(doc or inspect.getdoc(getattr(tk, constructor)) or "").get("Privacy", "")


def stated(constructor: str, doc: str | None = None) -> dict[Key, str]:
    """What a docstring says: case and measure -> formula, in k, d, r and what the docstring defines by them."""
    section = privacy(constructor, doc)
    flat = " ".join(section.split())
    found: dict[Key, str] = {}
    for pattern, keys in PROSE.get(constructor, []):
        match = re.search(pattern, flat)
        assert match is not None, f"the docstring of {constructor} does not say {pattern}"
        found |= {key: _bare(group) for key, group in zip(keys, match.groups(), strict=True)}
    if constructor not in PROSE:
        found = {(case, one): _bare(text) for one in MEASURES for case, text in measure_formulas(section, one)}
    return _expanded(found, flat)


def _bare(text: str) -> str:
    return _NAMED.sub("", _WORDS.sub("", text))


def _expanded(found: dict[Key, str], flat: str) -> dict[Key, str]:
    """The formulas with what the docstring defines put in; a definition for sets of its own makes two cases."""
    whole = dict(found)
    for (case, measure), text in found.items():
        for name, sign in (("a(r)", r"a\(r\)"), ("a", r"\ba\b(?!\()"), ("m", r"\bm\b"), ("n", r"\bn\b")):
            meaning = definition(flat, name)
            if not meaning or not re.search(sign, text) or len(meaning) <= len(text) == 1:
                continue
            if re.search(rf"\b{re.escape(name)} = {re.escape(meaning)} for a ranking and ", flat):
                other = _head(flat.partition(f"{meaning} for a ranking and ")[2])
                if "ranking" in case or "set" in case:
                    whole[case, measure] = re.sub(sign, f"({meaning if 'ranking' in case else other})", text)
                    continue
                whole[f"{case}, ranking", measure] = re.sub(sign, f"({meaning})", text)
                whole[f"{case}, set", measure] = re.sub(sign, f"({other})", text)
                del whole[case, measure]
            else:
                whole[case, measure] = text = re.sub(sign, f"({meaning})", text)
    return whole


def definition(flat: str, name: str) -> str:
    """What a docstring says that ``name`` is, up to the end of the formula; empty where it says nothing."""
    found = re.search(rf"(?:^|[ (]){re.escape(name)} = ", flat)
    return _head(flat[found.end() :]) if found else ""


def _head(text: str) -> str:
    """The formula at the start of a text: it ends at a word or at a comma, colon or full stop outside of brackets."""
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or (depth == 0 and re.match(r"[,.:](?= |$)| (?:and|for)\b", text[at:])):
            return text[:at]
    return text


def proved() -> dict[str, dict[Key, str]]:
    """What theorems say: constructor -> case and measure -> formula."""
    found: dict[str, dict[Key, str]] = {}
    for name in proof.document_names():
        for constructor, case, measure, formula in _BOUND.findall(proof.document_text(name)):
            assert (case, measure) not in found.setdefault(constructor, {})
            found[constructor][case, measure] = formula
    return found


def value(formula: str, names: Mapping[str, Any]) -> Fraction:
    """A formula such as ``min(2 k, d) r^2 / 8`` at exact numbers; logarithms to 50 digits."""
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(])", " * ", formula.replace("^", "**"))
    text = re.sub(r"\d+\.\d+", r"Fraction('\g<0>')", text)
    return Fraction(eval(text, {"__builtins__": {}}, _functions() | dict(names)))


@functools.cache
def _functions() -> dict[str, Any]:
    """What formulas may use."""
    laplace = _through(lambda x: x + mpmath.expm1(-x))
    known = {"Fraction": Fraction, "min": min, "floor": math.floor, "R": _through(rho_of_range), "L": laplace}
    return known | {"ln": _through(mpmath.log), "exp": _through(mpmath.exp)}


def rho_of_range(x: Any) -> Any:
    """z - 1 - ln z with z = x / (1 - e^-x)."""
    z = x / -mpmath.expm1(-x)
    return z - 1 - mpmath.log(z)


def _through(function: Any) -> Any:
    @functools.cache
    def exact(x: Fraction) -> Fraction:
        with mpmath.workdps(60):
            result = function(mpmath.mpf(x.numerator) / x.denominator)
            return Fraction(mpmath.nstr(result, 50))

    return exact
