"""Transformations: functions with a stability map, and the public lists that a chain compares with its table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..errors import SpaceError, checks
from ..proof import Proof
from ..spaces.domains import Domain
from ..spaces.metrics import Metric
from .claims import Claimed, Recipe, attach_claim, read_only
from .measurement import Measurement, candidates_of, chain_proofs
from .partials import Partial
from .rendering import describe_html, describe_text
from .repeatable import ComposedFunction, block_maxima_sign
from .spaces import Space, evaluate_map, joint_domain, match_input_space, on_distances, require_fitting

# Transformations. Another transformation or a measurement may follow one with ``>>``.

Next = TypeVar("Next", bound="Transformation | Measurement")


@dataclass(frozen=True, eq=False, repr=False)
class Transformation(Claimed):
    """A function with a stability map, deterministic unless ``randomized`` is true.

    Inputs at distance ``d_in`` under ``input_metric`` have outputs at distance at most ``map(d_in)`` under
    ``output_metric``. If the function is randomised, there is a coupling of the outputs with this property. Build one
    with a ``make_*`` constructor. ``proof`` applies to the function and the map that a constructor made: a copy with
    anything replaced is unproven.
    """

    input_domain: Domain
    input_metric: Metric
    output_domain: Domain
    output_metric: Metric
    function: Callable[[Any], Any]
    stability_map: Callable[[Any], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    randomized: bool = False

    def __post_init__(self) -> None:
        require_fitting(self.input_domain, self.input_metric)
        require_fitting(self.output_domain, self.output_metric, "output")
        checks.require_callable("function", self.function)
        stability_map = on_distances(self.stability_map, self.input_metric, "stability_map")
        object.__setattr__(self, "stability_map", stability_map)
        object.__setattr__(self, "parameters", read_only(self.parameters))

    # proof-region: transformation
    def map(self, d_in: Any) -> Any:
        """Return a bound on the distance between the outputs of inputs at distance ``d_in``."""
        return evaluate_map(self.stability_map, self.input_metric.distance(d_in, "d_in"), self.output_metric.distance)

    def check(self, d_in: Any, d_out: Any) -> bool:
        """Return True if the map bounds the distance of outputs by ``d_out`` for inputs at distance ``d_in``."""
        bound = self.output_metric.distance(d_out, "d_out")
        return bool(self.map(d_in) <= bound)  # [at-most]

    def invoke(self, value: Any) -> Any:
        """Return the function's result; first ``value`` is checked to be a member of the input domain."""
        return self.function(self.input_domain.validate(value))  # [validate]

    # end-proof-region: transformation

    @property
    def input_space(self) -> tuple[Domain, Metric]:
        """The input domain and metric."""
        return self.input_domain, self.input_metric

    @property
    def output_space(self) -> tuple[Domain, Metric]:
        """The output domain and metric, on which ``>>`` builds what follows."""
        return self.output_domain, self.output_metric

    def __call__(self, value: Any) -> Any:
        return self.invoke(value)

    def __rshift__(self, other: Partial[Any, Any, Next] | Next) -> Next:
        if isinstance(other, Partial):
            return self >> other.build(self.output_domain, self.output_metric)
        if isinstance(other, Transformation):
            return chain_transformations(self, other)  # type: ignore[return-value]
        if isinstance(other, Measurement):
            return chain_measurement(self, other)  # type: ignore[return-value]
        if callable(other) and not hasattr(type(other), "__rrshift__"):  # type: ignore[unreachable]
            raise SpaceError(
                "a transformation cannot be chained with a plain function, whose stability is unknown: "
                "wrap it with make_user_transformation and its stability map"
            )
        return NotImplemented

    def __rrshift__(self, space: Space) -> Transformation:
        return match_input_space(space, self)

    def __repr__(self) -> str:
        return describe_text(self, {"output_domain": self.output_domain, "output_metric": self.output_metric})

    def _repr_html_(self) -> str:
        return describe_html(self, {"output_domain": self.output_domain, "output_metric": self.output_metric})


# proof-region: chaining
def chain_transformations(first: Transformation, second: Transformation) -> Transformation:
    """Return the transformation ``first >> second``."""
    _connecting_domain(first, second)  # [check-space]
    both = replace(
        second,
        input_domain=first.input_domain,
        input_metric=first.input_metric,
        function=lambda value: second.invoke(first.function(value)),  # [compose-function]
        stability_map=lambda d_in: second.map(first.map(d_in)),  # [compose-map]
        parameters=_merge_parameters(first.parameters, second.parameters),
        randomized=first.randomized or second.randomized,  # [randomized]
    )
    return attach_claim(
        both, chain_proofs(first.proof, second.proof), Recipe.from_call(chain_transformations, (first, second), {})
    )


def chain_measurement(first: Transformation, second: Measurement) -> Measurement:
    """Return the measurement ``first >> second``."""
    joint = _connecting_domain(first, second)  # [check-space]
    if second.declared.later_data:  # [later-data]
        raise SpaceError(
            "a measurement that receives more data in its queries cannot follow a transformation, whose stability "
            "covers only the first data: build it on the space for which the bound on all data is stated"
        )
    if second.interactive and joint != second.input_domain:  # [no-later-names]
        raise SpaceError(
            "an interactive measurement must be built on the output space of the transformation, so that its "
            "queries use the same candidates: transformation >> then_..."
        )
    if block_maxima_sign(second.function) is None:  # [whole-chain]
        raise SpaceError("a padded measurement does not cover the time of transformations: pad the whole chain")
    if first.randomized and not second.output_measure.survives_mixing:  # [check-mixtures]
        raise SpaceError(
            "a randomised transformation cannot be followed by a measurement under "
            f"{second.output_measure!r}, because a random choice may widen the range of a loss. Choose by a "
            "fixed rule, such as by='order', or use MaxDivergence(), ZeroConcentratedDivergence(), "
            "Approximate of them or PrivacyProfile(), under which the loss does not grow"
        )
    law, success, steps = second.declared.law, second.declared.success, second.declared.steps
    if first.randomized:  # [no-law]
        law, success, steps = None, None, None
    declared = replace(
        second.declared,
        scores_input=False,  # [scores-made]
        candidates=candidates_of(replace(second, input_domain=joint)),  # [counted-here]
        law=law and (lambda value: law(second.input_domain.validate(first.function(value)))),  # [law]
        success=success
        and (lambda value, event: success(second.input_domain.validate(first.function(value)), event)),  # [success]
        steps=steps and steps.after_transformation(first.map),  # [steps]
    )
    both = replace(
        second,
        input_domain=first.input_domain,
        input_metric=first.input_metric,
        function=ComposedFunction(first.function, second),  # [compose-function]
        privacy_map=lambda d_in: second.exact_map(first.map(d_in)),  # [compose-map]
        declared=declared,
        parameters=_merge_parameters(first.parameters, second.parameters),
    )
    return attach_claim(
        both, chain_proofs(first.proof, second.proof), Recipe.from_call(chain_measurement, (first, second), {})
    )


def _connecting_domain(first: Transformation, second: Transformation | Measurement) -> Domain:
    """Return the domain between the two sides, which combines what both state about its members."""
    unlike = (
        f"the two sides of >> do not match: output_domain {first.output_domain!r} on the left, input_domain "
        f"{second.input_domain!r} on the right"
    )
    joint = joint_domain(first.output_domain, second.input_domain, unlike)  # [meet]
    if first.output_metric != second.input_metric:
        raise SpaceError(
            f"the two sides of >> do not match: output_metric {first.output_metric!r} on the left, "
            f"input_metric {second.input_metric!r} on the right"
        )
    return joint


# end-proof-region: chaining


def _merge_parameters(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return both sets of parameters; if a name occurs in both, that of ``first`` gets a prime."""
    joined = {}
    for name, value in first.items():
        while name in second or name in joined:
            name += "'"
        joined[name] = value
    return joined | dict(second)


# The public lists that a measurement compares with columns of its table. They show the type of a column in advance.

# For each argument, the attribute of the domain that names the column, and the word for its entries.
_COLUMNS = {
    "candidates": ("item", "candidates"),
    "items": ("item", "items"),
    "groups": ("group", "groups"),
    "measurements": ("group", "groups"),
}


def public_lists(built: Any) -> dict[tuple[str, str], Any]:
    """Return one entry of each public list that ``built`` compares with a column, by the column and the entries' word.

    Lists are found only in what constructors of the library made, and not behind a transformation that the caller
    vouches for, which may return another table.
    """
    found: dict[tuple[str, str], Any] = {}
    _collect_public_lists(built, found, set())
    return found


def _collect_public_lists(built: Any, found: dict[tuple[str, str], Any], seen: set[int]) -> None:
    recipe = built._own_claim().recipe if isinstance(built, Claimed) and id(built) not in seen else None
    seen.add(id(built))
    if recipe is None:
        return
    domain = recipe.options.get("input_domain", next(iter(recipe.arguments), None))
    for argument, (role, what) in _COLUMNS.items():
        listed = recipe.options.get(argument)
        if listed is not None and isinstance(domain, Domain) and hasattr(domain, role):
            found.update({(getattr(domain, role), what): entry for entry in _first_entry(listed)})
    for part in itertools.chain.from_iterable(map(_claimed_members, (*recipe.arguments, *recipe.options.values()))):
        _collect_public_lists(part, found, seen)
        if isinstance(part, Transformation) and _is_vouched_for(part.proof):
            return


def _first_entry(listed: Any) -> Iterator[Any]:
    """Yield the first entry of a list as a Python value, or nothing if the list is empty."""
    for entry in listed:
        yield entry.as_py() if hasattr(entry, "as_py") else entry
        return


def _claimed_members(argument: Any) -> Iterable[Claimed]:
    """Return the claimed values in an argument: itself, or the members of a list or a mapping of these."""
    listed = argument.values() if isinstance(argument, Mapping) else argument
    members = listed if isinstance(argument, Mapping | list | tuple) else (argument,)
    return members if isinstance(next(iter(members), None), Claimed) else ()


def _is_vouched_for(proof: Proof) -> bool:
    """Return True if the caller vouches for a part of the proof."""
    return proof.name is None or any(map(_is_vouched_for, proof.parts))
