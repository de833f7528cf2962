"""Amounts of a budget as exact rationals, and the accounts and privacy filters that add them up."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from ...errors import ParameterError, ParameterTypeError, SpaceError, checks
from ...numerics.arithmetic import round_down, round_up, to_fraction
from ...spaces.costs import best_order, conversion_overhead
from ...spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, UpToDelta, ZCDPBound
from ...spaces.curves.composed import compose
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
    split_delta,
    without_delta,
)
from ...spaces.stated import pure_of, renyi_of, rho_of, steps_of, with_exact_parameters

# Amounts of a budget as exact rationals: one for each number of a measure's distance.
#
# Proof: proofs/ledger/ledger.tex

Amount = tuple[Fraction, ...]
UNBOUNDED: Any = math.inf  # as an amount: larger than any other
_WRITTEN = re.compile(r"\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?|\d{1,300}/\d{1,300}", re.ASCII)
# Sums of float64 losses need at most 1024 + 1074 bits. Twice that is enough for any sum, and below Python's limit for
# conversion to decimal digits.
_BITS = 4300
_WRITTEN_BITS = 3 * _BITS  # maximum of a denominator; Python converts up to 4300 decimal digits
_SPELT = 10**9  # whole numbers below this are written in full
# Charges have a common denominator, so sums stay short however many there are. Decimals of 24 places, fractions with
# denominators up to 100, and products of them are exact; finer numbers are charged less than 10^-95 more.
_GRID = 2**104 * 10**24 * math.lcm(*range(1, 101))
_DUST = 10**12  # a rest below this fraction of the budget (1 / _DUST) is shown as 0


# proof-region: amounts
def parse_exact(value: Any, name: str) -> Fraction:
    """Return a number exactly as written: ``0.1`` is one tenth, as a float, a Decimal or a string."""
    if isinstance(value, str | Decimal):
        return _require_bit_length(
            _parse_number_text(checks.plain_text(value if isinstance(value, str) else str(value)), name), name
        )
    if not checks.is_real(value):
        raise ParameterTypeError(f"{name} must be a number >= 0 (int, float, Fraction, Decimal or its text)")
    number = checks.plain_number(value)  # [plain]
    if isinstance(number, float) and math.isfinite(number):
        return _require_bit_length(_parse_number_text(repr(number), name), name)  # [shortest]
    if isinstance(number, float) or number < 0:
        raise ParameterError(f"{name} must be a finite number >= 0")
    return _require_bit_length(to_fraction(number), name)


def _parse_number_text(text: str, name: str) -> Fraction:
    text = text.strip()
    if _WRITTEN.fullmatch(text) and not re.search(r"/0+$", text):
        return Fraction(text)  # [decimal]
    raise ParameterError(f"{name} must be a finite number >= 0, such as 0.1 or 1/3, of at most 300 digits")


def _require_bit_length(value: Fraction, name: str) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS:
        raise ParameterError(f"{name} must be a number of at most {_BITS} bits")
    return value


def loss_to_amount(measure: Measure, distance: Any) -> Amount | None:
    """Return the charge of a loss of ``distance`` under ``measure``, or None if the loss is infinite.

    The charge consists of the exact numbers, or of slightly larger ones that keep sums short.
    """
    given = distance if isinstance(measure, Approximate) else (distance,)
    parts = [checks.require_distance(part, "the loss") for part in given]  # [not-negative]
    if any(part == float("inf") for part in parts):
        return None  # [infinite]
    return tuple(round_up_to_grid(to_fraction(part)) for part in parts)  # [exact]


def round_up_to_grid(value: Fraction) -> Fraction:
    """Return ``value`` if it is on the grid; otherwise the next larger number that is on the grid or a float64."""
    if _GRID % value.denominator == 0:
        return value
    above, near = Fraction(math.ceil(value * _GRID), _GRID), round_up(value)
    return above if near == math.inf else min(above, to_fraction(near))  # [grid-up]


def add_amounts(spent: Amount, cost: Amount) -> Amount:
    return tuple(one + other for one, other in zip(spent, cost, strict=True))  # [sum]


def is_amount_within(spent: Amount, budget: Amount) -> bool:
    return all(one <= other for one, other in zip(spent, budget, strict=True))  # [fits]


# end-proof-region: amounts


def round_up_to_distance(measure: Measure, value: Amount) -> Any:
    """Return ``value`` as a distance of ``measure``, with each number rounded up, exactly or as its decimal repr."""
    return _distance_from_parts(measure, tuple(map(_round_up_decimal, value)))


def remaining_distance(measure: Measure, budget: Amount, spent: Amount) -> Any:
    """Return the rest of ``budget``, rounded down so that it fits if typed again; 0 if it is negligible."""
    return _distance_from_parts(measure, tuple(map(remaining_rounded_down, budget, spent)))


def remaining_rounded_down(limit: Fraction, spent: Fraction) -> float:
    """Return the rest of ``limit``, rounded down; 0 if it is negligible."""
    rest = limit - spent
    return round_down_decimal(rest) if rest * _DUST > limit else 0.0


def _round_up_decimal(value: Fraction) -> float:
    """Return the least float64 whose exact value or decimal repr is at least ``value``."""
    if value == UNBOUNDED:
        return math.inf
    found = round_up(value)
    below = math.nextafter(found, -math.inf)
    return below if below > 0 and Fraction(repr(below)) >= value else found


def round_down_decimal(value: Fraction) -> float:
    """Return the largest float64 whose decimal repr is at most ``value`` > 0."""
    near = round_down(value)
    tried = math.nextafter(near, math.inf), near, math.nextafter(near, 0.0)
    return next((one for one in tried if one < math.inf and Fraction(repr(one)) <= value), 0.0)


def _distance_from_parts(measure: Measure, parts: tuple[float, ...]) -> Any:
    return parts if isinstance(measure, Approximate) else parts[0]


def format_amount(value: Amount) -> str:
    """Return the exact numbers as text: as decimals if these are short, otherwise as fractions."""
    return ", ".join(map(_format_rational, value))


def _format_rational(value: Fraction) -> str:
    if value == UNBOUNDED:
        return "inf"
    short = repr(float(value)) if value < 2**1000 else ""
    if value.denominator == 1 and value < _SPELT:
        return str(value)
    return short if short and Fraction(short) == value else str(value)


def serialize_amount(value: Amount) -> list[str]:
    if any(part != UNBOUNDED and part.denominator.bit_length() > _WRITTEN_BITS for part in value):
        raise ParameterError(
            "cost must have fewer digits, because the sum of all costs is stored exactly: give decimals of "
            "at most 24 places, or fractions of integers up to 100"
        )
    return list(map(str, value))


def deserialize_amount(texts: Any) -> Amount:
    """Invert :func:`serialize_amount`."""
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise ValueError
    return tuple(map(_parse_amount_part, texts))


@functools.lru_cache(4096)  # the same costs recur
def _parse_amount_part(text: str) -> Fraction:
    part = UNBOUNDED if text == "inf" else Fraction(text)
    if str(part) != text or part < 0:
        raise ValueError
    return part


# Parallel privacy filters of a budget (epsilon, delta), and their limits.
#
# Proof: proofs/ledger/filters.tex

# Maximum number of steps that are composed by convolution. For more steps, sums of epsilon and rho are nearly as tight.
_CONVOLVED = 2048
_GUESSES = 6  # a few usually find the number of steps; otherwise bisection does
_HALVINGS = 60  # bisection steps, beyond the precision of a float64


# proof-region: filters
def curve_from_loss(measure: Measure, loss: Any) -> PrivacyCurve | None:
    """Return the privacy curve of a loss under ``measure``, with exact parameters; None if the measure is unknown."""
    if measure == PrivacyProfile():
        return with_exact_parameters(loss)  # [curve]
    for kind, bound in _BOUNDS:
        if isinstance(measure, kind):
            return with_exact_parameters(PrivacyCurve(bound(loss)))  # [bound]
    return None


_BOUNDS: tuple[tuple[type[Measure], Callable[[Any], Any]], ...] = (
    (MaxDivergence, ApproximateDP),
    (RangeDivergence, lambda loss: AdaptiveRangeBound(1, loss)),
    (ZeroConcentratedDivergence, ZCDPBound),
)


def mixture_curve_from_loss(measure: Measure, loss: Any) -> PrivacyCurve | None:
    """Return the curve of :func:`curve_from_loss`, also for ``Approximate`` measures, as a curve of mixtures."""
    inner, own = split_delta(measure, loss)
    curve = curve_from_loss(without_delta(measure), inner)
    if curve is None or own == 0:
        return curve
    return PrivacyCurve(*(UpToDelta(bound, to_fraction(own)) for bound in curve.bounds))  # [mixtures]


def charges_per_filter(curve: PrivacyCurve, own: Fraction, step: PrivacyCurve | None, order: Fraction | None) -> Amount:
    """Return the charges of output distributions that obey ``curve`` up to the delta ``own``.

    They are for rho, delta, epsilon, steps (if ``step`` is given) and Renyi divergences (if ``order`` is given).
    """
    parts = [rho_of(curve), own, pure_of(curve)]
    parts += [] if step is None else [steps_of(curve, step)]
    parts += [] if order is None else [renyi_of(curve, order)]
    found = [UNBOUNDED if one == math.inf else round_up_to_grid(Fraction(one)) for one in parts]  # [charged]
    if order is not None:
        found[-1] = min(found[-1], _multiply_finite(order, found[0]))  # [at-most-rho]
    return tuple(found)


def curves_up_to_delta(curve: PrivacyCurve, delta: Fraction) -> list[PrivacyCurve]:
    """Return one curve for each way to write the output distributions as mixtures: that of the first components.

    The second components have a weight of at most ``delta``.
    """
    mixed = [bound for bound in curve.bounds if isinstance(bound, UpToDelta) and bound.delta <= delta]
    inner = [with_exact_parameters(PrivacyCurve(bound.bound)) for bound in mixed]  # [mixed]
    return [*inner, PrivacyCurve(ApproximateDP(curve.epsilon(delta)))]  # [one-delta]


def largest_renyi_divergence(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the order that allows the largest rho, and its largest divergence that implies (epsilon, delta), or 0."""
    order = best_order(epsilon, delta) if delta > 0 else Fraction(2)
    if delta == 0 or (most := epsilon - conversion_overhead(order, delta)) <= 0:
        return order, Fraction(0)
    return order, to_fraction(round_down(most))  # [most-renyi]


def is_renyi_within_budget(order: Fraction, divergence: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    return divergence == 0 or (
        delta > 0 and divergence + conversion_overhead(order, delta) <= epsilon
    )  # [within-renyi]


def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho found that implies (epsilon, delta), or 0 if none does."""
    order, most = largest_renyi_divergence(epsilon, delta)
    return most / order  # [most-rho]


def is_rho_within_budget(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return True if the curve of ``rho`` is at most ``delta`` at ``epsilon``."""
    return to_fraction(ZCDPBound(rho)(epsilon)) <= delta  # [within-rho]


def largest_step_count(step: PrivacyCurve, epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """Return the largest number found of steps that together keep (epsilon, delta), and the delta that they need."""
    pure, rho = pure_of(step), rho_of(step)
    if rho in (0, math.inf):
        raise ParameterError("step must be > 0, and a loss for which a rho is known")
    limit = largest_rho(epsilon, delta)
    by_rho = (
        n for n in range(int(limit // Fraction(rho)), -1, -1) if is_rho_within_budget(n * Fraction(rho), epsilon, delta)
    )
    low = int(max(0 if pure == math.inf else epsilon // Fraction(pure), next(by_rho)))
    beyond, tried, share, guesses = max(low, _CONVOLVED) + 1, low + 1, None, _GUESSES
    while beyond - low > 1:
        need = composed_delta(step, tried, epsilon)
        low, share, beyond = (tried, need, beyond) if need <= delta else (low, share, tried)  # [keep-steps]
        alike, guesses = largest_rho(epsilon, need), guesses - 1  # the rho whose curve is close to that of these steps
        guess = tried * limit // alike if guesses > 0 and alike > 0 else (low + beyond) // 2
        tried = min(max(int(guess), low + 1), beyond - 1)
    return low, composed_delta(step, low, epsilon) if share is None else share


def composed_delta(step: PrivacyCurve, count: int, epsilon: Fraction) -> Fraction:
    """Return the delta at ``epsilon`` of ``count`` adaptive steps that obey ``step``, rounded up."""
    if count <= _CONVOLVED:
        return to_fraction(compose([step] * count, adaptive=True).delta(epsilon))  # [composed]
    sums = ApproximateDP(_multiply_finite(count, pure_of(step))), ZCDPBound(_multiply_finite(count, rho_of(step)))
    return to_fraction(PrivacyCurve(*sums).delta(epsilon))  # [sums]


def _multiply_finite(count: Fraction | int, value: Any) -> Any:
    return value if value == math.inf else count * value


# end-proof-region: filters


class Filter(NamedTuple):
    """One of the parallel privacy filters: what it adds up, its limit, and its sum so far.

    ``delta`` is its share of the budget's delta. A filter is alive if ``spent`` is at most ``limit``, and releases
    continue while one filter is alive. The filter of Renyi divergences of one ``order`` shares its delta with the
    filter of rho, since it admits everything that the filter of rho admits.
    """

    adds: str
    limit: Fraction
    spent: Fraction
    delta: Fraction
    order: Fraction | None = None

    @property
    def alive(self) -> bool:
        return self.spent <= self.limit


def _largest_pure_epsilon(rho: Fraction, order: Fraction) -> float:
    """Return about the largest epsilon whose divergence of ``order`` is at most that of ``rho``, rounded down."""
    low, high = Fraction(0), rho * order + 2  # since the divergence is at least T(epsilon) >= epsilon - 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        cost = charges_per_filter(PrivacyCurve(ApproximateDP(middle)), Fraction(0), None, order)
        low, high = (middle, high) if cost[-1] <= order * rho else (low, middle)
    return round_down_decimal(low) if low * 10**12 > high else 0.0


# Accounts: the measure in which a ledger counts, its limit, and the charge of a release.
#
# Proof: proofs/ledger/ledger.tex

_FOR_STEPS = Fraction(15, 16)  # maximum share of delta for steps; what their whole number leaves of it goes to rho

# proof-region: accounts
_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
_ADDITIVE = tuple(measure for one in _SCALARS for measure in (one, Approximate(one)))
MEASURES = {repr(measure): measure for measure in (*_ADDITIVE, PrivacyProfile())}


@dataclass(frozen=True)
class BudgetAccount:
    """A budget under ``measure``, as a ``limit`` on the sums of charges.

    Under ``PrivacyProfile()`` there are sums of rho, of the releases' own deltas, of epsilon, of steps if there is a
    ``step``, and of Renyi divergences of one ``order``. All but the sum of deltas are parallel filters. ``shares`` are
    the delta of the filters of rho and Renyi divergences together, and the delta of the filter of steps. Under other
    measures there are no filters, and ``shares`` and ``order`` are None.
    """

    measure: Measure
    budget: Amount
    limit: Amount
    shares: Amount | None = None
    step: PrivacyCurve | None = None
    order: Fraction | None = None

    @property
    def counted_measure(self) -> Measure:
        return Approximate(ZeroConcentratedDivergence()) if self.has_mixed_measures else self.measure  # [counted]

    @property
    def has_mixed_measures(self) -> bool:
        """Whether the account pays for releases under several measures."""
        return self.measure == PrivacyProfile()

    @property
    def zero_amount(self) -> Amount:
        return tuple(0 * part for part in self.limit)

    def is_total_allowed(self, spent: Amount) -> bool:
        """Return True if the charges may sum to ``spent``.

        All sums must be within their limits. If there are filters, it suffices that deltas and one filter are.
        """
        if self.shares is None:
            return is_amount_within(spent, self.limit)  # [fits]
        rho, own, *others = map(operator.le, spent, self.limit)
        return own and any((rho, *others))  # [one-lives]

    def charge_for_loss(self, measure: Measure, distance: Any, delta: Any = None) -> Amount | None:
        """Return the charge of a loss of ``distance`` under ``measure``, or None if no amount is enough."""
        if delta is not None and not (self.has_mixed_measures and measure == PrivacyProfile()):
            raise ParameterError("delta is only for releases under PrivacyProfile() from a ledger with such a budget")
        if not self.has_mixed_measures:
            if measure != self.measure:  # [same-measure]
                raise SpaceError(
                    f"measurement must have the measure of the ledger, {self.measure!r}, not {measure!r}: "
                    "convert it first"
                )
            return loss_to_amount(measure, distance)
        at = Fraction(0) if delta is None else parse_exact(delta, "delta")
        loss, own = (distance, at) if measure == PrivacyProfile() else split_delta(measure, distance)
        whole = curve_from_loss(without_delta(measure), loss)
        if whole is None:
            raise SpaceError(f"measurement must have a known rho, but {measure!r} has none: convert it first")
        ways = [whole] if at == 0 else curves_up_to_delta(whole, at)  # [no-delta]
        cost = min(
            charges_per_filter(one, round_up_to_grid(to_fraction(own)), self.step, self.order) for one in ways
        )  # [least-rho]
        return None if all(one == UNBOUNDED for one in (*cost[:1], *cost[2:])) else cost

    def privacy_filters(self, spent: Amount) -> list[Filter]:
        """Return the filters of a budget under ``PrivacyProfile()``; an empty list under other measures."""
        if self.shares is None:
            return []
        together, steps = self.shares
        kinds = [("rho", together), ("epsilon", Fraction(0))]
        kinds += [] if self.step is None else [("steps", steps)]
        kinds.append(("renyi", together))
        sums = zip(kinds, self.limit[:1] + self.limit[2:], spent[:1] + spent[2:], strict=True)
        return [
            Filter(name, limit, so_far, delta, self.order if name == "renyi" else None)
            for (name, delta), limit, so_far in sums
        ]

    def spent_with_least_rho(self, spent: Amount) -> Amount:
        """Return ``spent`` with the rho that the Renyi filter implies, if it is less: the rest up to the limit fits."""
        return spent if self.order is None else (min(spent[0], spent[-1] / self.order), *spent[1:])

    def largest_next_losses(self, spent: Amount) -> dict[str, float | int]:
        """Return the largest epsilon, rho and number of steps of one more release, rounded down.

        Empty unless the budget is under ``PrivacyProfile()``.
        """
        if self.order is None:
            return {}
        found = self.privacy_filters(self.spent_with_least_rho(spent))
        left = {one.adds: remaining_rounded_down(one.limit, min(one.limit, one.spent)) for one in found}
        pure = max(left["epsilon"], _largest_pure_epsilon(Fraction(repr(left["rho"])), self.order))
        steps = {one.adds: int(one.limit - min(one.limit, one.spent)) for one in found if one.adds == "steps"}
        return {"epsilon": pure, "rho": left["rho"], **steps}

    def extend_to_filters(self, cost: Amount) -> Amount:
        """Return a stated amount as a charge. A rho > 0 exhausts the filters of epsilon and steps, if there are any."""
        divergence = [] if self.order is None else [self.order * cost[0]]
        rest = (UNBOUNDED if cost[0] > 0 else Fraction(0) for _ in self.limit[len(cost) + len(divergence) :])
        return (*cost, *rest, *divergence)  # [stated]


def open_account(measure: Any, budget: Any, own_delta: Any = None, step: PrivacyCurve | None = None) -> BudgetAccount:
    checks.require_instance("measure", measure, Measure, "a measure such as MaxDivergence()")
    if measure not in MEASURES.values():  # [additive]
        raise ParameterError(
            "measure must be MaxDivergence(), ZeroConcentratedDivergence(), Approximate(...) of one of them, or "
            f"PrivacyProfile(): losses under {measure!r} do not add up over adaptive releases, so convert first"
        )
    pair = isinstance(measure, Approximate | PrivacyProfile)
    if pair and not (isinstance(budget, tuple | list) and len(budget) == 2):
        raise ParameterError(f"budget must be a pair (amount, delta) under {measure!r}")
    parts = tuple(parse_exact(one, "budget") for one in (budget if pair else (budget,)))
    if pair and parts[1] > 1:
        raise ParameterError("delta of budget must be at most 1")
    if not (own_delta is None and step is None) and measure != PrivacyProfile():
        raise ParameterError("own_delta and step require a budget under PrivacyProfile()")
    if measure == PrivacyProfile():
        return _account_with_filters(parts[0], parts[1], own_delta, step)
    return BudgetAccount(measure, parts, parts)


def _account_with_filters(
    epsilon: Fraction, delta: Fraction, own_delta: Any, step: PrivacyCurve | None
) -> BudgetAccount:
    """Return the account whose filters keep (epsilon, delta); ``step`` gets the part of delta that it needs."""
    own = Fraction(0) if own_delta is None else parse_exact(own_delta, "own_delta")
    if not own <= delta <= 1 or epsilon == 0:
        raise ParameterError("budget must have an epsilon > 0, and own_delta must be at most its delta")
    steps, share = (0, Fraction(0)) if step is None else largest_step_count(step, epsilon, (delta - own) * _FOR_STEPS)
    rest = delta - own - share  # [split]
    order, most = largest_renyi_divergence(epsilon, rest)
    limit = (most / order, own, epsilon, *([] if step is None else [Fraction(steps)]), most)
    return BudgetAccount(PrivacyProfile(), (epsilon, delta), limit, (rest, share), step, order)


def is_limit_within_budget(account: BudgetAccount) -> bool:
    if account.shares is None:
        return not account.has_mixed_measures and account.limit == account.budget
    epsilon, delta = account.budget
    (_, own, pure, *steps), (for_rho, for_steps) = account.limit, account.shares
    return (
        own + for_rho + for_steps <= delta  # [shares]
        and pure <= epsilon  # [within-pure]
        and _is_within_delta_share(account, for_rho)
        and (
            account.step is None or composed_delta(account.step, int(steps[0]), epsilon) <= for_steps
        )  # [within-steps]
    )


def _is_within_delta_share(account: BudgetAccount, delta: Fraction) -> bool:
    """Return True if the filters of rho and of Renyi divergences keep their share of delta together."""
    rho, most, epsilon, order = account.limit[0], account.limit[-1], account.budget[0], account.order
    assert order is not None  # an account with shares has an order
    return order * rho <= most and is_renyi_within_budget(order, most, epsilon, delta)  # [one-share]


# end-proof-region: accounts
