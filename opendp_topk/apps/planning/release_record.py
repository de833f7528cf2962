"""Records of releases: what was asked, released and paid."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from ...combinators.followed_by import make_followed_by
from ...combinators.from_range import make_approximate
from ...core.binary_search import binary_search_param
from ...core.measurement import Measurement
from ...core.version import version
from ...errors import ProofError
from ...measurements.gaussian import then_gaussian
from ...measurements.laplace import then_laplace
from ...numerics.arithmetic import exact, round_down
from ...proof import Proof, claim_digest
from ...sampling.distributions.discrete import largest_noise
from ...spaces.domains import FrameDomain
from ...spaces.measures import (
    MaxDivergence,
    Measure,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    is_pure,
    without_delta,
)
from ...spaces.metrics import L1Distance, L2Distance, UserDistance
from ...transformations.count_outside import make_count_outside
from ..ledger.journal import now
from .plan import Plan, Promise, T_co, U_co
from .units import Budget, Users, whom

# What was released, under which plan and with which claim: everything public about it, and no exact count or score.

FORMAT = "opendp_topk.release.v1"  # the only one that is read and written
_PROMISES = ("accuracy", "count_accuracy")


@dataclass(frozen=True)
class Released:
    """The items that were released, in order, and with each a noisy count or a noisy lead where the release has one.

    ``other`` is how many users have another item, with noise, where that was released. ``groups`` says of each item in
    the list of which group it stands, where there is a list for each of several.
    """

    items: list[Any]
    counts: list[int] | None = None
    gaps: list[float] | None = None
    other: int | None = None
    groups: list[Any] | None = None

    @classmethod
    def of(cls, released: Any) -> Released:
        """What a measurement released: one item, a list or a tuple of items, or items and what comes with them."""
        if hasattr(released, "counts"):
            return cls(list(released.items), counts=[int(count) for count in released.counts])
        if hasattr(released, "gaps"):
            return cls(list(released.items), gaps=[min(float(gap), sys.float_info.max) for gap in released.gaps])
        if hasattr(released, "stopped"):
            return cls(list(released.items))
        return cls(list(released) if isinstance(released, list | tuple) else [released])

    @classmethod
    def of_groups(cls, groups: Sequence[Any], released: Sequence[Any]) -> Released:
        """What was released for each of ``groups``, one list after the other."""
        lists = list(map(cls.of, released))

        def joint(name: str) -> Any:
            return [value for one in lists for value in getattr(one, name)] if getattr(lists[0], name) else None

        owners = [group for group, one in zip(groups, lists, strict=True) for _ in one.items]
        return cls(joint("items"), joint("counts"), joint("gaps"), groups=owners)

    @property
    def lists(self) -> list[tuple[Any, Released]]:
        """Each group with its list; the whole with None, where there are none."""
        if self.groups is None:
            return [(None, self)]
        runs = itertools.groupby(range(len(self.groups)), self.groups.__getitem__)
        return [(group, self._part(list(places))) for group, places in runs]

    def _part(self, places: Sequence[int]) -> Released:
        def only(values: list[Any] | None) -> Any:
            return None if values is None else [values[at] for at in places]

        return Released(only(self.items), only(self.counts), only(self.gaps))


@dataclass(frozen=True)
class Read:
    """How the table was read.

    Args:
        engine: The name and the version of what counted it.
        where: The condition on its rows; None for all.
        files: The digest of the list of its files, where that was kept.
        candidates: The digest of the list of candidates; None where there is none.
        padded: How many seconds after the table began to be opened the answer came; None if it came when ready.
        groups: The digest of the list of groups; None where there is none.
    """

    engine: Mapping[str, str]
    where: str | None = None
    files: str | None = None
    candidates: str | None = None
    padded: float | None = None
    groups: str | None = None


@dataclass(frozen=True)
class Claim:
    """What a release costs at most, and for whom: ``d_out``, a number or a pair with a delta, under a measure."""

    measure: str
    symbol: str
    neighbors: str
    d_in: int
    d_out: Any

    # proof-region: record_claim
    @classmethod
    def of(cls, plan: Plan[Any, Users]) -> Claim:
        """The claim of one release; an epsilon that was asked for is never written too small."""
        measure, unit, loss = plan.measurement.output_measure, plan.query.unit, plan.loss
        profile = measure == PrivacyProfile()
        symbol = "(epsilon, delta)" if profile else measure.symbol
        d_out = (_written(loss[0]), loss[1]) if profile else loss  # [d-out]
        return cls(named(measure), symbol, unit.neighbors, unit.d_in, d_out)  # [for-whom]

    # end-proof-region: record_claim

    @property
    def main(self) -> str:
        """What is lost beside a delta: epsilon, or rho."""
        return self.symbol.strip("()").partition(",")[0]

    @property
    def whom(self) -> str:
        """Whom it protects."""
        return whom(self.neighbors, self.d_in)


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: what people are shown, pages tell and programs read. docs/release.schema.json describes it.

    ``mechanism`` has the parameters of the whole chain, from the table to the items (of groups, the chain of each, and
    as ``partition`` what makes the groups), and ``ledger`` is the entry that
    paid, if one did, with a salt: who has the digest of the record, and not the record, can guess nothing of it.
    ``stated`` is what people said of the release, which nothing computes: who a person is, publisher, period, purpose.
    """

    time: str
    released: Released
    k: int | None
    release: str
    claim: Claim
    mechanism: Mapping[str, Any]
    scale: float | None
    promises: Mapping[str, Promise]
    ledger: Mapping[str, Any] | None
    proof: Mapping[str, Any]
    read: Read
    library: Mapping[str, str]
    stated: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        released: Released,
        plan: Plan[Any, Users],
        promises: Mapping[str, Promise],
        entry: Mapping[str, Any] | None,
        read: Read,
        stated: Mapping[str, Any] | None = None,
    ) -> ReleaseRecord:
        """The record of what the measurement of ``plan`` released now, paid for by ``entry``."""
        measurement, query = plan.measurement, plan.query
        parameters = parameters_of(measurement)
        return cls(
            time=now(),
            released=released,
            k=query.task.k,
            release=query.task.release,
            claim=Claim.of(plan),
            mechanism={name: value for name, value in parameters.items() if name != "scale"},
            scale=plain(parameters.get("scale")),
            promises=promises,
            ledger=None if entry is None else salted(entry),
            proof=proof_of(measurement),
            read=read,
            library={"name": "opendp_topk", "version": version()},
            stated=stated or {},
        )

    @property
    def digest(self) -> str:
        """The digest of all that it says, as a ledger keeps it."""
        return digest_of(self.as_dict())

    @property
    def value(self) -> str | None:
        """The column whose sums rank the items; None where they are ranked by their users, and of quantiles."""
        column = self.mechanism.get("value")
        return None if column is None or self.quantiles else str(column)

    @property
    def quantiles(self) -> tuple[Fraction, ...]:
        """Which quantiles of a column of numbers were released; none where items were."""
        return quantiles_of(self.mechanism)

    @property
    def noun(self) -> str:
        """Count, or sum."""
        return "count" if self.value is None else "sum"

    @property
    def listed(self) -> bool:
        """Whether the candidates were listed."""
        return self.mechanism["candidates"] is not None

    @property
    def by_gap(self) -> bool:
        """Whether the data chose how many candidates were released, by a large gap."""
        return bool(self.mechanism["mechanism"] == "top_k_by_gap")

    @property
    def partition(self) -> Mapping[str, Any] | None:
        """What makes the groups, where there is a list for each of several."""
        return self.mechanism.get("partition")

    @property
    def may_stop(self) -> bool:
        """Whether there may be fewer than k: a minimum of users leaves items out of a list, too."""
        return self.by_gap or (self.k is not None and "limit" in self.mechanism)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> ReleaseRecord:
        """What :meth:`as_dict` made, and JSON kept."""
        own = {name: found[name] for name in _SAME}
        promises = {name: found[name] for name in _PROMISES if name in found}
        return cls(
            **own,
            claim=Claim(found["measure"], found["symbol"], found["neighbors"], found["d_in"], _read(found["d_out"])),
            released=Released(found["items"], *map(found.get, ("counts", "gaps", "other", "groups"))),
            promises={name: Promise(one["words"], one["within_users"], one["alpha"]) for name, one in promises.items()},
            read=Read(found["engine"], *map(found.get, ("where", "files", "candidate_list", "padded", "group_list"))),
            stated=found.get("stated", {}),
        )

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        released, read = self.released, self.read
        beside = {name: getattr(released, name) for name in ("groups", "counts", "gaps", "other")}
        attested = {"where": read.where, "files": read.files, "candidate_list": read.candidates, "padded": read.padded}
        attested["group_list"] = read.groups
        return {
            "format": FORMAT,
            "time": self.time,
            "items": released.items,
            **{name: value for name, value in beside.items() if value is not None},
            "k": self.k,
            "release": self.release,
            **asdict(self.claim),
            "mechanism": {name: plain(value) for name, value in self.mechanism.items()},
            "scale": self.scale,
            **{name: promise.as_dict() for name, promise in self.promises.items()},
            "ledger": None if self.ledger is None else dict(self.ledger),
            "proof": self.proof,
            **{name: value for name, value in attested.items() if value is not None},
            **({"stated": dict(self.stated)} if self.stated else {}),
            "engine": dict(read.engine),
            "library": self.library,
        }


_SAME = ("time", "k", "release", "mechanism", "scale", "ledger", "proof", "library")


# proof-region: written_epsilon
def _written(number: Any) -> float:
    """A float64 whose shortest decimal, as which a record is read, is at least what was stated."""
    near = float(number)
    while Fraction(repr(near)) < exact(number):  # [no-less]
        near = math.nextafter(near, math.inf)
    return near


# end-proof-region: written_epsilon


def _read(d_out: Any) -> Any:
    return tuple(d_out) if isinstance(d_out, list) else d_out


def quantiles_of(known: Mapping[str, Any]) -> tuple[Fraction, ...]:
    """The quantiles among the parameters of a mechanism: one, several, or none."""
    return tuple(map(Fraction, known.get("quantiles", [known["quantile"]] if "quantile" in known else [])))


def parameters_of(measurement: Measurement) -> dict[str, Any]:
    """The parameters of a chain; of groups, those of the chain of each, and as ``partition`` what makes the groups."""
    known = dict(measurement.parameters)
    each = known.pop("each_group", None)
    return known if each is None else {**each, "partition": known}


def named(measure: Measure) -> str:
    """The name of a measure, as records have it."""
    inner = without_delta(measure)
    return type(inner).__name__ if inner is measure else f"Approximate({type(inner).__name__})"


def links(proof: Proof) -> list[Proof]:
    """The documents on which a chain rests: those of its links, and the chain rules."""
    below = [one for part in proof.parts for one in links(part)]
    return list(dict.fromkeys([*below, Proof(proof.name, assumption=proof.assumption)]))


def plain(value: Any) -> Any:
    """A fraction as a float, or as an integer where it is beyond all floats; another value as it is."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if not isinstance(value, Fraction):
        return value
    return float(value) if abs(value) <= sys.float_info.max else int(value)


def canonical(value: Any) -> str:
    """JSON in which equal values are written alike: names are sorted, and a whole number has no point."""
    return json.dumps(json.loads(json.dumps(value), parse_float=_number), sort_keys=True, separators=(",", ":"))


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest of a record as JSON holds it, with its salt: the same whatever program has written the numbers."""
    return "sha256:" + hashlib.sha256(canonical(record).encode("ascii")).hexdigest()


def salted(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What has paid, with the random digits that keep everybody from guessing the record by its digest."""
    return {**entry, "salt": uuid.uuid4().hex + uuid.uuid4().hex}


def list_digest(items: Iterable[Any]) -> str:
    """The digest of a list of candidates, as texts in their order."""
    return "sha256:" + hashlib.sha256(canonical([str(item) for item in items]).encode("ascii")).hexdigest()


def proof_of(measurement: Measurement) -> dict[str, Any]:
    """What a record says of the proof: its state, and each document with its digests."""
    documents = [_document(proof) for proof in links(measurement.proof)]
    return {"status": measurement.proof.status, "documents": documents}


def _document(proof: Proof) -> dict[str, Any]:
    path = proof.path
    digest = None if path is None else "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return {"document": proof.name, "status": proof.status, "digest": digest, "claim": _claim(proof.name)}


def _claim(name: str | None) -> str | None:
    """The digest that a reader of this claim signs; None where there is none."""
    try:
        return None if name is None else claim_digest(name)
    except ProofError:
        return None


# How many users have an item that was not released, as a noisy count at a tenth of the cost.

_SHARE = Fraction(1, 10)  # of the loss: one count needs little, and the items need most of it


@dataclass(frozen=True)
class Other:
    """The count of all other users, for a whole budget of which the release itself gets the rest."""

    whole: Budget
    unit: Users

    @property
    def loss(self) -> float:
        """What the count may lose."""
        return round_down(exact(self.whole.d_out) * _SHARE)

    @property
    def rest(self) -> Budget:
        """What is left for the release."""
        return Budget(self.whole.measure, round_down(exact(self.whole.d_out) - exact(self.loss)))

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        domain = FrameDomain("user", "item")
        return float(binary_search_param(lambda scale: self._of(domain, (), scale), self.unit.d_in, self.loss))

    def after(self, plan: Plan[T_co, U_co]) -> Plan[T_co, U_co]:
        """The plan with the count after what it releases."""
        measurement = plan.measurement
        domain, measure, scale = measurement.input_domain, measurement.output_measure, self.scale
        assert isinstance(domain, FrameDomain)

        def follow(released: Any) -> Measurement:
            counted = self._of(domain, Released.of(released).items, scale)
            return counted if measure == counted.output_measure else make_approximate(counted)

        d_out = self.loss if measure == self.whole.measure else (self.loss, 0.0)
        followed = make_followed_by(measurement, follow=follow, d_in=self.unit.d_in, d_out=d_out)
        return replace(plan, measurement=followed)

    def released(self, both: Any) -> Released:
        """What a plan with the count has released."""
        return replace(Released.of(both[0]), other=int(both[1][0]))

    def deviation(self, alpha: Fraction) -> float:
        """By how many users the count may be off with probability at least 1 - alpha."""
        return largest_noise(exact(self.scale), 1, alpha, gaussian=not is_pure(self.whole.measure))

    def _of(self, domain: FrameDomain, items: Any, scale: float) -> Measurement:
        pure = is_pure(self.whole.measure)
        metric = L1Distance() if pure else L2Distance()
        outside = make_count_outside(domain, UserDistance(self.unit.neighbors), items=items, output_metric=metric)
        noise = (
            then_laplace(MaxDivergence(), scale=scale)
            if pure
            else then_gaussian(ZeroConcentratedDivergence(), scale=scale)
        )
        counted: Measurement = outside >> noise
        return counted
