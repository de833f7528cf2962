"""What the rooms have in common: measures, metrics, distances, and every selection at small sizes."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.concepts.own_noises import NOISES as OWN

from .names import tk

THIRD = Fraction(1, 3)
DISTANCES = (0, 1, 2, 3, THIRD, 0.1, 7)
SCALES = (0, 2, THIRD, 0.1, 7, 1e-300, 1e300)
MEASURES = {"max": tk.MaxDivergence(), "range": tk.RangeDivergence(), "zcdp": tk.ZeroConcentratedDivergence()}
WITH_DELTA = {
    "approx-max": tk.Approximate(tk.MaxDivergence()),
    "approx-range": tk.Approximate(tk.RangeDivergence()),
    "approx-zcdp": tk.Approximate(tk.ZeroConcentratedDivergence()),
}
PROFILE = {"profile": tk.PrivacyProfile()}
METRICS = {"linf": tk.LInfDistance(), "linf+": tk.LInfDistance(monotonic=True), "range": tk.RangeDistance()}
NOISES = {
    "gumbel": tk.noise.Gumbel(),
    "exponential": tk.noise.Exponential(),
    "half-logistic": tk.noise.HalfLogistic(),
    "laplace": tk.noise.Laplace(),
    "logistic": tk.noise.Logistic(),
}
CLASS_A = {**NOISES, "own-class-a": OWN["AsymmetricLaplace"]}
ALL_NOISES = {**CLASS_A, "own-lipschitz": OWN["Lomax"]}
RELEASES = ("ranking", "set")
SIZES = [(k, d) for d in (None, 2, 3, 5) for k in (1, 2, 3, 5) if d is None or k <= d]
"""How many winners, of how many candidates (None: any number)."""
FEW_SIZES = [(1, None), (3, None), (1, 2), (2, 2), (2, 3), (3, 5)]


def vectors(d: int | None = None, kind: type = int) -> Any:
    return tk.VectorDomain(tk.AtomDomain(kind), size=d)


def selections() -> Iterator[tuple[str, list[tuple[int, int | None]], dict[str, Any], str]]:
    """Every selection: its constructor, its sizes (k is an option where it takes one), its other options, in words."""
    single = [(1, None), (1, 2), (1, 5)]
    yield "make_exponential_mechanism", single, {}, ""
    yield "make_permute_and_flip", single, {}, ""
    for release in RELEASES:
        yield "make_report_noisy_top_k", SIZES, {"release": release}, release
        yield "make_joint_top_k", FEW_SIZES, {"release": release}, release
        for word, noise in (ALL_NOISES if release == "set" else CLASS_A).items():
            yield "make_lipschitz_top_k", FEW_SIZES, {"noise": noise, "release": release}, f"{word} {release}"
    for mechanism in ("exponential", "permute_and_flip"):
        yield "make_peeled_top_k", FEW_SIZES, {"mechanism": mechanism}, mechanism
    for word, noise in NOISES.items():
        yield "make_noisy_top_k_with_gaps", FEW_SIZES, {"noise": noise}, word
    for word in ("gumbel", "exponential"):
        for utility in ("margin", "distance"):
            for gamma in (Fraction(1, 2), THIRD, 0, 1):
                options = {"noise": NOISES[word], "utility": utility, "gamma": gamma}
                sizes = FEW_SIZES if gamma == Fraction(1, 2) else [(1, None), (2, 3)]
                yield "make_canonical_top_k", sizes, options, f"{word} {utility} gamma={gamma}"


def takes_k(role: str) -> bool:
    return role not in ("make_exponential_mechanism", "make_permute_and_flip")


def sized(role: str, k: int) -> dict[str, int]:
    """The option k, where the constructor takes it."""
    return {"k": k} if takes_k(role) else {}
