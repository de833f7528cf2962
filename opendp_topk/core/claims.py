"""Claims of links, their recipes, and pickles of both."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..errors import PickleError, checks
from ..proof import UNPROVEN, Proof
from .recipes import Recipe

# The claim of a measurement or transformation: where it is proved, and how it is built again.
#
# A claim is not a field. A measurement that is built by its class, or changed with ``dataclasses.replace``, claims
# nothing; only the constructors of the library, and its rules for chains and conversions, add a claim, to the function
# and the map that they made themselves. The claim keeps these very objects. If one of them is replaced afterwards, past
# the frozen class, nothing is claimed any more.

P = ParamSpec("P")
Built = TypeVar("Built", bound="Claimed")
_OWN = __name__.partition(".")[0]


# proof-region: claims
@dataclass(frozen=True)
class _Claim:
    """Where a thing is proved, and how to build it again; None where no constructor made it."""

    proof: Proof
    recipe: Recipe | None
    contents: tuple[Any, ...] = ()


_NOTHING = _Claim(UNPROVEN, None)


def claim_contents(owner: Claimed, recipe: Recipe | None) -> tuple[Any, ...]:
    """All attributes of ``owner``, the arguments of its recipe, and so on of the library's frozen records among these.

    Of a thing that may have a claim of its own, that claim is listed, and its attributes are not.
    """
    found = _record_attributes(owner)
    if recipe is not None:
        found += [*recipe.arguments, *recipe.options.values()]
    opened: set[int] = set()
    for one in found:
        within = _contents_lister(type(one))  # type: ignore[arg-type]
        if within is not None and id(one) not in opened:
            opened.add(id(one))
            found += within(one)
    return tuple(found)


def _record_attributes(record: Any) -> list[Any]:
    """The class of a record, and all that it has: its fields, and what else was stored in it or hides its methods."""
    stored = {**vars(record)}
    stored.pop("_claim", None)
    return [type(record), *stored, *stored.values()]


@functools.cache
def _contents_lister(member: type) -> Callable[[Any], Iterable[Any]] | None:
    """What lists the contents of a value of this type; None where it has none of its own that count."""
    if _is_record(member):
        return _claim_of if issubclass(member, Claimed) else _record_attributes
    return _records_of if issubclass(member, Iterable) and not issubclass(member, str | bytes | np.ndarray) else None


def _claim_of(value: Claimed) -> list[_Claim]:
    return [value._claim]


def _records_of(value: Iterable[Any]) -> Iterable[Any]:
    """The members of a collection of the library's records."""
    return value if _is_record(type(next(iter(value), None))) else ()


def _is_record(member: type) -> bool:
    """Whether this is a class of frozen records of the library; those of others may change as they like."""
    return member.__module__.partition(".")[0] == _OWN and is_dataclass(member) and member is not _Claim


class Claimed:
    """A frozen value of which something may be claimed: a measurement, a transformation or an odometer.

    Two are equal where one constructor was given equal arguments; what no constructor made is equal to itself alone.
    A pickle of it holds the name and the arguments of the constructor, by which it is built again.
    """

    _claim = _NOTHING  # [no-claim]

    @property
    def proof(self) -> Proof:
        """Where it is proved; ``dataclasses.replace`` makes a copy that is unproven, whatever is replaced."""
        return self._own_claim().proof

    def _own_claim(self) -> _Claim:
        """The claim, if this, and all with claims that it was made of, has the contents with which it was claimed."""
        known = {id(self)}
        for one in (waiting := [self] if self._claim is not _NOTHING else []):
            kept, found = one._claim.contents, claim_contents(one, one._claim.recipe)
            if len(kept) != len(found) or not all(map(operator.is_, kept, found)):  # [same-objects]
                return _NOTHING
            parts = [part for part in found if isinstance(part, Claimed) and part._claim is not _NOTHING]  # [parts]
            waiting += [part for part in parts if id(part) not in known]
            known |= {id(part) for part in parts}
        return self._claim

    def __eq__(self, other: Any) -> bool:
        mine, its = (one._own_claim().recipe if isinstance(one, Claimed) else None for one in (self, other))
        return self is other or (
            mine is not None and its is not None and mine.comparison_key == its.comparison_key
        )  # [equal]

    def __hash__(self) -> int:
        recipe = self._own_claim().recipe
        return object.__hash__(self) if recipe is None else hash(recipe.comparison_key)

    def __copy__(self: Built) -> Built:
        return self

    def __deepcopy__(self: Built, _: Any) -> Built:
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        recipe = self._own_claim().recipe
        if recipe is None:
            raise PickleError(
                f"this {type(self).__name__.lower()} cannot be pickled, because no constructor of the library made it "
                "as it is (dataclasses.replace and from_opendp make such ones): build it where it is needed"
            )
        return recipe.pickle_reduction()


def attach_claim(built: Built, proof: Proof, recipe: Recipe | None = None) -> Built:
    """A copy of ``built`` with a claim. Only for what was made on the spot, by the code that ``proof`` is about."""
    made: Built = replace(built)  # type: ignore[type-var]
    object.__setattr__(made, "_claim", _Claim(proof, recipe, claim_contents(made, recipe)))  # [claim]
    return made


# end-proof-region: claims


def proved_by(name: str | None) -> Callable[[Callable[P, Built]], Callable[P, Built]]:
    """Decorate a constructor whose results are proved by the document ``proofs/<name>.tex``.

    The parts of the proof that it sets, those of the measurements that it combines, stay. With None nothing is proved:
    the caller vouches for the results.
    """

    def decorate_constructor(constructor: Callable[P, Built]) -> Callable[P, Built]:
        @functools.wraps(constructor)
        def build_with_claim(*args: P.args, **kwargs: P.kwargs) -> Built:
            recipe = Recipe.from_call(build_with_claim, args, kwargs)
            built = constructor(*recipe.arguments, **recipe.options)
            return attach_claim(built, Proof(name, built.proof.parts, built.proof.assumption), recipe)

        if name is not None:
            build_with_claim.proof_name = name  # type: ignore[attr-defined]
        return build_with_claim

    return decorate_constructor


# The parameters that a measurement or transformation shows: a mapping that nobody can change.


@dataclass(frozen=True, eq=False, repr=False)
class Parameters(Mapping[str, Any]):
    """Names and public values, in the order in which they are shown; read-only."""

    _values: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", MappingProxyType(dict(self._values)))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self._values))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameters, (dict(self._values),)


def read_only(values: Mapping[str, Any]) -> Parameters:
    """``values`` as parameters; those that are parameters already stay the same object."""
    return values if isinstance(values, Parameters) else Parameters(checks.parameters_dictionary(values))
