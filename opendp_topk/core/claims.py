"""What is claimed of a measurement or transformation: where it is proved, and how it is built again.

A claim is no field. Whoever builds a measurement, or changes one with ``dataclasses.replace``, gets one that claims
nothing; only the constructors of the library, and its rules for chains and conversions, add a claim, to the function
and the map that they made themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from ..errors import PickleError
from ..proof import UNPROVEN, Proof
from .recipes import Recipe

P = ParamSpec("P")
Built = TypeVar("Built", bound="Claimed")


# proof-region: claims
@dataclass(frozen=True)
class _Claim:
    """Where a thing is proved, and how to build it again; None where no constructor made it."""

    proof: Proof
    recipe: Recipe | None


_NOTHING = _Claim(UNPROVEN, None)


class Claimed:
    """A frozen value of which something may be claimed: a measurement, a transformation or an odometer.

    Two are equal where one constructor was given equal arguments; what no constructor made is equal to itself alone.
    A pickle of it holds the name and the arguments of the constructor, by which it is built again.
    """

    _claim = _NOTHING  # [no-claim]

    @property
    def proof(self) -> Proof:
        """Where it is proved; ``dataclasses.replace`` makes a copy that is unproven, whatever is replaced."""
        return self._claim.proof

    def __eq__(self, other: Any) -> bool:
        mine, its = self._claim.recipe, getattr(other, "_claim", _NOTHING).recipe
        return self is other or (mine is not None and its is not None and mine.value == its.value)  # [equal]

    def __hash__(self) -> int:
        recipe = self._claim.recipe
        return object.__hash__(self) if recipe is None else hash(recipe.value)

    def __copy__(self: Built) -> Built:
        return self

    def __deepcopy__(self: Built, _: Any) -> Built:
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        recipe = self._claim.recipe
        if recipe is None:
            raise PickleError(
                f"this {type(self).__name__.lower()} cannot be pickled, because no constructor of the library made it "
                "as it is (dataclasses.replace and from_opendp make such ones): build it where it is needed"
            )
        return recipe.pickled()


def claimed(built: Built, proof: Proof, recipe: Recipe | None = None) -> Built:
    """A copy of ``built`` with a claim. Only for what was made on the spot, by the code that ``proof`` is about."""
    made: Built = replace(built)  # type: ignore[type-var]
    object.__setattr__(made, "_claim", _Claim(proof, recipe))  # [claim]
    return made


# end-proof-region: claims


def proven(name: str | None) -> Callable[[Callable[P, Built]], Callable[P, Built]]:
    """Decorate a constructor whose results are proved by the document ``proofs/<name>.tex``.

    The parts of the proof that it sets, those of the measurements that it combines, stay. With None nothing is proved:
    the caller vouches for the results.
    """

    def decorate(constructor: Callable[P, Built]) -> Callable[P, Built]:
        @functools.wraps(constructor)
        def make(*args: P.args, **kwargs: P.kwargs) -> Built:
            recipe = Recipe.of(make, args, kwargs)
            built = constructor(*recipe.arguments, **recipe.options)
            return claimed(built, Proof(name, built.proof.parts, built.proof.assumption), recipe)

        if name is not None:
            make.proof_name = name  # type: ignore[attr-defined]
        return make

    return decorate
