"""The rules by which links are chained: stability composes, privacy follows, post-processing is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import SpaceError
from ..proof import Proof
from ..spaces.measures import bounds_range

if TYPE_CHECKING:
    from .links import Measurement, Transformation

CHAINING = "core/chaining"


# proof-region: chaining
def chain_transformations(first: Transformation, second: Transformation) -> Transformation:
    _meet(first, second)  # [check-space]
    return replace(
        second,
        input_domain=first.input_domain,
        input_metric=first.input_metric,
        function=lambda value: second.invoke(first.function(value)),  # [compose-function]
        stability_map=lambda d_in: second.map(first.map(d_in)),  # [compose-map]
        parameters=_joined(first.parameters, second.parameters),
        proof=Proof(CHAINING, _links(first.proof) + _links(second.proof)),
    )


def chain_measurement(first: Transformation, second: Measurement) -> Measurement:
    _meet(first, second)  # [check-space]
    law, success = second.exact_distribution, second.success_bound
    return replace(
        second,
        input_domain=first.input_domain,
        input_metric=first.input_metric,
        function=lambda value: second.invoke(first.function(value)),  # [compose-function]
        privacy_map=lambda d_in: second.map(first.map(d_in)),  # [compose-map]
        scores_input=False,  # [scores-made]
        exact_distribution=law and (lambda value: law(second.input_domain.validate(first.function(value)))),
        success_bound=success
        and (lambda value, event: success(second.input_domain.validate(first.function(value)), event)),  # [success]
        parameters=_joined(first.parameters, second.parameters),
        proof=Proof(CHAINING, _links(first.proof) + _links(second.proof)),
    )


def post_process(first: Measurement, then: Callable[[Any], Any]) -> Measurement:
    if first.interactive and bounds_range(first.output_measure):  # [no-hidden-choice]
        raise SpaceError(
            "an interactive measurement with a bounded range cannot be post-processed: a function that draws its "
            "queries at random could widen the range. Convert it to another measure first, or use the queryable itself"
        )
    return replace(
        first,
        function=lambda value: then(first.function(value)),  # [post-process]
        decode=lambda outcome: then(first.decode(outcome)),
        proof=Proof(CHAINING, _links(first.proof)),
    )


def _meet(first: Transformation, second: Transformation | Measurement) -> None:
    if first.output_domain != second.input_domain:
        raise SpaceError(
            "the two sides of >> do not meet: the left has "
            f"output_domain {first.output_domain!r}, the right input_domain {second.input_domain!r}"
        )
    if first.output_metric != second.input_metric:
        raise SpaceError(
            "the two sides of >> do not meet: the left has "
            f"output_metric {first.output_metric!r}, the right input_metric {second.input_metric!r}"
        )


# end-proof-region: chaining


def _links(proof: Proof) -> tuple[Proof, ...]:
    return proof.parts if proof.name == CHAINING else (proof,)


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both sets of parameters; where a name occurs in both, the earlier link's gets a prime."""
    joined = {}
    for name, value in first.items():
        while name in second or name in joined:
            name += "'"
        joined[name] = value
    return joined | dict(second)
