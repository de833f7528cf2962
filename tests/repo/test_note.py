"""The note of proofs/note.tex: it builds, leads to code that is there, and states the maps that the constructors have.

Its formulas are read as they are displayed, and evaluated by code of this file alone.
"""

import math
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.proof import latex, library
from opendp_topk.proof.latex import parse_note_rows
from proofs.tools import form
from tests.concepts.own_noises import NOISES as OWN

from .test_proofs import require_tex

NOTES = ["note"]
MEASURES = ("MaxDivergence", "RangeDivergence", "ZeroConcentratedDivergence")
TEXT = proof.document_text("note")
_MAP = re.compile(r"\\mapis\{(\w+)\}\{([^{}]*)\}\{(\w+)\}\{((?:[^{}]|\{[^{}]*\})*)\}")
_DEFINED = re.compile(r"\\defined\{([^{}]*)\}\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
MAPS = {(maker, case, measure): formula for maker, case, measure, formula in _MAP.findall(TEXT)}


# It is a note, and leads to what is there.


def test_the_notes_are_these() -> None:
    assert proof.note_names() == NOTES
    assert not set(NOTES) & set(proof.document_names())
    assert proof.code_hashes("note") == []


def test_the_table_names_documents_statements_regions_and_tags_that_exist() -> None:
    assert form.problems("note") == []
    assert len(parse_note_rows("note")) >= 25


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("{measurements/selection}{two-sided}", "{measurements/selectiom}{two-sided}", "no proof document"),
        ("{measurements/selection}{two-sided}", "{measurements/selection}{three-sided}", "'three-sided'"),
        ("{one_shot_cost}{odds}", "{one_shot_price}{odds}", "must pin the region one_shot_price"),
        ("{one_shot_cost}{odds}", "{one_shot_cost}{evens}", r"no tag \[evens\]"),
        (r"\see{odds}", "", "never leads to the row odds"),
        (r"\see{odds}", r"\see{ends}", "a row ends, which its table does not have"),
        (r"\coderow{odds}", r"\coderow{steps}", "two rows steps"),
    ],
)
def test_a_dead_row_is_noticed(old: str, new: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "proofs"
    shutil.copytree(library.documents_folder(), place, ignore=shutil.ignore_patterns("machine"))
    assert old in TEXT
    (place / "note.tex").write_text(TEXT.replace(old, new), encoding="utf-8")
    with monkeypatch.context() as other:
        other.setattr(library, "documents_folder", lambda: place)
        found = "\n".join(form.problems("note"))
    assert re.search(fault, found), found


def test_every_theorem_leads_to_code() -> None:
    stated = re.findall(r"\\begin\{(theorem|lemma|corollary)\}(.*?)\\end\{\1\}", TEXT, re.DOTALL)
    assert len(stated) >= 15
    assert [text for _, text in stated if r"\see{" not in text] == []


def test_names_are_those_of_the_package() -> None:
    names = {name.partition("(")[0] for name in re.findall(r"\\code\{([A-Z]\w+[^{}]*|make_\w+)\}", TEXT)}
    assert len(names) >= 15
    assert names <= {*tk.__all__, *tk.noise.__all__}
    assert {maker for maker, _, _ in MAPS} == {name for name in names if name.startswith("make_")}


# What it says of maps.


class Reader:
    """A formula of LaTeX, evaluated while it is read, where its names and functions are these."""

    def __init__(self, text: str, names: dict[str, Any], functions: dict[str, Callable[[Any], Any]]) -> None:
        pattern = r"\\[a-zA-Z]+|[a-zA-Z](?:_\d)?|\d+|[-+/^(){},]"
        assert re.fullmatch(rf"(?:{pattern}|\s)*", text), text
        self.signs = [*re.findall(pattern, text), ""]
        self.names, self.functions = names, functions

    @property
    def next(self) -> str:
        return self.signs[0]

    def take(self, sign: str | None = None) -> str:
        assert sign in (None, self.next), (sign, self.signs)
        return self.signs.pop(0)

    def whole(self) -> Any:
        result = self.sum()
        self.take("")
        return result

    def sum(self) -> Any:
        result = -self.product() if self.next == "-" and self.take() else self.product()
        while self.next in ("+", "-"):
            sign, other = self.take(), self.product()
            result = result + other if sign == "+" else result - other
        return result

    def product(self) -> Any:
        result = self.factor()
        while self.next not in ("", "+", "-", ",", ")", "}", r"\rfloor"):
            if self.next == "/":
                self.take()
                result = result / self.factor()
            else:
                result = result * self.factor()
        return result

    def inside(self, opening: str, closing: str) -> Any:
        self.take(opening)
        result = self.sum()
        self.take(closing)
        return result

    def factor(self) -> Any:
        sign = self.next
        if sign == "(":
            return self.inside("(", ")")
        if sign == r"\lfloor":
            return mpmath.floor(self.inside(r"\lfloor", r"\rfloor"))
        self.take()
        if sign.isdigit():
            return mpmath.mpf(sign)
        if sign == r"\frac":
            return self.inside("{", "}") / self.inside("{", "}")
        if sign == r"\ln":
            return mpmath.log(self.factor())
        if sign == "e":
            self.take("^")
            return mpmath.exp(self.inside("{", "}"))
        if sign == r"\min":
            return min(self.listed())
        return self.functions[sign](self.inside("(", ")")) if self.next == "(" else self.names[sign]

    def listed(self) -> list[Any]:
        self.take("(")
        found = [self.sum()]
        while self.next == ",":
            self.take()
            found.append(self.sum())
        self.take(")")
        return found


def definitions() -> dict[str, list[str]]:
    """What the note defines, each name with its formulas in their order: m has one for rankings and one for sets."""
    found: dict[str, list[str]] = {}
    for name, formula in _DEFINED.findall(TEXT):
        found.setdefault(name, []).append(formula)
    return found


def functions() -> dict[str, Callable[[Any], Any]]:
    """a, R and L as the note has them."""
    said = definitions()

    def rho(a: Any) -> Any:
        return Reader(said["R(a)"][0], {"z": Reader(said["z"][0], {"a": a}, {}).whole()}, {}).whole()

    return {
        "a": lambda r: Reader(said["a(r)"][0], {"r": r}, {}).whole(),
        "R": rho,
        "L": lambda loss: Reader(said["L(E)"][0], {"E": loss}, {}).whole(),
    }


def counts(k: int, d: int | None, ordered: bool) -> dict[str, Any]:
    """kappa, n and m as the note has them; where d is not declared, what it says of the ends."""
    if d is None:
        return {r"\kappa": mpmath.mpf(k), "n": mpmath.mpf(2 * k), "m": mpmath.mpf(k)}
    said = definitions()
    formulas = {r"\kappa": said[r"\kappa"][0], "n": said["n"][0], "m": said["m"][0 if ordered else 1]}
    known = {"k": mpmath.mpf(k), "d": mpmath.mpf(d)}
    return {name: Reader(formula, known, {}).whole() for name, formula in formulas.items()}


def test_the_definitions_are_right() -> None:
    assert sorted(definitions()) == ["L(E)", "R(a)", r"\kappa", "a(r)", "m", "n", "z"]
    with mpmath.workdps(60):
        read = functions()
        for x in map(mpmath.mpf, ("0.001", "0.5", "1", "3", "11")):
            z = x * mpmath.exp(x) / mpmath.expm1(x)
            assert abs(read["R"](x) - (z - 1 - mpmath.log(z))) < mpmath.mpf("1e-50")
            assert abs(read["L"](x) - (x + mpmath.expm1(-x))) < mpmath.mpf("1e-50")
            assert abs(read["a"](x) - 2 * mpmath.log(2 * mpmath.exp(x / 2) - 1)) < mpmath.mpf("1e-50")
    for k, d in ((1, 2), (2, 3), (2, 4), (3, 7), (5, 6)):
        both = [(counts(k, d, ordered), d // 2 if ordered else d - k) for ordered in (True, False)]
        for read_counts, other in both:
            assert read_counts == {r"\kappa": min(k, d - 1), "n": min(2 * k, d), "m": min(k, other)}


def options(maker: str, case: str) -> Iterator[dict[str, Any]]:
    """The arguments of which a case of the table speaks, beside k and the scale."""
    releases = [{"release": release} for release in ("ranking", "set")]
    if maker == "make_peeled_top_k":
        yield {"mechanism": case}
    elif case == "CustomNoise":
        yield {"release": "set", "noise": OWN["Lomax"]}
    elif maker == "make_report_noisy_top_k":
        noises = [getattr(tk.noise, case.partition(",")[0])(), *([None] if case == "Gumbel" else [])]
        yield from ({"noise": noise} | one for noise in noises for one in releases)
    else:
        yield {}


def speaks(case: str, k: int, d: int | None, chosen: dict[str, Any]) -> bool:
    """Whether a case of the table speaks of this size; ends (no choice, everybody) have a sentence of their own."""
    kappa, is_set = k if d is None else min(k, d - 1), chosen.get("release") == "set"
    if kappa == 0 or (is_set and k == d):
        return False
    several = case.endswith((", more", ", others", ", other rankings"))
    if case.startswith("Logistic"):
        return (kappa > 1 and not is_set) == several
    if case.startswith("Laplace"):
        one = kappa == 1 or (is_set and d is not None and d - k == 1)
        return one != several
    return (kappa > 1) == several if "," in case else True


SIZES = [(k, d) for k in (1, 2, 3, 5) for d in (1, 2, 3, 4, 6, 9, None) if d is None or k <= d]
LOSSES = (Fraction(1, 600), Fraction(1, 3), Fraction(2), Fraction(28, 3))
SCALE = 600


def made(maker: str, measure: str, k: int, d: int | None, chosen: dict[str, Any]) -> tk.Measurement:
    space = tk.VectorDomain(tk.AtomDomain(int), size=d), tk.LInfDistance(monotonic=True), getattr(tk, measure)()
    single = maker in ("make_exponential_mechanism", "make_permute_and_flip")
    number = {} if single else {"k": k}
    return getattr(tk, maker)(*space, scale=SCALE, **number, **chosen)


def compared(maker: str, case: str, measure: str) -> Iterator[tuple[float, Any]]:
    """The map and the formula, at many sizes and losses."""
    formula = MAPS[maker, case, measure]
    single = maker in ("make_exponential_mechanism", "make_permute_and_flip")
    for k, d in SIZES:
        for chosen in options(maker, case):
            if speaks(case, k, d, chosen) and not (single and k > 1):
                measurement = made(maker, measure, k, d, chosen)
                known = counts(k, d, chosen.get("release") != "set")
                for r in LOSSES:
                    names = known | {"r": mpmath.mpf(r.numerator) / r.denominator}
                    yield measurement.map(int(SCALE * r)), Reader(formula, names, functions()).whole()


def agree(mapped: float, exact: Any) -> bool:
    """Not below the formula, and less than two float64 steps above."""
    return bool(exact * (1 - mpmath.mpf("1e-50")) <= mpmath.mpf(mapped) <= exact * (1 + mpmath.mpf(2) ** -51))


SELECTIONS = sorted({key[:2] for key in MAPS if not key[0].endswith("composition")})


def test_every_case_is_stated_under_the_three_measures() -> None:
    assert {key[2] for key in MAPS} == set(MEASURES)
    assert len(MAPS) == 3 * len({key[:2] for key in MAPS}) == 3 * (len(SELECTIONS) + 2)
    assert len(_MAP.findall(TEXT)) == len(MAPS)


@pytest.mark.further
@pytest.mark.quick(
    maker=("make_report_noisy_top_k", "make_canonical_top_k", "make_peeled_top_k", "make_permute_and_flip")
)
@pytest.mark.parametrize(("maker", "case"), SELECTIONS)
def test_the_maps_are_the_formulas(maker: str, case: str) -> None:
    with mpmath.workdps(60):
        for measure in MEASURES:
            found = list(compared(maker, case, measure))
            assert len(found) >= 12
            assert all(agree(*one) for one in found), measure


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        (("make_report_noisy_top_k", "Gumbel", "RangeDivergence"), r"\kappa r"),
        (("make_report_noisy_top_k", "Laplace, others", "RangeDivergence"), "nr"),
        (("make_report_noisy_top_k", "Exponential, one", "ZeroConcentratedDivergence"), "L(r)"),
        (("make_peeled_top_k", "permute_and_flip", "RangeDivergence"), r"\min(nr,a(r)+(\kappa-1)r)"),
    ],
)
def test_a_wrong_formula_is_noticed(key: tuple[str, str, str], wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAPS, key, wrong)
    with mpmath.workdps(60):
        assert not all(agree(*one) for one in compared(*key))


def test_the_ends_are_as_said() -> None:
    for maker, case in SELECTIONS:
        for measure in MEASURES:
            for chosen in options(maker, case):
                everybody = made(maker, measure, 1, 1, chosen)
                assert everybody.map(5) == 0, (maker, case, measure)
                assert made(maker, measure, 1, 3, chosen).map(0) == 0
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for measure in MEASURES:
        exact = tk.make_report_noisy_top_k(*space, getattr(tk, measure)(), k=2, scale=0)
        assert (exact.map(0), exact.map(1)) == (0, math.inf)
        alone = (tk.VectorDomain(tk.AtomDomain(int), size=1), *space[1:], getattr(tk, measure)())
        assert tk.make_report_noisy_top_k(*alone, k=1, scale=0).map(1) == math.inf
        assert tk.make_report_noisy_top_k(*alone, k=1, scale=0, release="set").map(1) == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_two_releases_cost_what_is_said(measure: str) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for first, second in ((0.5, 0.25), (0.125, 3.0)):
        losses = [first, second]
        build = partial(tk.make_user_measurement, *space, getattr(tk, measure)(), function=len)
        members = [build(privacy_map=lambda d_in, loss=loss: loss * d_in) for loss in losses]
        adaptive = tk.make_adaptive_composition(*space, getattr(tk, measure)(), d_in=1, d_mids=losses)
        together = {"make_composition": tk.make_composition(members), "make_adaptive_composition": adaptive}
        names = {"c_1": mpmath.mpf(first), "c_2": mpmath.mpf(second)}
        for maker, measurement in together.items():
            assert measurement.map(1) == Reader(MAPS[maker, "", measure], names, {}).whole()


# It is a document of at most ten pages.


@pytest.mark.tex
def test_it_builds_on_at_most_ten_pages_without_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_tex()
    logs = []
    run = latex._run_latex

    def kept(name: str, room: Path) -> None:
        run(name, room)
        logs.append((room / "document.log").read_text(encoding="latin-1"))

    monkeypatch.setattr(latex, "_run_latex", kept)
    assert form.build_pdf("note", tmp_path) == tmp_path / "note.pdf"
    (log,) = logs
    assert re.findall(r"^(?:Overfull|.*Warning:).*$", log, re.MULTILINE) == []
    pages = re.search(r"Output written on document\.pdf \((\d+) pages", log)
    assert 5 <= int(pages[1]) <= 10
