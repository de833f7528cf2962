"""``opendp-topk release``: the private top-k of a table, for people and for programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ..core.candidates import index_candidates
from ..core.measurement import Measurement
from ..errors import ParameterError, TableError
from ..ledger import Ledger
from ..measurements._catalogue import RELEASES
from ..spaces.domains import Domain
from ..spaces.measures import PrivacyProfile
from ..spaces.metrics import UserDistance
from ..tables.files import read_table
from . import guarantees, show
from .above import Above, AboveOption, discovered
from .above import show_release as show_above
from .candidates import as_integers, read_candidates
from .exit_codes import Interrupted, uninterrupted
from .options import (
    NEIGHBORS,
    CountsOption,
    Delta,
    Epsilon,
    K,
    Limit,
    MaxItems,
    MechanismOption,
    NeighborsOption,
    ReleaseOption,
    Rho,
    Users,
    target,
)
from .others import OtherOption, found, show_other, split
from .output import STDOUT, Destination, flush, unprinted
from .planning import Request
from .record import Winners, record
from .scoring import BoundsOption, KeepOption, StepOption, SumOption, scoring
from .unlisted import Unlisted, given, require_no_delta
from .unlisted import show_release as show_unlisted

MORE = "Every further release from this table adds its cost."
PUBLIC = (
    f"The list of candidates must be public: one that was taken from the table would itself reveal who is in it. {MORE}"
)


def release(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .parquet or .csv file (or .csv.gz, .csv.zst) with a row for each (user, item); - reads CSV from "
            "standard input.",
        ),
    ],
    user: Annotated[str, typer.Option(help="The column that identifies users.", metavar="COLUMN")],
    item: Annotated[str, typer.Option(help="The column that holds items.", metavar="COLUMN")],
    k: K = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="The items that may be released, a public list: text with one a line, or a .json list, or a "
            ".parquet or .csv file of one column (a .csv file with a header). If there is no such list, give --delta.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    limit: Limit = None,
    max_items: MaxItems = None,
    neighbors: NeighborsOption = NEIGHBORS[0],
    users: Users = 1,
    kind: ReleaseOption = RELEASES[0],
    mechanism: MechanismOption = None,
    counts: CountsOption = False,
    summed: SumOption = None,
    bounds: BoundsOption = None,
    step: StepOption = None,
    above: AboveOption = False,
    keep: KeepOption = "order",
    other: OtherOption = False,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a JSON record here, or to a name that ends in .csv a table of the items alone; - prints the "
            "record on standard output instead of the table.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out if it exists.")] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="A budget to take the cost from, before the table is read; `opendp-topk ledger create` makes one.",
        ),
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="A line about the release for the ledger.")] = "",
) -> None:
    """Release the k items that most users have.

    With --sum COLUMN it is those with the largest sums of a column of numbers.
    Only the items are released, and with --counts a noisy count of each; never an exact count. The mechanism
    noisy_top_k_with_gaps adds by how much each leads the next. The noise is the least that meets the privacy
    target. A user counts once for an item, however many rows say so.

    \b
    Example:
      opendp-topk release loans.parquet --user reader --item book \\
        --candidates catalogue.txt --k 10 --epsilon 1 --out top10.json
      opendp-topk release searches.parquet --user visitor --item term --k 10 --epsilon 1 --delta 1e-8
      opendp-topk release sales.parquet --user buyer --item book --sum paid \\
        --bounds 0,50 --step 0.01 --candidates catalogue.txt --k 10 --epsilon 1
    """
    scored = scoring(summed, bounds, step)
    goal, others = split(target(epsilon, rho), users, neighbors, scored, asked=other)
    domain = scored.domain(user, item)
    request: Request | Unlisted
    if candidates is None:
        listed = None
        kinds = kind, mechanism, counts
        request = discovered(above, k, goal, delta, users, neighbors, limit, max_items, kinds, scored, keep)
        planned = request.planned(domain)
    else:
        require_no_delta(delta, limit, max_items, above=above, keep=keep)
        listed = read_candidates(candidates)
        request = Request(given(k), len(listed), goal, users, neighbors, kind, mechanism, counts, scored)
        planned = request.planned()
    read = tuple(file for file in (table, candidates, ledger) if file is not None)
    with Destination(out, force=force, keep=read) as destination, budget(ledger, request) as account:
        with show.working("reading and counting"):
            rows = scored.read(read_table(table))
            domain.validate(rows)
            if listed is None or isinstance(request, Unlisted):
                measurement = planned
            else:
                items = as_integers(listed, item) if rows.collect_schema()[item].is_integer() else listed
                measurement = chained(domain, items, request, planned.parameters["scale"])
            if others is not None:
                measurement = others.after(measurement)
            winners = found(drawn(measurement, rows, users, account, label), others)
        failure: Exception | None = None
        try:
            with uninterrupted():
                destination.write(record(winners, measurement, request))
        except TableError as error:
            failure = error
        try:
            if out != STDOUT:
                show_release(winners, measurement, request)
                show_other(winners, others)
            flush()
        except KeyboardInterrupt:
            failure = Interrupted("interrupted while the release was printed: it was drawn and has its cost")
        except OSError as error:
            failure = unprinted(error)
        if failure is not None:
            raise failure
        last = MORE if listed is None else PUBLIC
        show.note(f"The release was written to {out}. {last}" if destination.is_file else last)


@contextlib.contextmanager
def budget(ledger: str | None, request: Request | Unlisted) -> Iterator[Ledger | None]:
    """The ledger from which the release is paid, if one is named."""
    if ledger is None:
        yield None
        return
    with Ledger(ledger) as account:
        if account.metric != repr(UserDistance(request.neighbors)):
            raise ParameterError(
                f"the ledger protects neighbours under {account.metric}: choose --neighbors accordingly"
            )
        if account.measure not in (request.target.measure, PrivacyProfile()):
            symbol = account.measure.symbol
            advice = f"state the target as --{symbol}" if symbol in ("epsilon", "rho") else "release from it in Python"
            raise ParameterError(f"the ledger counts {symbol}: {advice}")
        yield account


def drawn(measurement: Measurement, rows: Any, users: int, account: Ledger | None, label: str = "") -> Any:
    """The release, which the ledger has paid for before the table is counted."""
    if account is None:
        return measurement(rows)
    before = account.spent()
    try:
        return account.release(measurement, rows, d_in=users, label=label)
    except KeyboardInterrupt:
        if account.spent() == before:
            raise
    raise Interrupted("interrupted: nothing was released, and the ledger keeps the debit")


def chained(domain: Domain, items: tuple[Any, ...], request: Request, scale: float) -> Measurement:
    """From a table to the released items."""
    return request.on(request.scoring.of(domain, request.neighbors, items), scale) >> index_candidates(items)


def show_release(winners: Winners, measurement: Measurement, request: Request | Unlisted) -> None:
    """Print the release for people."""
    if isinstance(request, Above):
        show_above(winners, measurement, request)
        return
    if isinstance(request, Unlisted):
        show_unlisted(winners, measurement, request)
        return
    ranked, counts, gaps = request.release == "ranking", winners.counts, winners.gaps
    headers = [
        *(["rank"] if ranked else []),
        *([f"noisy {request.scoring.noun}"] if counts is not None else []),
        *(["noisy lead"] if gaps is not None else []),
        "item" if ranked else "items, in the order of the candidates",
    ]
    columns = [
        *([map(str, range(1, request.k + 1))] if ranked else []),
        *([map(request.scoring.written, counts)] if counts is not None else []),
        *([(f"{gap:.6g}" for gap in gaps)] if gaps is not None else []),
        map(show.item, winners.items),
    ]
    show.table(headers, zip(*columns, strict=True), right=range(len(columns) - 1))
    show.say("")
    show.rows(
        [
            *([("counts", guarantees.count_guarantee(measurement, request))] if counts is not None else []),
            ("cost", show.cost(measurement, request)),
            ("proof", show.proofs(measurement)),
        ]
    )
