"""What people state of a ledger: units of people, and lines for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import Parameter, signature
from typing import Annotated, Any, TypedDict, TypeVar, get_type_hints

from ...errors import DistanceError, ParameterError, SpaceError, checks
from ...errors.checks import Number
from ...numerics.arithmetic import to_fraction
from ...spaces.domains import Domain
from ...spaces.metrics import Metric, UserDistance
from .amounts import parse_exact

# The unit that a ledger protects: of which data set, who a person is, among which neighbours, at what distance.
#
# Proof: proofs/ledger/ledger.tex

_LONGEST = 200  # a name is for people to read


# proof-region: units
@dataclass(frozen=True)
class LedgerPrivacyUnit:
    """Whom a budget protects: data sets ``dataset`` at distance at most ``d_in`` under the metric ``metric``.

    ``user`` is the column whose values tell people apart, and ``person`` what one of them is called; None where the
    ledger does not say.
    """

    dataset: str
    metric: str
    d_in: Fraction
    user: str | None = None
    person: str | None = None

    @staticmethod
    def for_new_ledger(dataset: Any, metric: Any, d_in: Any, user: Any = None, person: Any = None) -> LedgerPrivacyUnit:
        """The unit of a new ledger."""
        checks.require_instance("metric", metric, Metric, "the metric of the protected unit, such as UserDistance()")
        distance = parse_exact(1 if d_in is None else d_in, "d_in")
        if distance == 0:
            raise ParameterError("d_in must be > 0: at distance 0 nobody is protected")
        _require_distance(metric, distance)
        if not (user is None and person is None) and not isinstance(metric, UserDistance):
            raise ParameterError("user and person are for tables: leave them out, or give metric=UserDistance()")
        if user is None and person is not None:
            raise ParameterError("person is the word for a value of a column: give user, the column, too")
        column = None if user is None else validate_name("user", user)
        called = column if person is None else validate_name("person", person)
        return LedgerPrivacyUnit(validate_name("dataset", dataset), _metric_text(metric), distance, column, called)

    def require_metric(self, metric: Metric) -> None:
        """Raise unless releases under ``metric`` are counted in this unit."""
        if _metric_text(metric) != self.metric:  # [same-metric]
            raise SpaceError(
                f"the ledger protects data sets at distance {self.d_in} under {self.metric}, and the release is under "
                f"{_metric_text(metric)}: build it under the ledger's metric"
            )

    def for_user_column(self, domain: Domain, at_most: Any = None, shared: Any = False) -> LedgerPrivacyUnit:
        """This unit as a release counts it that tells users of ``domain`` apart by its own column.

        One person has rows with ``at_most`` values of that column. ``shared`` says that rows with one value may be of
        several people; otherwise each value is of one person.

        Raises:
            SpaceError: It is another column than that of the unit, and ``at_most`` is not stated.
            ParameterError: ``at_most`` or ``shared`` is stated where it is the same column, or is out of range.
        """
        several, column = checks.require_boolean("shared", shared), getattr(domain, "user", None)
        if self.user is None or column == self.user:  # [same-column]
            if at_most is not None or several:
                raise ParameterError(
                    "at_most and shared are for a release by another column than the ledger's: leave them out"
                )
            return self
        if at_most is None:
            raise SpaceError(
                f"in this ledger a person is {self.person_description}, and the release counts by the column "
                f"{column}: count by the "
                f"ledger's, or state at_most, with how many values of {column} one person has rows"
            )
        times = checks.require_positive_int("at_most", at_most) * (2 if several else 1)  # [times]
        return replace(self, d_in=self.d_in * times, user=column, person=None)

    @property
    def person_description(self) -> str:
        """Who a person is, in words."""
        return "not stated" if self.user is None else f"a {self.person}: the column {self.user}"

    def charged_distance(self, d_in: Any) -> Number:
        """The distance at which a release is charged: this unit's, or a larger one that is asked for."""
        if d_in is None:
            return checks.plain_number(self.d_in) if self.d_in.denominator > 1 else int(self.d_in)
        found = checks.require_distance(d_in, "d_in")
        if found < self.d_in:  # [not-below]
            raise ParameterError(f"d_in must be at least {self.d_in}, the distance that the ledger protects")
        return found


def _metric_text(metric: Metric) -> str:
    """The repr of a metric, by what it has of its own: Ctrl-C in the middle of a dataclass's leaves that at ``...``."""
    shown = type(metric).__repr__
    return str(getattr(shown, "__wrapped__", shown)(metric))


# end-proof-region: units


def validate_name(name: str, value: Any) -> str:
    """``value`` as a name: one short line of text that is printable and not blank."""
    text = checks.plain_text(value) if isinstance(value, str) else ""
    if not text.strip() or not text.isprintable() or len(text) > _LONGEST:
        raise ParameterError(f"{name} must be one line of at most {_LONGEST} printable characters")
    return text


def _require_distance(metric: Metric, distance: Fraction) -> None:
    whole = int(distance) if distance.denominator == 1 else distance
    try:
        found = to_fraction(metric.distance(whole, "d_in"))
    except DistanceError as error:
        reason = str(error)
    else:
        reason = "" if found == distance else "d_in must be a distance of the metric"
    if reason:
        raise ParameterError(reason)


# What people say of a ledger and of a release in words.
#
# :class:`Metadata` alone tells which lines there are. Those that a release may have of its own are fields of an entry,
# too, and docs/release.schema.json describes all of them.

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class MetadataField:
    """What a line means, and whether a release may have its own, which counts in the place of its ledger's."""

    meaning: str
    own: bool = True


class Metadata(TypedDict, total=False):
    """Lines for people, of printable characters, which nothing computes; each is an option of the command, too."""

    publisher: Annotated[str | None, MetadataField("Who publishes what is released.", own=False)]
    period: Annotated[str | None, MetadataField("The time that the data are of, a line for people.")]
    purpose: Annotated[str | None, MetadataField("What it is released for, a line for people.")]


LINES: dict[str, MetadataField] = {
    name: kind.__metadata__[0] for name, kind in get_type_hints(Metadata, include_extras=True).items()
}
OWN = tuple(name for name, line in LINES.items() if line.own)
TOLD = "label", *OWN, "at_most", "shared"  # what the entry of a release says of it
NOT_STATED = "not stated"
TITLES = {name: name.replace("_", " ") for name in sorted(LINES)}  # as pages have them, in that order


def validate_metadata(words: Mapping[str, Any], names: Iterable[str] = OWN) -> dict[str, str]:
    """What was said in lines of these ``names``, each of them checked: None says nothing.

    Raises:
        TypeError: There is a line of another name.
        ParameterError: One is no line.
    """
    listed = [name for name in LINES if name in names]
    for name in words.keys() - set(listed):
        raise TypeError(f"unexpected keyword argument {name!r}: what can be said here is {', '.join(listed)}")
    return {name: validate_name(name, words[name]) for name in listed if words.get(name) is not None}


def read_metadata(fields: Mapping[str, Any]) -> dict[str, str]:
    """What a record of a ledger says."""
    return {name: str(fields[name]) for name in LINES if fields.get(name) is not None}


def metadata_lines(stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every line, for people, also those of which nothing was said."""
    return [(title, str(stated.get(name, NOT_STATED))) for name, title in TITLES.items()]


def add_metadata_parameters(*names: str, before: str | None = None) -> Callable[[F], F]:
    """Show the lines of these names in the signature of a function, in the place of ``words``."""

    def extend_signature(function: F) -> F:
        shown = signature(function)
        lines = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation="str | None") for name in names]
        taken = [one for name, one in shown.parameters.items() if name != "words"]
        at = next((at for at, one in enumerate(taken) if one.name == before), len(taken))
        function.__signature__ = shown.replace(parameters=[*taken[:at], *lines, *taken[at:]])  # type: ignore[attr-defined]
        return function

    return extend_signature


def release_metadata(
    user: str | None, person: str | None, words: Mapping[str, str], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """What the record of a release tells in words: what its entry says, and where that is silent, its ledger."""
    whom = {} if user is None else {"person": person, "column": user}
    return {**words, **whom, **{name: entry[name] for name in TOLD if entry.get(name)}}
