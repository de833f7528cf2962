"""Every mechanism that can give a release, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal

from ..core.measurement import Measurement
from ..distributions.events import Enclosure
from ..measurements._catalogue import able
from . import guarantees, show
from .planning import Request
from .public_counts import Counts

_SIX_UP = Context(prec=6, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Row:
    """One mechanism with the smallest scale that meets the target."""

    name: str
    measurement: Measurement
    shortfall: float | None
    success: Enclosure | None

    @property
    def rank(self) -> tuple[float, float]:
        """The likeliest exact release first, then the best guarantee; what is unknown comes last."""
        likely = 1.0 if self.success is None else -self.success.lower
        return likely, float("inf") if self.shortfall is None else self.shortfall


def compared(request: Request, alpha: float, proxy: Counts | None) -> list[Row]:
    """The mechanisms that can give the release, the best first."""
    exactly, _ = guarantees.sure(alpha)
    rows = []
    for mechanism in able(request.k, request.n_candidates, request.release):
        one = replace(request, mechanism=mechanism.name)
        measurement = one.planned()
        success = None if proxy is None else one.success(measurement, proxy)
        rows.append(Row(mechanism.name, measurement, one.shortfall(measurement, exactly), success))
    return sorted(rows, key=lambda row: row.rank)


def show_comparison(request: Request, alpha: float, proxy: Counts | None) -> None:
    """Print all mechanisms for ``request``."""
    with show.working("comparing"):
        rows = compared(request, alpha, proxy)
    symbol, default = request.target.measure.symbol, request.row.name
    exact = [] if proxy is None else ["P(exact)"]
    show.say(f"Which {request.k} of {request.n_candidates} candidates do most users have? ({request.release})", "")
    show.table(
        ["mechanism", "scale", symbol, "within", *exact],
        (
            [
                row.name + " *" * (row.name == default),
                _up(row.measurement.parameters["scale"]),
                _up(row.measurement.map(request.users)),
                "-" if row.shortfall is None else _whole(row.shortfall),
                *([] if proxy is None else [guarantees.probability(row.success)]),
            ]
            for row in rows
        ),
        right=range(1, 5),
    )
    show.say("")
    dash = any(row.shortfall is None or (proxy is not None and row.success is None) for row in rows)
    show.rows([*_legend(request, alpha, proxy), *([("-", "not known, or too long to compute")] if dash else [])])


def _legend(request: Request, alpha: float, proxy: Counts | None) -> list[tuple[str, str]]:
    _, sure = guarantees.sure(alpha)
    each = (
        f"for every t from 1 to {request.k} the t-th released item has a count within so many users of the t-th largest"
        if request.release == "ranking"
        else f"every released item has a count within so many users of the {guarantees.largest(request.k)}"
    )
    exact = ("P(exact)", f"how likely {guarantees.exact(request)} is on the counts of the proxy")
    return [
        ("*", "what release takes if no --mechanism is named"),
        ("scale", "of the noise, in users: the smallest that meets the target"),
        (request.target.measure.symbol, f"the cost {show.neighbours(request)}"),
        ("within", f"with probability at least {sure}, {each}"),
        *([] if proxy is None else [exact]),
    ]


def _up(number: float) -> str:
    """Six digits, rounded up."""
    return f"{float(_SIX_UP.create_decimal(Decimal(repr(float(number))))):.6g}"


def _whole(users: float) -> str:
    return str(users) if users < 10**9 else _up(users)
