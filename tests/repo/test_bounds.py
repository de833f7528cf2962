"""The Privacy table of a docstring, the theorem, and the map itself say the same."""

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk import proof
from tests.concepts.own_noises import NOISES as OWN

from .privacy_sections import measure_formulas, split_docstring

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


UNKNOWN = Fraction(10**9)
LOSSES = [Fraction(1, 3), Fraction(1), Fraction(14, 3)]
"""Thirds, since the scale is 3 and integers are at whole distances."""
SIZES = [(k, d) for k in (1, 2, 3, 4) for d in (2, 3, 4, 5, 8, None) if d is None or k <= d]
SINGLE = ("make_exponential_mechanism", "make_permute_and_flip")
NOISY = ("make_laplace", "make_gaussian")
CONVERSIONS = {
    "make_pureDP_to_range": tk.MaxDivergence(),
    "make_pureDP_to_zCDP": tk.MaxDivergence(),
    "make_range_to_pureDP": tk.RangeDivergence(),
    "make_range_to_zCDP": tk.RangeDivergence(),
}
ASKING = {
    "Exponential or half-logistic noise": [tk.noise.Exponential(), tk.noise.HalfLogistic()],
    "Gumbel or logistic noise": [tk.noise.Gumbel(), tk.noise.Logistic()],
    "Laplace noise": [tk.noise.Laplace()],
}
ASKING[""] = [one for noises in ASKING.values() for one in noises]
THEOREMS = proved()
Lomax = OWN["Lomax"]


def noises(case: str) -> list[Any]:
    """The noises that a case names."""
    return [
        Lomax if word == "CustomNoise" else getattr(tk.noise, word)() for word in case.split(", ") if word[0].isupper()
    ]


def options(constructor: str, case: str) -> Iterator[dict[str, Any]]:
    """The arguments for which a case speaks, beside k and the scale."""
    if constructor == "make_peeled_top_k":
        yield {"mechanism": case}
    elif constructor in ("make_report_noisy_top_k", "make_noisy_top_k_with_gaps", "make_canonical_top_k"):
        for noise in noises(case.removesuffix(" noise")) + [None] * case.startswith("default"):
            releases = [one for one in ("ranking", "set") if one in case] or ["ranking", "set"]
            for release in releases if constructor == "make_report_noisy_top_k" else [None]:
                if noise is not Lomax or release == "set":
                    yield {"noise": noise} | ({"release": release} if release else {})
    elif constructor == "make_above_threshold":
        yield from ({"noise": one} for one in ASKING[case])
    elif constructor in ("make_joint_top_k", "make_select_then_count"):
        yield from ({"release": one} for one in ("ranking", "set"))
    else:
        yield {}


def fits(constructor: str, case: str, k: int, d: int | None, chosen: dict[str, Any]) -> bool:
    """Whether the formula of a case speaks of this size; what docstrings except costs 0 or is a case of its own."""
    if constructor in (*SINGLE, *NOISY):
        return k == 1
    if constructor == TABLES:
        return d is not None
    fixed = constructor in ("make_noisy_top_k_with_gaps", "make_canonical_top_k") or "set" in chosen.values()
    if fixed and k == d:
        return False
    if constructor == "make_joint_top_k":
        return (k == 1 or d == 2) == (case == "a choice of one")
    if constructor == "make_report_noisy_top_k":  # what docstrings say apart: a choice of one, whatever k
        left_out = case == "Laplace, set, k >= 2" and d is not None and k == d - 1
        if (k, d) == (2, 2) or left_out:
            return False
    return k == 1 if case.endswith("k = 1") else k >= 2 if case.endswith("k >= 2") else True


def built(constructor: str, measure: str, k: int, d: int | None, chosen: dict[str, Any]) -> tk.Measurement:
    size = d or (3 if constructor == "make_quantiles" else None)
    domain: Any = tk.VectorDomain(tk.AtomDomain(int), size=size)
    space = tk.FrameDomain("u", "i") if constructor == TABLES else domain, METRICS.get(constructor, tk.RangeDistance())
    known: dict[str, Any] = {"candidates": range(d or 0)}
    known |= {"scale": 3, "k": k, "count_scale": 5, "threshold": 7, "threshold_scale": 11} | chosen
    known["quantiles"] = [Fraction(n, 2**k) for n in range(1, 2**k)]  # of k levels
    make: Callable[..., tk.Measurement] = getattr(tk, constructor)
    wanted = inspect.signature(make).parameters
    return make(*space, getattr(tk, measure)(), **{name: one for name, one in known.items() if name in wanted})


TABLES = "make_top_k_coverage"
METRICS = {
    TABLES: tk.UserDistance(),
    "make_laplace": tk.L1Distance(),
    "make_gaussian": tk.L2Distance(),
    "make_quantiles": tk.L1Distance(),
    "make_select_then_count": tk.LInfDistance(monotonic=True),
    "make_above_threshold": tk.LInfDistance(monotonic=True),
}


def agrees(mapped: float, exact: Fraction) -> bool:
    """Whether the map is the bound, rounded up: never below it, and less than three float64 steps above."""
    return exact * (1 - Fraction(1, 10**45)) <= Fraction(mapped) <= exact * (1 + Fraction(3, 2**53))


@pytest.mark.further
@pytest.mark.parametrize("constructor", sorted(THEOREMS))
def test_docstring_theorem_and_map_agree(constructor: str) -> None:
    said, theorem = stated(constructor), THEOREMS[constructor]
    assert said.keys() == theorem.keys()
    for case, measure in theorem:
        met = 0
        for names, mapped in rows(constructor, case, measure):
            assert value(said[case, measure], names) == value(theorem[case, measure], names), (case, measure, names)
            assert agrees(mapped, value(theorem[case, measure], names)), (case, measure, names, mapped)
            met += 1
        assert met >= 3, (case, measure)


def rows(constructor: str, case: str, measure: str) -> Iterator[tuple[dict[str, Fraction], float]]:
    """What the names in the formulas stand for, and the loss that the map states."""
    if constructor in CONVERSIONS:
        yield from converted(constructor)
        return
    for k, d in SIZES:
        for chosen in options(constructor, case):
            if fits(constructor, case, k, d, chosen):
                measurement = built(constructor, measure, k, d, chosen)
                for r in LOSSES:
                    names = {"k": Fraction(k), "d": Fraction(d or UNKNOWN), "r": r, "D": 3 * r}
                    names |= {"scale": Fraction(3), "count_scale": Fraction(5), "h": Fraction(1, 3)}
                    names |= {"threshold_scale": Fraction(11)}
                    yield names, measurement.map(int(3 * r) if constructor == TABLES else 3 * r)


def converted(constructor: str) -> Iterator[tuple[dict[str, Fraction], float]]:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.RangeDistance()
    source = tk.make_user_measurement(*space, CONVERSIONS[constructor], function=len, privacy_map=lambda d_in: d_in)
    for loss in (Fraction(1, 8), Fraction(1), Fraction(9, 2)):
        yield {"a": loss, "epsilon": loss}, getattr(tk, constructor)(source).map(loss)


def test_every_constructor_with_a_table_has_its_formulas_in_a_theorem() -> None:
    makers = [name for name in tk.__all__ if name.startswith("make_")]
    told = {name for name in makers if any("r" in text.split() for text in stated(name).values())}
    assert told <= set(THEOREMS)
    assert set(THEOREMS) <= set(makers)
    assert len(THEOREMS) >= 15


@pytest.mark.further
@pytest.mark.quick(constructor=("make_report_noisy_top_k", "make_joint_top_k", "make_gaussian", "make_range_to_zCDP"))
@pytest.mark.parametrize(
    ("constructor", "old", "new"),
    [
        ("make_report_noisy_top_k", "(min(2 k, d) - 1) r", "min(2 k, d) r      "),
        (
            "make_report_noisy_top_k",
            "(min(2 k, d) - 1) r  min(k, d - 1) R(r)",
            "(min(2 k, d) - 1) r  min(k, d - 1) R(2 r)",
        ),
        ("make_report_noisy_top_k", "min(2 k, d) r        min", "k r                  min"),
        ("make_report_noisy_top_k", "m r                  m R(r)", "m r                  L(m r)"),
        ("make_report_noisy_top_k", "m = min(k, floor(d / 2))", "m = min(k, floor(d / 3))"),
        ("make_report_noisy_top_k", "min(k, d - k)", "min(k, d)"),
        ("make_peeled_top_k", "2 (n - 1) r", "(n - 1) r"),
        ("make_peeled_top_k", "n = min(k, d - 1)", "n = min(k, d - 2)"),
        ("make_canonical_top_k", "R(a))", "R(r))"),
        ("make_joint_top_k", "R(2 r). For", "R(r). For"),
        ("make_noisy_top_k_with_gaps", "2 m r", "  m r"),
        ("make_permute_and_flip", "2 ln(2", "ln(2"),
        ("make_gaussian", "D^2 / (2 scale^2)", "D^2 / scale^2"),
        ("make_select_then_count", "k D / count_scale", "D / count_scale"),
        ("make_pureDP_to_range", "a = 2 epsilon", "a = epsilon"),
        ("make_range_to_zCDP", "- 1 - ln", "- ln"),
        ("make_pureDP_to_zCDP", "(1 + exp(-epsilon))", "2"),
        ("make_laplace", "(1 - exp(-2 h))", "2"),
    ],
)
def test_a_wrong_docstring_is_noticed(constructor: str, old: str, new: str) -> None:
    doc = inspect.getdoc(getattr(tk, constructor)) or ""
    assert old in doc
    said, theorem = stated(constructor, doc.replace(old, new)), THEOREMS[constructor]
    wrong = [
        key
        for key in theorem
        for names, _ in rows(constructor, *key)
        if value(said[key], names) != value(theorem[key], names)
    ]
    assert wrong


DEFINED = {"R(x)": "x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x)))", "L(x)": "x + exp(-x) - 1"}


@pytest.mark.parametrize("name", DEFINED)
def test_docstrings_define_the_functions_that_they_use(name: str) -> None:
    users = [one for one in THEOREMS if any(f"{name[0]}(" in text for text in stated(one).values())]
    assert len(users) >= 5
    for constructor in users:
        assert definition(" ".join(privacy(constructor).split()), name) == DEFINED[name], constructor
    for x in LOSSES:
        used, spelled = (value(text, {"x": x}) for text in (name, DEFINED[name]))
        assert abs(used - spelled) < Fraction(1, 10**45)


def test_a_map_that_is_off_is_noticed() -> None:
    assert agrees(0.1, Fraction(1, 10))
    assert not agrees(0.1, Fraction(1, 9))
    assert not agrees(0.1, Fraction(1, 11))
    assert not agrees(0.25, Fraction(1, 4) + Fraction(1, 2**60))


def test_measures_have_the_names_of_the_tables() -> None:
    assert all(hasattr(tk, name) for name in MEASURES)
