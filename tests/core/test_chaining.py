"""Chaining: the four forms of ``>>``, what they push forward, and what they refuse.

Tries proofs/core/randomized.tex and proofs/core/steps.tex.
"""

import dataclasses
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.core.claims import proved_by
from opendp_topk.core.measurement import Measurement
from opendp_topk.core.transformation import Transformation
from opendp_topk.errors import DataTypeError, NotDeclaredError, ParameterError, ParameterTypeError, SpaceError
from opendp_topk.measurements.report_noisy_top_k import then_report_noisy_top_k
from opendp_topk.measurements.user import make_user_measurement, then_user_measurement
from opendp_topk.proof import Proof
from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.measures import Approximate, MaxDivergence
from opendp_topk.spaces.metrics import L1Distance, LInfDistance, RangeDistance
from opendp_topk.transformations.user import then_user_transformation
from tests.concepts.clocks import unwaited

from ..concepts.examples import COUNTS, geometric_choice, times
from ..concepts.links import check_measurement, check_transformation
from ..concepts.sentinels import SENTINEL_INT, raises_exactly
from ..concepts.values import check_value

FLOATS = VectorDomain(AtomDomain(float)), LInfDistance()
ONE = Fraction(1)


def test_transformation_then_transformation() -> None:
    chain = times(2) >> times(3, stability=lambda d_in: 3 * d_in + 1)
    assert type(chain) is Transformation
    assert chain([1, 2]).tolist() == [6, 12]
    assert chain.map(5) == 31, "first doubles 5, then 3 * 10 + 1"
    assert chain.parameters == {"transformation'": "user", "factor'": 2, "transformation": "user", "factor": 3}
    check_transformation(times(2) >> times(3), members=[[1, 2]], non_members=[[0.5], []], distances=[1, 2])


def test_transformation_then_measurement() -> None:
    chain = times(3) >> geometric_choice()
    assert type(chain) is Measurement
    assert chain.map(2) == 6.0
    assert chain([1, 4, 2]) == 1
    assert chain.distribution([1, 0]) == {0: Fraction(8, 9), 1: Fraction(1, 9)}
    assert chain.parameters == {"transformation": "user", "factor": 3, "mechanism": "user", "k": 1, "scale": 1}
    assert next(iter(chain.parameters)) == "transformation"
    both = (times(3) >> geometric_choice(parameters={"factor": 7})).parameters
    assert (both["factor'"], both["factor"]) == (3, 7), "the earlier one of a name has the prime"
    check_measurement(chain, members=[[1, 2]], non_members=[[0.5]], distances=[1, 2], neighbours=[([1, 0], [1, 1], 1)])


def test_scores_in_any_form_are_members_or_refused() -> None:
    best = COUNTS >> then_report_noisy_top_k(MaxDivergence(), k=1, scale=1e-3)  # another has a chance of e^-1000
    many = [*range(3000), 9000, *range(3000)]
    for scores in ([1, 3, 2], (1, 3, 2), np.array([1, 3, 2], dtype=np.int8), many, np.array(many)):
        assert best(scores).tolist() == [list(scores).index(max(scores))]
    for wrong in ([1.0], ["1"], np.arange(6001.0), None):
        raises_exactly(DataTypeError, lambda wrong=wrong: best(wrong))


def test_success_is_that_of_what_the_selection_sees() -> None:
    best = COUNTS >> then_report_noisy_top_k(MaxDivergence(), k=1, scale=2.0)
    chain = times(3) >> best
    for event in ("exact", "good"):
        assert chain.success_probability([1, 4, 2], event) == best.success_probability([3, 12, 6], event)
    assert chain.success_probability([1, 4, 2]) != best.success_probability([1, 4, 2])


def test_the_order_of_maps_matters() -> None:
    plus = times(1, stability=lambda d_in: d_in + 1 if d_in else 0)
    assert (times(5) >> plus).map(1) == 6
    assert (plus >> times(5)).map(1) == 10
    assert (plus >> times(5) >> geometric_choice()).map(1) == 10.0


def test_measurement_then_function() -> None:
    chain = geometric_choice() >> (lambda index: index + 10) >> str
    assert chain([3, 9]) == "11"
    assert chain.map(2) == 2.0
    assert chain.distribution([1, 0]) == {"10": Fraction(2, 3), "11": Fraction(1, 3)}
    assert chain.accuracy(4, 0.5) == 8.0
    assert chain.parameters == geometric_choice().parameters


def test_post_processing_that_merges_outcomes_adds_their_probabilities() -> None:
    chain = times(1) >> geometric_choice() >> (lambda index: index % 2)
    law = chain.distribution([0, 1, 2, 3])
    assert law == {0: Fraction(5, 15), 1: Fraction(10, 15)}
    assert sum(law.values()) == 1


def test_space_then_partial_and_chain_then_partial() -> None:
    shrink = then_user_transformation(
        *COUNTS, function=lambda scores: scores[:2], stability_map=lambda d_in: d_in, parameters={"keep": 2}
    )
    choose = then_user_measurement(MaxDivergence(), function=len, privacy_map=lambda d_in: d_in)
    chain = COUNTS >> shrink >> choose >> (lambda n: -n)
    assert chain([5, 6, 7]) == -2
    assert chain.input_domain == COUNTS[0]
    assert chain.map(3) == 3.0


def test_space_then_measurement_and_space_then_transformation() -> None:
    for link in (geometric_choice(), times(2)):
        assert COUNTS >> link is link
        error = raises_exactly(SpaceError, lambda link=link: FLOATS >> link, repr(FLOATS[0]), repr(FLOATS[1]))
        assert repr(COUNTS[0]) in str(error)
        assert repr(COUNTS[1]) in str(error)
        for half in (COUNTS[0], COUNTS[1], (), (1, 2), list(COUNTS), (*COUNTS, 3), (COUNTS[1], COUNTS[0])):
            raises_exactly(SpaceError, lambda link=link, half=half: half >> link, "(domain, metric)")


@pytest.mark.parametrize(
    ("right", "left_side", "right_side"),
    [
        ((VectorDomain(AtomDomain(float)), COUNTS[1]), "output_domain VectorDomain(AtomDomain(int))", "float"),
        ((VectorDomain(AtomDomain(int), size=3), COUNTS[1]), "output_domain", "size=3"),
        ((COUNTS[0], LInfDistance()), "output_metric LInfDistance(monotonic=True)", "LInfDistance(monotonic=False)"),
        ((COUNTS[0], RangeDistance()), "output_metric", "input_metric RangeDistance()"),
        ((COUNTS[0], L1Distance()), "output_metric", "L1Distance()"),
    ],
)
def test_a_mismatch_names_both_sides(right: Any, left_side: str, right_side: str) -> None:
    raises_exactly(SpaceError, lambda: times(2) >> geometric_choice(right), left_side, right_side)
    raises_exactly(SpaceError, lambda: times(2) >> times(3, right), left_side, right_side)


class _Follows:
    """Something that can be called, and that says itself what it makes of a transformation before it."""

    def __call__(self, scores: Any) -> Any:
        return scores

    def __rrshift__(self, before: Transformation) -> Any:
        return "asked", before


def test_what_is_no_function_or_knows_what_precedes_it_is_left_to_python() -> None:
    link = times(2)
    assert link >> _Follows() == ("asked", link)
    for other in ("text", 3, None):
        with pytest.raises(TypeError, match="unsupported operand"):
            link >> other  # type: ignore[operator]


def test_partials_are_values_with_useful_errors() -> None:
    options: dict[str, Any] = {"function": len, "privacy_map": float}
    others = [then_user_measurement(MaxDivergence(), function=len, privacy_map=int)]
    others += [then_user_transformation(*COUNTS, function=len, stability_map=float)]
    check_value(lambda: then_user_measurement(MaxDivergence(), **options), others)
    partial = then_user_measurement(MaxDivergence(), **options)
    assert repr(partial).startswith("then_user_measurement(MaxDivergence(), function=")
    raises_exactly(SpaceError, lambda: 3 >> partial, "(domain, metric)")
    raises_exactly(ParameterTypeError, lambda: then_user_measurement(), "missing", "its signature is")
    raises_exactly(ParameterTypeError, lambda: then_user_measurement(1, 2, **options), "too many", "its signature is")


def test_proofs_are_pushed_through_chains() -> None:
    @proved_by("core/chaining-example")
    def make_proved(*space: Any) -> Measurement:
        return geometric_choice(space)

    proved = make_proved(*COUNTS)
    assert proved.proof == Proof("core/chaining-example")
    assert make_proved.proof_name == "core/chaining-example"
    assert proved.proof.status == "missing"
    chain = times(2) >> times(3) >> proved >> str >> len
    assert chain.proof.name == "core/chaining"
    assert chain.proof.parts == (Proof(None), Proof(None), Proof("core/chaining-example"))
    assert chain.proof.status == "unproven"
    assert str(chain.proof).count("unproven") == 2
    assert "proofs/core/chaining-example.tex" in str(chain.proof)
    assert (proved >> str).proof.parts == (Proof("core/chaining-example"),)
    regrouped = times(2) >> (times(3) >> proved >> str >> len)
    assert regrouped.proof == chain.proof


def test_data_that_leave_an_inner_domain_are_refused_without_a_word_about_them() -> None:
    bounded = VectorDomain(AtomDomain(int, bounds=(0, 10))), LInfDistance(monotonic=True)
    to_bounded = COUNTS >> then_user_transformation(
        *bounded, function=lambda scores: scores, stability_map=lambda d_in: d_in
    )
    chain = to_bounded >> geometric_choice(bounded)
    assert chain([1, 2]) == 1
    for call in (chain, chain.distribution, (to_bounded >> times(1, bounded)).invoke):
        with pytest.raises(tk.errors.DataError) as caught:
            call([1, SENTINEL_INT])
        raises_exactly(type(caught.value), lambda call=call: call([1, SENTINEL_INT]), "bounds")


def test_distribution_and_accuracy_are_optional() -> None:
    bare = make_user_measurement(*COUNTS, MaxDivergence(), function=len, privacy_map=float)
    for link in (bare, times(2) >> bare, bare >> str):
        raises_exactly(NotDeclaredError, lambda link=link: link.distribution([1]), "no exact distribution")
        raises_exactly(NotDeclaredError, lambda link=link: link.accuracy(3), "no accuracy theorem")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0,), ParameterError),
        ((-1,), ParameterError),
        ((True,), ParameterTypeError),
        ((1.5,), ParameterTypeError),
        ((3, 0), ParameterError),
        ((3, 1), ParameterError),
        ((3, math.nan), ParameterError),
        ((3, "0.1"), ParameterTypeError),
    ],
)
def test_bad_arguments_of_accuracy(arguments: Any, error: type[Exception]) -> None:
    raises_exactly(error, lambda: (times(2) >> geometric_choice()).accuracy(*arguments))


def test_bad_arguments_of_distribution() -> None:
    raises_exactly(DataTypeError, lambda: geometric_choice().distribution([SENTINEL_INT, 0.5]), "integers")


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        (lambda index: [index, (index,)], (0, (0,))),
        (lambda index: np.array([index, 7]), (0, 7)),
        (lambda index: np.int64(index), 0),
        (lambda index: {"a": (index,)}["a"], (0,)),
    ],
)
def test_outcomes_are_plain_and_hashable(then: Any, outcome: Any) -> None:
    law = (geometric_choice() >> then).distribution([0])
    assert law == {outcome: 1}
    assert repr(next(iter(law))) == repr(outcome)


def test_a_release_that_cannot_be_hashed_has_no_distribution() -> None:
    chain = geometric_choice() >> (lambda index: {SENTINEL_INT: index})
    raises_exactly(tk.errors.CapacityError, lambda: chain.distribution([0, 1]), "hashable", "dict")


def test_maps_are_never_rounded_down_along_a_chain() -> None:
    third = times(1, stability=lambda d_in: Fraction(d_in) / 3)
    chain = third >> third >> geometric_choice()
    assert chain.map(1) >= Fraction(1, 9) > Fraction(math.nextafter(chain.map(1), 0))
    assert (third >> third).map(1) == Fraction(1, 9)
    assert chain.exact_map(1) == Fraction(1, 9)
    assert chain.check(1, Fraction(1, 9))
    assert not chain.check(1, Fraction(1, 9) - Fraction(1, 10**400))


def test_a_map_is_evaluated_once_for_a_distance_of_a_type() -> None:
    asked: list[Any] = []

    def third(d_in: Any) -> Any:
        asked.append(d_in)
        if d_in == 7:
            raise ValueError("seven")
        return 0.25 if isinstance(d_in, float) else Fraction(1, 3)

    link = make_user_measurement(*FLOATS, MaxDivergence(), function=lambda x: 0, privacy_map=third)
    above = math.nextafter(1 / 3, 1)
    for _ in range(3):
        assert (link.map(ONE), link.exact_map(ONE)) == (above, Fraction(1, 3))
        assert (link.map(1.0), link.exact_map(1.0)) == (0.25, Fraction(1, 4))
    assert [(type(d_in), d_in) for d_in in asked] == [(Fraction, 1), (float, 1.0)]
    for _ in range(2):
        raises_exactly(ValueError, lambda: link.map(7), "seven")
    assert asked.count(7) == 2, "an error is not kept"
    assert replace(link, privacy_map=lambda d_in: 2 * d_in).map(1) == 2.0
    relaxed = replace(link, output_measure=Approximate(MaxDivergence()), privacy_map=lambda d_in: (d_in, 0))
    assert relaxed.map(1) == (1.0, 0.0)


# What later queries of an interactive measurement hold

LATER = {
    "combinators/composition.py": "measurements on the first data",
    "combinators/pay_what_you_get.py": "measurements on the first data",
    "combinators/fully_adaptive_composition.py": "measurements on the first data",
    "measurements/above_threshold.py": "indices of the first data",
    "measurements/continual_top_k.py": "more data",
}


def test_every_interactive_measurement_says_what_its_queries_hold() -> None:
    package = Path(tk.__file__).parent
    found = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if "interactive=" in path.read_text()
    }
    assert found == LATER.keys()
    saying = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if "later_data=" in path.read_text()
    }
    assert saying == {name for name, holds in LATER.items() if holds == "more data"}


def test_a_chain_states_no_unit_that_its_queries_do_not_keep() -> None:
    rho = tk.ZeroConcentratedDivergence()
    table = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(
        candidates=["a", "b"], max_items=1
    )
    weekly = tk.then_continual_top_k(rho, steps=52, k=1, scale=8.0)
    space = table.output_domain, table.output_metric
    raises_exactly(SpaceError, lambda: table >> weekly, "more data")
    raises_exactly(SpaceError, lambda: table >> (space >> weekly), "more data")
    raises_exactly(SpaceError, lambda: table >> (space >> weekly >> (lambda lists: lists)), "more data")
    converted = tk.make_zCDP_to_approxDP(space >> weekly)
    raises_exactly(SpaceError, lambda: table >> converted, "more data")
    odometer = space >> tk.then_fully_adaptive_composition(rho)
    rows = pl.DataFrame({"reader": [1], "book": ["a"]})
    composed = space >> tk.then_adaptive_composition(rho, d_in=1, d_mids=[1])
    for talk in (composed, tk.make_privacy_filter(odometer, d_in=1, d_out=1)):
        raises_exactly(SpaceError, lambda talk=talk: (table >> talk)(rows)(space >> weekly), "more data")
    raises_exactly(SpaceError, lambda: odometer([1, 0])(space >> weekly), "more data")
    raises_exactly(SpaceError, lambda: tk.make_composition([space >> weekly]), "more data")
    watch = table >> tk.then_above_threshold(tk.MaxDivergence(), threshold=10, scale=1.0)
    assert watch.map(1) == 2.0, "its queries are indices of the first counts"


@pytest.mark.parametrize("asked", ["a", None, [1], True, -1, float("nan")], ids=str)
def test_the_given_map_is_asked_at_distances_alone(asked: Any) -> None:
    """Also the field that holds it, and in a copy with another metric at those of that one."""
    counted = (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=["a", "b"])
    top = counted >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
    for ask in (counted.stability_map, top.privacy_map, replace(top, interactive=True).privacy_map):
        assert ask(1) > 0
        with pytest.raises(ParameterError, match="d_in"):
            ask(asked)
    scores = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    moved = tk.make_report_noisy_top_k(*scores, tk.MaxDivergence(), k=1, scale=2.0)
    again = replace(moved, input_domain=top.input_domain, input_metric=top.input_metric)
    assert moved.privacy_map(1.5) == again.privacy_map(1)
    raises_exactly(ParameterError, lambda: again.privacy_map(1.5), "counts users")


# What a measurement declares of its steps: along a chain, on other measures, and before a function of the release.


SPACE = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
MAX = tk.Approximate(tk.MaxDivergence())
TABLE = {"a": 900, "b": 800}


def best(k: int, scale: float = 4.0) -> tk.Measurement:
    return tk.make_unknown_domain_top_k(*SPACE, MAX, k=k, scale=scale, limit=10, delta=1e-6)


def test_steps_after_a_transformation_have_the_range_at_its_outputs() -> None:
    twice = tk.make_user_transformation(*SPACE, *SPACE, function=dict, stability_map=lambda d_in: 2 * d_in)
    query, plain = (twice >> best(3)).declared.steps, best(3).declared.steps
    assert query is not None
    assert (query.most, query.width(1), query.delta(1)) == (3, Fraction(1, 2), plain.delta(2))
    queryable = tk.make_fully_adaptive_composition(*SPACE, MAX)(TABLE)
    assert queryable(twice >> best(3)).items == ("a", "b")
    assert queryable.privacy_loss(1) == best(3).map(2)


def test_a_function_of_the_release_shows_no_steps() -> None:
    assert (best(3) >> (lambda found: found.items)).declared.steps is None
    queryable = tk.make_fully_adaptive_composition(*SPACE, MAX)(TABLE)
    queryable(best(3) >> (lambda found: tk.Release(items=(), stopped=found.stopped)))
    assert queryable.privacy_loss(1) == best(3).map(1)


def test_another_measure_keeps_them() -> None:
    measure = tk.Approximate(tk.ZeroConcentratedDivergence())
    found = tk.make_unknown_domain_top_k(*SPACE, measure, k=2, scale=4.0, limit=10, delta=1e-6)
    converted = tk.make_zCDP_to_approxDP(found)
    assert converted.declared.steps.width(3) == Fraction(3, 4)


def test_without_noise_the_range_is_infinite_and_without_distance_nothing_is_lost() -> None:
    steps = best(2, scale=0.0).declared.steps
    assert steps.width(1) == math.inf
    kept = best(2).declared.steps
    assert (kept.width(0), kept.delta(0)) == (0, 0)
    queryable = tk.make_fully_adaptive_composition(*SPACE, MAX)(TABLE)
    queryable(best(2, scale=0.0))
    assert queryable.privacy_loss(1) == (math.inf, 1.0)
    raises_exactly(ParameterError, lambda: queryable.privacy_loss(-1), "d_in")


# Transformations that draw: the mark is handed on, and what may follow them.


def drawn() -> Any:
    return dataclasses.replace(times(2), randomized=True)


def test_a_chain_draws_if_one_of_its_links_does() -> None:
    assert not (times(2) >> times(3)).randomized
    assert (drawn() >> times(3)).randomized
    assert (times(3) >> drawn()).randomized


@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.ZeroConcentratedDivergence(), tk.PrivacyProfile()])
def test_mixtures_lose_no_more_under_these(measure: Any) -> None:
    plain, mixed = (link >> tk.then_report_noisy_top_k(measure, k=1, scale=2.0) for link in (times(2), drawn()))
    assert mixed.map(3) == plain.map(3)
    assert plain.declared.law is not None
    assert (mixed.declared.law, mixed.declared.success) == (None, None)
    if measure != tk.PrivacyProfile():
        assert tk.make_approximate(mixed).map(1) == (mixed.map(1), 0.0)


def test_ranges_are_refused() -> None:
    ranges = COUNTS >> tk.then_report_noisy_top_k(tk.RangeDivergence(), k=1, scale=2.0)
    for measurement in (ranges, tk.make_approximate(ranges)):
        assert (times(2) >> measurement).map(1) is not None
        raises_exactly(SpaceError, lambda one=measurement: drawn() >> one, "randomised", "MaxDivergence()")


# What may follow a release: refused while the chain is built, before a ledger could have paid for a release.


PURE = tk.MaxDivergence()
LOST = tk.Approximate(PURE)
SCORES = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
FEW = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.L01InfDistance(changes=1)
KEYED = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=1)
SAME = tk.make_user_transformation(*FEW, *FEW, function=lambda scores: scores, stability_map=lambda d_in: d_in)
VECTOR, KEYED_TABLE = [900, 500, 700], {"ash": 900, "birch": 500}
TREES = ["ash", "birch", "cedar"]
AFTER = {
    "add": tk.add_to_counts(9),
    "best": tk.largest_counts(2),
    "from": tk.counts_from(5, TREES),
    "items": tk.index_candidates(TREES),
}
FIRST: dict[str, tuple[Any, Any, set[str]]] = {
    "ranking": (SCORES >> tk.then_report_noisy_top_k(PURE, k=2, scale=1.0), VECTOR, {"items"}),
    "canonical": (SCORES >> tk.then_canonical_top_k(PURE, k=2, scale=1.0), VECTOR, {"items"}),
    "choice": (SCORES >> tk.then_permute_and_flip(PURE, scale=1.0), VECTOR, {"items"}),
    "gaps": (SCORES >> tk.then_noisy_top_k_with_gaps(PURE, k=2, scale=1.0), VECTOR, {"items"}),
    "counts of winners": (SCORES >> tk.then_select_then_count(PURE, k=2, scale=1.0), VECTOR, {"add", "items"}),
    "histogram": (FEW >> tk.then_noisy_histogram(PURE, scale=1.0), VECTOR, {"best", "from"}),
    "laplace": (FEW >> tk.then_laplace(PURE, scale=1.0), VECTOR, {"best", "from"}),
    "gaussian": (FEW >> tk.then_gaussian(tk.PrivacyProfile(), scale=1.0), VECTOR, {"best", "from"}),
    "keys": (KEYED >> tk.then_partition_selection(LOST, epsilon=1.0, delta=1e-9), KEYED_TABLE, set()),
    "keys with counts": (KEYED >> tk.then_stable_histogram(LOST, scale=1.0, delta=1e-9), KEYED_TABLE, {"add"}),
    "found": (KEYED >> tk.then_unknown_domain_top_k(LOST, k=1, scale=1.0, limit=2, delta=1e-9), KEYED_TABLE, set()),
    "found, counted": (
        KEYED >> tk.then_unknown_domain_counts(LOST, k=1, scale=1.0, limit=2, delta=1e-9),
        KEYED_TABLE,
        {"add"},
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_only_what_takes_a_release_may_follow_it(name: str) -> None:
    first, value, allowed = FIRST[name]
    made = tk.make_minimum_users(*KEYED, minimum_users=2) if value is KEYED_TABLE else None
    for made_first in (first, tk.make_padded(first, seconds=5), *([made >> first] if made else ())):
        for then, function in AFTER.items():
            if then in allowed:
                with unwaited():
                    (made_first >> function)(value)
            else:
                raises_exactly(SpaceError, lambda m=made_first, f=function: m >> f, "must follow a measurement")


def test_what_follows_a_post_processor_is_what_takes_its_releases() -> None:
    counts = FIRST["histogram"][0] >> AFTER["best"]
    assert (counts >> AFTER["add"])(VECTOR).indices.size == 2
    for first, then in ((counts, "best"), (FIRST["ranking"][0] >> AFTER["items"], "items"), (counts, "from")):
        raises_exactly(SpaceError, lambda first=first, then=then: first >> AFTER[then], "must follow")
    gaps = FIRST["gaps"][0] >> AFTER["items"]
    raises_exactly(SpaceError, lambda: gaps >> AFTER["add"], "field counts")


def test_as_many_counts_as_are_asked_for() -> None:
    for first in (FIRST["histogram"][0], SAME >> FIRST["histogram"][0]):
        raises_exactly(SpaceError, lambda first=first: first >> tk.largest_counts(4), "at least k (4)")
        raises_exactly(SpaceError, lambda first=first: first >> tk.counts_from(1, TREES[:2]), "as many as")


def test_a_function_of_the_caller_may_follow_and_be_followed() -> None:
    own = FIRST["keys"][0] >> (lambda keys: np.array([len(keys), 7]))
    assert (own >> tk.largest_counts(1))(KEYED_TABLE).counts.tolist() == [7]
    stated = tk.make_user_measurement(*FEW, PURE, function=lambda scores: scores, privacy_map=lambda d_in: 0.0)
    assert (stated >> AFTER["best"])(VECTOR).counts.tolist() == [900, 700]


def test_a_function_without_a_module_may_follow() -> None:
    function = eval("lambda scores: (len(scores), 'all')", {"__builtins__": {"len": len}})
    assert function.__module__ is None
    stated = tk.make_user_measurement(*FEW, PURE, function=function, privacy_map=lambda d_in: 0.0)
    for pairs in (stated, stated >> (lambda pair: pair)):
        assert tk.make_private_selection(pairs, repetitions=tk.TruncatedNegativeBinomial(1, 0.5))(VECTOR)[1] == "all"
