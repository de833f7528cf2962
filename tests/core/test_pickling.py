"""Measurements travel by the names and arguments of their constructors, and pickles only between equal libraries."""

import dataclasses
import functools
import itertools
import multiprocessing
import operator
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.core import claims

from ..concepts.clocks import unwaited
from ..concepts.examples import COUNTS
from ..concepts.mechanisms import MECHANISMS
from ..concepts.sentinels import raises_exactly
from ..concepts.tried import specimens_of

FLOATS = tk.VectorDomain(tk.AtomDomain(float), size=3), tk.LInfDistance()
ROWS = tk.FrameDomain("user", "item"), tk.UserDistance()
GROUPS = tk.FrameDomain("user", "item", group="town"), tk.UserDistance()
MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
SCORES = [30, 1000, 20]


def first(scores: Any) -> int:
    """A function with a name."""
    return 0


def linear(d_in: Any) -> Any:
    """A map with a name."""
    return d_in


def shout(release: Any) -> str:
    """Post-processing with a name."""
    return f"{release}!"


def lomax_quantile(u: Any, precision: int) -> Any:
    return tk.noise.Intervals(precision).rational(u / (1 - u))


def lomax_survival(z: Any, precision: int) -> Any:
    return tk.noise.Intervals(precision).rational(1 / (1 + max(z, 0)))


@functools.cache
def lomax() -> Any:
    return tk.noise.CustomNoise("Lomax", quantile=lomax_quantile, survival=lomax_survival, condition="lipschitz")


def first_again(_: Any) -> tk.Measurement:
    return top()


def top(measure: Any = MAX, space: Any = COUNTS, **options: Any) -> tk.Measurement:
    built: tk.Measurement = space >> tk.then_report_noisy_top_k(measure, **({"k": 2, "scale": 4.0} | options))
    return built


def count() -> tk.Transformation:
    return ROWS >> tk.then_count_by_item(candidates=iter(["ash", "birch", "cedar"]))


def sized() -> Any:
    return tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)


OWN: dict[str, Callable[[], Any]] = {
    "make_user_measurement": lambda: COUNTS >> tk.then_user_measurement(MAX, function=first, privacy_map=linear),
    "make_user_transformation": lambda: (
        COUNTS >> tk.then_user_transformation(*COUNTS, function=np.abs, stability_map=linear)
    ),
    "make_followed_by": lambda: tk.make_followed_by(top(), follow=first_again, d_in=1, d_out=0.5),
    "custom noise": lambda: top(scale=1, noise=lomax(), release="set"),
    "items": lambda: top() >> tk.index_candidates(["ash", "birch", "cedar"]),
    "post-processing": lambda: top() >> np.sort >> shout,
    "after a transformation": lambda: OWN["make_user_transformation"]() >> top(),
    "two transformations": lambda: (
        count() >> tk.then_user_transformation(*sized(), function=np.abs, stability_map=linear)
    ),
}
"""What the specimens, whose functions have no names, do not show."""
WITH_FUNCTIONS = {
    *("make_followed_by", "make_private_selection", "make_select_private_candidate", "make_user_measurement"),
    *("make_user_transformation", *OWN),
} - {"items"}
CONSTRUCTORS = [name for name in tk.__all__ if name.startswith("make_")]


def links(name: str) -> list[Any]:
    return [OWN[name]()] if name in OWN else [specimen.link for specimen in specimens_of(name)]


def through_json(name: str, built: Any) -> Any:
    if name in WITH_FUNCTIONS:
        raises_exactly(tk.errors.ParameterTypeError, lambda: tk.to_json(built), "cannot be written as JSON")
        return built
    return tk.from_json(tk.to_json(built))


@pytest.mark.quick
@pytest.mark.parametrize("name", sorted({*CONSTRUCTORS, *OWN}))
def test_round_trip(name: str) -> None:
    """What a pickle holds, and what the same arguments make once more, is equal and maps alike."""
    for before, again in zip(links(name), links(name), strict=True):
        for after in (pickle.loads(pickle.dumps(before)), again, through_json(name, before)):
            assert type(after) is type(before)
            assert after == before
            assert hash(after) == hash(before)
            assert repr(after) == repr(before)
            assert after.proof == before.proof
            assert after.proof.status == before.proof.status
            if hasattr(before, "map"):
                assert [repr(after.map(d_in)) for d_in in (1, 2)] == [repr(before.map(d_in)) for d_in in (1, 2)]
        assert repr(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(before))))) == repr(before)


@pytest.mark.parametrize("name", ["make_report_noisy_top_k", "make_composition", "make_padded", *OWN])
def test_a_pickle_holds_names_and_parameters_only(name: str) -> None:
    text = pickle.dumps(links(name)[0], protocol=2)
    named = {str(argument) for op, argument, _ in pickletools.genops(text) if op.name == "GLOBAL"}
    module = "tests.core.test_pickling "
    allowed = ("opendp_topk.", module, "fractions ", "copyreg ", "numpy", "builtins ", "__builtin__ ")
    assert named
    assert not [one for one in named if not one.startswith(allowed)]
    assert not any(word in " ".join(named) for word in ("<lambda>", "<locals>", "CodeType", "FunctionType", "marshal"))


def released(sent: tuple[tk.Measurement, Any]) -> tuple[str, str, str]:
    """What a worker answers: the map, the proof, and the kind of release."""
    measurement, value = sent
    with unwaited():
        return repr(measurement.map(1)), measurement.proof.status, type(measurement(value)).__name__


@pytest.mark.further
@pytest.mark.quick(method="fork")
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_pool_releases(method: str) -> None:
    own = [one() for one in OWN.values()]
    sent = [(one, SCORES) for one in own if isinstance(one, tk.Measurement)]
    for name in sorted({*MECHANISMS, "make_composition", "make_padded", "make_range_to_zCDP"}):
        sent += [(specimen.link, specimen.pair[0]) for specimen in specimens_of(name)]
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(released, sent) == [released(one) for one in sent]


def test_values_are_pickled() -> None:
    names = "Gumbel", "Exponential", "HalfLogistic", "Laplace", "Logistic"
    noises = [*(getattr(tk.noise, name)() for name in names), lomax()]
    values = [*noises, *COUNTS, *FLOATS, *ROWS, *GROUPS, MAX, RANGE, ZCDP, tk.Approximate(ZCDP), tk.PrivacyProfile()]
    values.append(tk.audit.Proof("core/chaining", (tk.audit.Proof(None, assumption="a"),)))
    values.append(tk.index_candidates(["a", "b"]))
    values += [tk.then_laplace(MAX, scale=1), tk.then_user_measurement(MAX, function=first, privacy_map=linear)]
    for value in values:
        after = pickle.loads(pickle.dumps(value))
        assert after == value
        assert repr(after) == repr(value)


def test_a_library_with_other_claims_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, chained = pickle.dumps(top()), pickle.dumps(top() >> shout)
    monkeypatch.setattr(claims, "claims_digest", lambda: "0" * 64)
    for text in (plain, chained):
        raises_exactly(tk.errors.ParameterError, lambda text=text: pickle.loads(text), "other sources or proofs")


def test_the_digest_covers_sources_and_proofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, proofs = tmp_path / "opendp_topk", tmp_path / "proofs"
    modules = "core/a.py", "b.py", "apps/audit/c.py", "apps/cli/d.py"
    files = [*(package / name for name in modules), proofs / "core/e.tex"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    monkeypatch.setattr(claims, "_PACKAGE", package)
    monkeypatch.setattr(claims.proof, "documents_folder", lambda: proofs)
    digest = claims.claims_digest.__wrapped__
    seen = [digest()]
    for file in files:
        file.write_text("y")
        seen.append(digest())
    changed = [before != after for before, after in itertools.pairwise(seen)]
    assert changed == [True, True, False, False, True]
    files[0].rename(package / "core/other.py")
    assert digest() != seen[-1]


@pytest.mark.parametrize(
    "build",
    [
        lambda: top() >> (lambda release: release),
        lambda: COUNTS >> tk.then_user_measurement(MAX, function=lambda x: 0, privacy_map=linear),
        lambda: COUNTS >> tk.then_user_transformation(*COUNTS, function=np.abs, stability_map=lambda d: d),
        lambda: tk.make_composition([top(), top() >> (lambda release: release)]),
        lambda: tk.then_user_measurement(MAX, function=lambda x: 0, privacy_map=linear),
        lambda: tk.noise.CustomNoise(
            "Nameless", quantile=lambda u, p: lomax_quantile(u, p), survival=lomax_survival, condition="lipschitz"
        ),
    ],
)
def test_functions_without_a_name_are_refused(build: Callable[[], Any]) -> None:
    raises_exactly(tk.errors.ParameterTypeError, lambda: pickle.dumps(build()), "functions by name")


def test_what_no_constructor_made_is_refused() -> None:
    for odd in (
        dataclasses.replace(top(), privacy_map=linear),
        dataclasses.replace(count(), stability_map=linear),
        tk.Measurement(*COUNTS, MAX, first, linear),
        tk.make_pureDP_to_zCDP(dataclasses.replace(top(), privacy_map=linear)),
    ):
        raises_exactly(
            tk.errors.ParameterTypeError, lambda odd=odd: pickle.dumps(odd), "not the unchanged result of a constructor"
        )


def test_a_ledger_and_a_queryable_are_refused(tmp_path: Path) -> None:
    with tk.ledger.Ledger.create(
        tmp_path / "a", budget=1, measure=MAX, dataset="a", metric=tk.LInfDistance()
    ) as ledger:
        raises_exactly(tk.errors.ParameterTypeError, lambda: pickle.dumps(ledger), "Ledger(address)")
    talk = (COUNTS >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[0.25, 0.5]))([1, 2])
    raises_exactly(tk.errors.QueryError, lambda: pickle.dumps(talk), "spend the same budget twice")


def test_arguments_are_kept_as_they_were() -> None:
    mids, items = [0.25, 0.5], ["ash", "birch"]
    talk = COUNTS >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=mids)
    counted = ROWS >> tk.then_count_by_item(candidates=items)
    mids.append(8.0)
    items.append("cedar")
    assert pickle.loads(pickle.dumps(talk)).map(1) == 0.75
    assert pickle.loads(pickle.dumps(counted)).output_domain.size == 2


def test_no_digit_of_a_parameter_is_lost() -> None:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.RangeDistance()
    built = tk.make_permute_and_flip(*space, tk.MaxDivergence(), scale=1 / 3)
    assert pickle.loads(pickle.dumps(built)).parameters["scale"] == 1 / 3


# Nested compositions and long chains: refused before Python cannot follow them.


SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
TOP = SPACE >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)


def same(released: Any) -> Any:
    return released


def nested(one: tk.Measurement) -> tk.Measurement:
    return tk.make_composition([one])


def chained(one: tk.Measurement) -> tk.Measurement:
    return one >> same


def deep(step: Callable[[tk.Measurement], tk.Measurement], times: int) -> tk.Measurement:
    made = TOP
    for _ in range(times):
        made = step(made)
    return made


def of_users(frame: int, ask: Callable[[], Any]) -> Any:
    """``ask`` below so many calls, as in a service or a notebook."""
    return ask() if frame == 0 else of_users(frame - 1, ask)


@pytest.mark.parametrize("step", [nested, chained])
def test_as_deep_as_is_allowed_all_is_answered(step: Callable[[tk.Measurement], tk.Measurement]) -> None:
    made = deep(step, 63)
    uses: tuple[Callable[[], Any], ...] = (
        lambda: made.map(1),
        lambda: made.check(1, 2),
        lambda: made([3, 1]),
        lambda: hash(made),
        lambda: repr(made),
        lambda: pickle.loads(pickle.dumps(made)) == made,
        lambda: made.proof.status,
    )
    for use in uses:
        of_users(100, use)


@pytest.mark.parametrize("step", [nested, chained])
@pytest.mark.parametrize("times", [64, 200, 490])
def test_deeper_is_refused_when_it_is_built(step: Callable[[tk.Measurement], tk.Measurement], times: int) -> None:
    raises_exactly(tk.errors.CapacityError, lambda: deep(step, times), "nested or chained at most 64 times")


@pytest.mark.parametrize("function", [operator.itemgetter(0), functools.partial(same), functools.partial(int, base=10)])
def test_functions_that_pickle_themselves_are_pickled(function: Any) -> None:
    again = pickle.loads(pickle.dumps(TOP >> function))
    assert again.map(1) == TOP.map(1)


def test_a_partial_of_a_nameless_function_is_refused_and_says_why() -> None:
    for function in (lambda one: one, functools.partial(lambda one: one)):
        with pytest.raises(
            tk.errors.ParameterTypeError, match=r".including cloudpickle. stores functions by name, and .*<lambda>"
        ):
            pickle.dumps(TOP >> function)


# Measurements compare by value: by the constructor and the arguments that made them, and by nothing else.


PURE = tk.MaxDivergence()


def ranking(k: int = 2, scale: float = 4.0, **options: Any) -> tk.Measurement:
    return COUNTS >> tk.then_report_noisy_top_k(PURE, k=k, scale=scale, **options)


def counted(candidates: Any) -> tk.Transformation:
    return ROWS >> tk.then_count_by_item(candidates=candidates)


UNEQUAL = [
    ranking(),
    ranking(k=1),
    ranking(scale=5.0),
    ranking(release="set"),
    ranking(noise=tk.noise.Laplace()),
    ranking() >> tk.index_candidates(["ash", "birch"]),
    ranking() >> tk.index_candidates(["birch", "ash"]),
    counted(["ash", "birch"]),
    counted(["birch", "ash"]),
    counted(["ash", "birch"]) >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0),
    tk.make_composition([ranking(), ranking(k=1)]),
    tk.make_composition([ranking(k=1), ranking()]),
    tk.make_repeat(ranking(), times=3),
    tk.make_pureDP_to_zCDP(ranking()),
    ranking() >> sorted,
    ranking() >> list,
    COUNTS >> tk.then_fully_adaptive_composition(PURE),
    "a text",
]


def test_other_arguments_make_other_values() -> None:
    for one, other in itertools.permutations(UNEQUAL, 2):
        assert one != other


def test_defaults_lists_and_arrays_are_what_they_hold() -> None:
    assert ranking() == ranking(release="ranking", optimize="max")
    assert ranking(scale=4) == ranking()
    assert counted(["ash", "birch"]) == counted(("ash", "birch"))
    assert counted(np.array([1, 2])) == counted(np.array([1, 2])) != counted(np.array([2, 1]))


def test_what_no_constructor_made_is_equal_to_itself_alone() -> None:
    changed = dataclasses.replace(ranking(), interactive=False)
    assert changed == changed
    assert changed != ranking()
    assert ranking() != changed
    assert changed != dataclasses.replace(ranking(), interactive=False)
    assert len({changed, ranking(), ranking()}) == 2


def test_functions_of_a_caller_are_equal_to_themselves_alone() -> None:
    def user(privacy_map: Callable[[Any], Any]) -> tk.Measurement:
        return tk.make_user_measurement(*COUNTS, PURE, function=len, privacy_map=privacy_map)

    assert user(float) == user(float)
    assert user(lambda d_in: d_in) != user(lambda d_in: d_in)
