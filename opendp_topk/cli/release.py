"""``opendp-topk release``: the private top-k of a table, for people and for programs."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ..core.candidates import index_candidates
from ..core.measurement import Measurement
from ..errors import TableError
from ..measurements._catalogue import RELEASES
from ..spaces.domains import FrameDomain
from ..spaces.metrics import UserDistance
from ..tables import parts
from ..transformations.count_by_item import then_count_by_item
from . import guarantees, show
from .candidates import as_integers, read_candidates
from .engines import ENGINES, Engine, EngineOption, MasterOption
from .exit_codes import Interrupted
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
from .output import STDOUT, Destination, flush, unprinted
from .payment import budget, drawn
from .planning import Request
from .record import Promise, Winners, record
from .unlisted import Unlisted, require_unlisted, unlisted
from .unlisted import promise as unlisted_promise
from .unlisted import show_release as show_unlisted

_LOG = logging.getLogger(__name__)  # how far a release is, never data

MORE = "Every further release from this table adds its cost."
PUBLIC = (
    f"The list of candidates must be public: one that was taken from the table would itself reveal who is in it. {MORE}"
)


def release(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .parquet or .csv file (or .csv.gz, .csv.zst) with a row for each (user, item), or a folder or a "
            "pattern of .parquet files; - reads CSV from standard input.",
        ),
    ],
    user: Annotated[str, typer.Option(help="The column that identifies users.", metavar="COLUMN")],
    item: Annotated[str, typer.Option(help="The column that holds items.", metavar="COLUMN")],
    k: K,
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
    engine: EngineOption = ENGINES[0],
    master: MasterOption = None,
) -> None:
    """Release the k items that most users have.

    Only the items are released, and with --counts a noisy count of each; never an exact count. The mechanism
    noisy_top_k_with_gaps adds by how much each leads the next. The noise is the least that meets the privacy
    target. A user counts once for an item, however many rows say so.

    \b
    Example:
      opendp-topk release loans.parquet --user reader --item book \\
        --candidates catalogue.txt --k 10 --epsilon 1 --out top10.json
      opendp-topk release searches.parquet --user visitor --item term --k 10 --epsilon 1 --delta 1e-8
    """
    goal, chosen = target(epsilon, rho), Engine(engine, master)
    domain = FrameDomain(user=user, item=item)
    request: Request | Unlisted
    if candidates is None:
        listed = None
        request = unlisted(k, goal, delta, users, neighbors, limit, max_items, (kind, mechanism, counts))
        with show.working("planning"):
            planned = request.planned(domain)
    else:
        require_unlisted(limit, max_items)
        goal = goal if delta is None else goal.relaxed(delta)
        listed = read_candidates(candidates)
        request = Request(k, len(listed), goal, users, neighbors, kind, mechanism, counts)
        with show.working("planning"):
            planned = request.planned()
    _LOG.info("planned: scale %s", planned.parameters["scale"])
    read = tuple(file for file in (table, candidates, ledger) if file is not None)
    with Destination(out, force=force, keep=read) as destination, budget(ledger, request) as account:
        with show.working("reading and counting") as told, chosen.table(table) as rows:
            parts.watcher.set(told.parts)
            kinds = domain.validate(rows).collect_schema()
            _LOG.info("the table has both columns")
            if listed is None or isinstance(request, Unlisted):
                measurement = planned
            else:
                items = as_integers(listed, item) if kinds[item].is_integer() else listed
                measurement = chained(domain, items, request, planned.parameters["scale"])
            released, entry = drawn(measurement, rows, request, account, label)
            winners = Winners.of(released)
            _LOG.info("%d items were released", len(winners.items))
        promised = promises(measurement, request)
        failure: Exception | None = None
        try:
            with _uninterrupted():
                destination.write(record(winners, measurement, request, promised, entry, chosen.recorded()))
        except TableError as error:
            failure = error
        try:
            if out != STDOUT:
                show_release(winners, measurement, request)
            flush()
        except KeyboardInterrupt:
            failure = Interrupted("interrupted while the release was printed: it was drawn and has its cost")
        except OSError as error:
            failure = unprinted(error)
        if failure is not None:
            raise failure
        last = MORE if listed is None else PUBLIC
        show.note(f"The release was written to {out}. {last}" if destination.is_file else last)


def promises(measurement: Measurement, request: Request | Unlisted) -> dict[str, Promise]:
    """What theorems promise of the release."""
    if isinstance(request, Unlisted):
        return {"accuracy": unlisted_promise(measurement, request)}
    return guarantees.promises(measurement, request)


def chained(domain: FrameDomain, items: tuple[Any, ...], request: Request, scale: float) -> Measurement:
    """From a table to the released items."""
    count = (domain, UserDistance(request.neighbors)) >> then_count_by_item(candidates=items)
    return request.on(count, scale) >> index_candidates(items)


def show_release(winners: Winners, measurement: Measurement, request: Request | Unlisted) -> None:
    """Print the release for people."""
    if isinstance(request, Unlisted):
        show_unlisted(winners, measurement, request)
        return
    ranked, counts, gaps = request.release == "ranking", winners.counts, winners.gaps
    headers = [
        *(["rank"] if ranked else []),
        *(["noisy count"] if counts is not None else []),
        *(["noisy lead"] if gaps is not None else []),
        "item" if ranked else "items, in the order of the candidates",
    ]
    columns = [
        *([map(str, range(1, request.k + 1))] if ranked else []),
        *([map(str, counts)] if counts is not None else []),
        *([(f"{gap:.6g}" for gap in gaps)] if gaps is not None else []),
        map(show.item, winners.items),
    ]
    show.table(headers, zip(*columns, strict=True), right=range(len(columns) - 1))
    show.say("")
    show.rows(
        [
            ("accuracy", guarantees.accuracy(measurement, request)),
            *([("counts", guarantees.count_guarantee(measurement, request))] if counts is not None else []),
            ("cost", show.cost(measurement, request)),
            ("proof", show.proofs(measurement)),
        ]
    )


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """What was drawn has its cost, so that Ctrl-C cannot keep it from being written."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread, which alone receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
