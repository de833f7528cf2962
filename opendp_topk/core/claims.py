"""Claims about measurements and transformations: where they are proved, and how a pickle rebuilds them."""

from __future__ import annotations

import functools
import hashlib
import itertools
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .. import proof
from ..errors import CapacityError, ParameterError, ParameterTypeError, checks
from ..errors.checks import require_names
from ..proof import UNPROVEN, Proof
from .partials import require_fitting_call, signature_of

# The claim of a measurement or transformation: where it is proved, and how it is rebuilt.
#
# A claim is not a dataclass field. A measurement that is built by its class, or copied by ``dataclasses.replace``, has
# no claim. Only the constructors of the library, and its rules for chains and conversions, attach one, to the function
# and the map that they made. The claim keeps references to these very objects. If one of them is replaced later, past
# the frozen class, the claim is void.

P = ParamSpec("P")
Built = TypeVar("Built", bound="Claimed")
_OWN = __name__.partition(".")[0]


# proof-region: claims
@dataclass(frozen=True)
class _Claim:
    """The proof of a value, and the recipe that rebuilds it (None if no constructor made it)."""

    proof: Proof
    recipe: Recipe | None
    contents: tuple[Any, ...] = ()


_NOTHING = _Claim(UNPROVEN, None)


def claim_contents(owner: Claimed, recipe: Recipe | None) -> tuple[Any, ...]:
    """Return all attributes of ``owner`` and arguments of its recipe, and recursively those of the library's records.

    A member that can have a claim contributes its claim instead of its attributes.
    """
    attributes = {**vars(owner)}
    attributes.pop("_claim", None)
    found = [_layout_token(type(owner), *attributes), *attributes.values()]  # type: ignore[arg-type]
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
    """Return a token for the class and the names of all that is stored in a record, and their values.

    This includes attributes that are not fields, such as one that hides a method.
    """
    attributes = vars(record)
    return [_layout_token(type(record), *attributes), *attributes.values()]  # type: ignore[arg-type]


@functools.cache
def _layout_token(kind: type, *names: str) -> object:
    """Return one object for all records of one class with equal names in one order, and another one for others."""
    return object()  # [one-object]


@functools.cache
def _contents_lister(member: type) -> Callable[[Any], Iterable[Any]] | None:
    """Return the function that lists the contents of a value of this type; None if it has none to compare."""
    if _is_record(member):
        return _claim_of if issubclass(member, Claimed) else _record_attributes
    return _records_of if issubclass(member, Iterable) and not issubclass(member, str | bytes | np.ndarray) else None


def _claim_of(value: Claimed) -> list[_Claim]:
    return [value._claim]


def _records_of(value: Iterable[Any]) -> Iterable[Any]:
    """Return the members of a collection if the first is one of the library's records, and otherwise nothing."""
    return value if _is_record(type(next(iter(value), None))) else ()


def _is_record(member: type) -> bool:
    """Return True for a dataclass of the library; objects of other classes may be mutable."""
    return member.__module__.partition(".")[0] == _OWN and is_dataclass(member) and member is not _Claim


class Claimed:
    """A frozen value that can have a claim: a measurement, a transformation or an odometer.

    Two are equal if the same constructor was given equal arguments. A value that no constructor made equals only
    itself. A pickle contains the name and the arguments of the constructor, which rebuilds the value.
    """

    _claim = _NOTHING  # [no-claim]

    @property
    def proof(self) -> Proof:
        """The proof of its claim. A copy by ``dataclasses.replace`` is unproven, whatever is replaced."""
        return self._own_claim().proof

    def _own_claim(self) -> _Claim:
        """Return the claim if this value, and all claimed values in it, still have their contents; else no claim."""
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
            raise ParameterTypeError(
                f"this {type(self).__name__.lower()} cannot be pickled, because it is not the unchanged "
                "result of a constructor of this library (but of dataclasses.replace or from_opendp, for "
                "example): build it where it is needed"
            )
        return recipe.pickle_reduction()


def attach_claim(built: Built, proof: Proof, recipe: Recipe | None = None) -> Built:
    """Return a copy of ``built`` with a claim; ``built`` must have just been made by the code that ``proof`` covers."""
    made: Built = object.__new__(type(built))
    vars(made).update(vars(built), _claim=_Claim(proof, recipe, claim_contents(built, recipe)))  # [claim]
    return made


# end-proof-region: claims


def proved_by(name: str | None) -> Callable[[Callable[P, Built]], Callable[P, Built]]:
    """Decorate a constructor whose results are proved by the document ``proofs/<name>.tex``.

    The parts of the proof that the constructor sets, for the measurements that it combines, are kept, and so is an
    assumption. If ``name`` is None, nothing is proved: the caller vouches for the results.
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


# The parameters that a measurement or transformation displays: a read-only mapping.


@dataclass(frozen=True, eq=False, repr=False)
class Parameters(Mapping[str, Any]):
    """Names and public values in display order; read-only."""

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
    """Return ``values`` as parameters; if they are parameters already, return the same object."""
    return values if isinstance(values, Parameters) else Parameters(checks.parameters_dictionary(values))


_PACKAGE = Path(__file__).resolve().parents[1]
_DEEPEST = 64  # each level takes up to ten nested calls, of which Python allows a thousand
_MOST = 2**24  # values that are read from an iterator, which may be endless
_WITHOUT_CLAIMS = ("apps/audit", "apps/cli")


@dataclass(frozen=True)
class Recipe:
    """A constructor of the library and the arguments with which it was called."""

    constructor: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    nesting_depth: int = field(init=False, compare=False)  # of constructors; thousands would exceed the recursion limit

    @staticmethod
    def from_call(constructor: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Recipe:
        """Return the recipe of a call that fits the constructor; mutable arguments and iterators are copied."""
        require_fitting_call(constructor, arguments, options)
        kept = {name: _copy_argument(value) for name, value in options.items()}
        return Recipe(constructor, tuple(map(_copy_argument, arguments)), kept)

    def __post_init__(self) -> None:
        depth = 1 + max(map(_argument_depth, (*self.arguments, *self.options.values())), default=0)
        if depth > _DEEPEST:
            raise CapacityError(
                f"measurements may be nested or chained at most {_DEEPEST} times: compose a list of "
                "measurements at once, or combine the functions after a release"
            )
        object.__setattr__(self, "nesting_depth", depth)

    @functools.cached_property
    def comparison_key(self) -> Hashable:
        """A value that is equal for recipes that build the same: the constructor and its bound arguments."""
        bound = signature_of(self.constructor).bind(*self.arguments, **self.options)
        bound.apply_defaults()
        return self.constructor, _comparable_value(dict(bound.arguments))

    def pickle_reduction(self) -> tuple[Any, ...]:
        """Return the result of ``__reduce_ex__``."""
        require_names((self.arguments, self.options))
        return rebuild_from_pickle, (claims_digest(), self.constructor, self.arguments, dict(self.options))


def rebuild_from_pickle(
    digest: str, constructor: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return what ``constructor`` builds from the arguments, if this library is the one that wrote the pickle."""
    if digest != claims_digest():
        raise ParameterError(
            "this pickle was written by a library with other sources or proofs, so its claims may not be "
            "valid here: install the same version in both places, or build the measurement here"
        )
    return constructor(*arguments, **options)


@functools.cache
def claims_digest() -> str:
    """Return the SHA-256 of all proof documents and of all sources except those of the audit and the command."""
    total = hashlib.sha256()
    without = [_PACKAGE / room for room in _WITHOUT_CLAIMS]
    sources = [path for path in _PACKAGE.rglob("*.py") if not any(map(path.is_relative_to, without))]
    for root, paths in ((_PACKAGE, sources), (proof.documents_folder(), proof.documents_folder().rglob("*.tex"))):
        for name, path in sorted((path.relative_to(root).as_posix(), path) for path in paths):
            content = path.read_bytes()
            total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()


def _argument_depth(argument: Any) -> int:
    """Return the depth of a measurement or transformation, or the largest in a list of these; 0 for anything else."""
    if type(argument) in (list, tuple) and len(argument) and hasattr(argument[0], "_claim"):
        return max(map(_argument_depth, argument))
    recipe = getattr(getattr(argument, "_claim", None), "recipe", None)
    return recipe.nesting_depth if isinstance(recipe, Recipe) else 0


def _comparable_value(value: Any) -> Hashable:
    """Return a hashable value that is equal for equal arguments; an unhashable argument equals only itself."""
    if isinstance(value, Mapping):
        return frozenset((name, _comparable_value(one)) for name, one in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, _comparable_value(value.ravel().tolist())
    if isinstance(value, list | tuple):
        return tuple(map(_comparable_value, value))
    return value if isinstance(value, Hashable) else ("at", id(value))


def _copy_argument(value: Any) -> Any:
    copier = _argument_copier(type(value))  # type: ignore[arg-type]
    return value if copier is None else copier(value)


@functools.cache
def _argument_copier(kind: type) -> Callable[[Any], Any] | None:
    """Return the function that copies an argument of this type; None if it is not copied."""
    if issubclass(kind, Iterator):
        return _list_iterator
    return operator.methodcaller("copy") if issubclass(kind, list | dict | np.ndarray) else None


def _list_iterator(values: Iterator[Any]) -> tuple[Any, ...]:
    listed = tuple(itertools.islice(values, _MOST + 1))
    if len(listed) > _MOST:
        raise ParameterError(f"an argument is an iterator of more than {_MOST:,} values: give a list")
    return listed
