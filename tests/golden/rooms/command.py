"""What the command prints: plans, releases from scripted digits, records, budgets, proofs, and complaints.

Commands run in this process, in a folder of their own, on a terminal of 100 columns. Times, digests, versions and the
folder's name are replaced by words, and so is what depends on the state of the proofs; their documents lose folders.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..case import Case, named
from ..digits import scripted
from ..names import command
from ..shown import text

Words = tuple[str, ...]
CANDIDATES = ("Emma", "Walden", "Ulysses", "源氏物語", "[bold]Dune[/bold]", "Faust")
LOANS = {"Emma": 41, "Walden": 31, "[bold]Dune[/bold]": 23, "源氏物語": 13, "Ulysses": 7, "no candidate": 53}
FROM = ("loans.csv", "--user", "reader", "--item", "book")
LISTED = ("release", "top-k", *FROM, "--candidates", "list.txt", "--k", "3")
UNLISTED = ("release", "unknown-domain", *FROM, "--k", "3")
ABOVE = ("release", "above-threshold", *FROM)
QUANTILE = ("release", "quantile", *FROM[:3])
PRICE = ("--epsilon", "1")
_PUT = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\b\d+\.\d+\.\d+(\.?(dev|rc|a|b)\d*\S*)?"), "VERSION"),
    (re.compile(r'(?<="claim": )("[0-9a-f]{16}"|null)'), '"DIGEST"'),
    (re.compile(r'(?<="status": ")(current|stale|missing)'), "STATUS"),
    (re.compile(r"(?<=  )(current|stale|missing)(?= *$|  )", re.MULTILINE), "STATUS"),
    (re.compile(r"\b\d+(?= (documents|files) *$| documents  )", re.MULTILINE), "N"),
    (re.compile(r"(?<![\w/])(?:[a-z]+/)+(?=[A-Za-z]\w+)"), ""),
)
STATES: tuple[Words, ...] = (("proofs",), ("audit",))
"""Commands whose exit code is the state of the proofs."""
QUESTIONS = ("top-k", "unknown-domain", "above-threshold", "partitions", "quantile", "gap")
"""Words that do not change the digits from which a release is drawn."""
_HIDDEN = ("NO_COLOR", "FORCE_COLOR", "TERM")


def cases() -> Iterator[Case]:
    for words in PLANS:
        yield named("$", *words), partial(printed, [words])
    for words in RELEASES:
        yield named("$", *words), partial(printed, [words])
    for words in HELPS:
        yield named("$", *words), partial(printed, [words])
    for name, several in SEQUENCES.items():
        yield name, partial(printed, several)


def printed(several: list[Words]) -> list[Any]:
    """The exit code and what is printed, for each of several commands in one folder."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _inside(folder),
        scripted(" ".join(word for word in several[0] if word not in QUESTIONS)),
    ):
        _library()
        return [_ran(words, folder) for words in several]


def _ran(words: Words, folder: str) -> dict[str, Any]:
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["opendp-topk", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            command()()
        code: Any = 0
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.argv = before
    shown = {"out": _normal(out.getvalue(), folder), "err": _normal(err.getvalue(), folder)}
    if words in STATES:
        code = "0 or 1"
    return {"code": code, **{name: said for name, said in shown.items() if said}}


def _normal(said: str, folder: str) -> str:
    """Without blanks at the ends of lines; white space within a line counts once, as widths follow what is replaced."""
    for name in (os.path.realpath(folder), folder):
        said = said.replace(name, "FOLDER")
    for pattern, word in _PUT:
        said = pattern.sub(word, said)
    return "\n".join(" ".join(line.split()) for line in text(said).splitlines() if line.strip())


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before, kept = os.getcwd(), dict(os.environ)
    for name in _HIDDEN:
        os.environ.pop(name, None)
    os.environ.update(COLUMNS="100", LINES="40", USER="ada", LOGNAME="ada", PYTHONUTF8="1")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(kept)


def _library() -> None:
    rows = [(1000 + reader, book) for book, readers in LOANS.items() for reader in range(readers)]
    lines = [f"{reader},{book},{reader % 7 - 1}" for reader, book in rows]
    Path("loans.csv").write_text("\n".join(["reader,book,days", *lines]) + "\n", encoding="utf-8")
    Path("list.txt").write_text("\n".join(CANDIDATES) + "\n", encoding="utf-8")
    Path("proxy.csv").write_text("count\n41\n31\n23\n13\n", encoding="utf-8")


def _split(*lines: str) -> list[Words]:
    return [tuple(line.split()) for line in lines]


PLANS = _split(
    "plan top-k --k 10 --candidates 5000 --epsilon 1",
    "plan top-k --k 10 --candidates 5000 --rho 0.1",
    "plan top-k --k 1 --candidates 50 --epsilon 1",
    "plan top-k --k 1 --candidates 50 --rho 0.01 --users 3",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --neighbors replace",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --release set",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --counts",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --alpha 0.001",
    "plan top-k --k 5 --candidates list.txt --epsilon 1 --mechanism permute_and_flip",
    "plan top-k --k 5 --candidates list.txt --epsilon 1 --mechanism peeled_exponential",
    "plan top-k --k 5 --candidates list.txt --epsilon 1 --mechanism noisy_top_k_with_gaps",
    "plan top-k --k 5 --candidates list.txt --epsilon 1 --mechanism canonical --release set",
    "plan top-k --k 5 --candidates list.txt --epsilon 1 --mechanism joint",
    "plan top-k --k 5 --candidates list.txt --epsilon 1 --mechanism nothing",
    "plan top-k --k 3 --candidates 50 --epsilon 1 --release set --compare",
    "plan top-k --k 3 --candidates 6 --epsilon 1 --release set --compare --like proxy.csv",
    "plan top-k --k 3 --candidates 50 --rho 0.1 --compare",
    "plan top-k --k 3 --candidates 50 --epsilon 1 --sum days --bounds 0,5",
    "plan top-k --k 3 --candidates 50 --epsilon 1 --sum days --bounds -1,5 --step 0.5",
    "plan quantile --quantile 9/10 --column days --bounds 0,30 --step 0.5 --epsilon 1",
    "plan quantile --quantile 1/2 --column days --bounds -5,5 --max-rows 3 --rho 0.1 --neighbors replace",
    "plan quantile --quantile .25,.5,.75 --column days --bounds 0,30 --epsilon 1",
    "plan gap --k 3 --candidates 50 --epsilon 1 --delta 1e-8",
    "plan gap --k 3 --candidates 50 --rho 0.1 --delta 1e-8 --neighbors replace",
    "plan top-k --k 3 --candidates 50 --group region --groups 12 --groups-per-person 2 --epsilon 1",
    "plan top-k --k 3 --candidates 50 --group region --epsilon 1",
    "plan top-k --k 3 --candidates 50 --epsilon 1 --other",
    "plan unknown-domain --k 3 --candidates 50 --minimum-users 10 --epsilon 1",
    "plan unknown-domain --k 3 --candidates 50 --minimum-users 10 --epsilon 1 --delta 1e-6",
    "plan partitions --max-items 500 --minimum-users 35 --epsilon 30 --delta 1e-8",
    "plan unknown-domain --k 10 --epsilon 1 --delta 1e-8",
    "plan unknown-domain --k 10 --epsilon 1 --delta 1e-8 --limit 100 --max-items 5",
    "plan unknown-domain --k 10 --rho 0.1 --delta 1e-8 --counts --max-items 3",
    "plan unknown-domain --k 10 --epsilon 1 --delta 1e-8 --neighbors replace",
    "plan above-threshold --max-items 5 --epsilon 1 --delta 1e-8",
    "plan above-threshold --max-items 5 --keep random --other --epsilon 1 --delta 1e-8",
    "plan above-threshold --max-items 2 --counts --epsilon 1 --delta 1e-8",
    "plan above-threshold --max-items 2 --rho 0.1 --delta 1e-8",
    "plan",
    "plan top-k --k 10",
    "plan top-k --k 10 --candidates 5000",
    "plan top-k --k 10 --candidates 5 --epsilon 1",
    "plan top-k --k 0 --candidates 5 --epsilon 1",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --rho 1",
    "plan top-k --k 10 --candidates 5000 --epsilon -1",
    "plan top-k --k 10 --candidates none.txt --epsilon 1",
    "plan top-k --k 10 --epsilon 1",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --compare --counts",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --limit 3",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --plot a.png",
    "plan top-k --k 10 --candidates 5000 --epsilon 1 --sum days",
    "plan top-k --k 10 --candidates 5000 --epsilno 1",
    "plan top-k --k 3 --candidates 50 --epsilon 1 --neighbors friends",
    "plan top-k --k 3 --candidates 50 --epsilon 1 --alpha 2",
    "plan above-threshold --epsilon 1 --delta 1e-8",
)
SEVERAL = ("plan", "top-k", "--k", "3", "--candidates", "50", "--epsilon", "3", "--releases", "4")
RELEASES: list[Words] = [
    (*LISTED, *PRICE),
    (*LISTED, "--rho", "0.1"),
    (*LISTED, *PRICE, "--release", "set"),
    (*LISTED, *PRICE, "--counts"),
    (*LISTED, *PRICE, "--counts", "--release", "set", "--users", "2"),
    (*LISTED, *PRICE, "--neighbors", "replace"),
    (*LISTED, *PRICE, "--mechanism", "noisy_top_k_with_gaps"),
    (*LISTED, *PRICE, "--mechanism", "joint"),
    (*LISTED, *PRICE, "--mechanism", "canonical", "--release", "set"),
    (*LISTED, *PRICE, "--out", "-"),
    (*LISTED, *PRICE, "--counts", "--out", "-"),
    (*LISTED, *PRICE, "--release", "set", "--mechanism", "canonical", "--out", "-"),
    (*LISTED, *PRICE, "--sum", "days", "--bounds", "0,5"),
    (*LISTED, *PRICE, "--sum", "days", "--bounds", "0,5", "--counts", "--out", "-"),
    (*QUANTILE, "--quantile", "1/2", "--column", "days", "--bounds", "0,9", "--step", "1/3", *PRICE, "--out", "-"),
    (*QUANTILE, "--quantile", "1/3,2/3", "--column", "days", "--bounds", "0,9", "--step", "1/2", *PRICE, "--out", "-"),
    (*LISTED, *PRICE, "--other"),
    (*LISTED, *PRICE, "--other", "--out", "-"),
    (*LISTED, *PRICE, "--engine", "duckdb"),
    (*UNLISTED, *PRICE, "--delta", "1e-4"),
    (*UNLISTED, *PRICE, "--delta", "1e-4", "--max-items", "2", "--limit", "5", "--out", "-"),
    (*UNLISTED, "--rho", "0.1", "--delta", "1e-4", "--counts"),
    (*ABOVE, "--max-items", "2", *PRICE, "--delta", "1e-4"),
    (*ABOVE, "--max-items", "1", "--keep", "random", *PRICE, "--delta", "1e-4", "--out", "-"),
    (*ABOVE, "--max-items", "1", "--counts", *PRICE, "--delta", "1e-4"),
    (*LISTED,),
    (*UNLISTED, *PRICE),
    (*LISTED[:-1], "9", *PRICE),
    ("release", "top-k", *FROM, "--candidates", "none.txt", "--k", "3", *PRICE),
    ("release", "top-k", "none.csv", *LISTED[3:], *PRICE),
    ("release", "top-k", "list.txt", *LISTED[3:], *PRICE),
    ("release", "top-k", "loans.csv", "--user", "nobody", *LISTED[5:], *PRICE),
    (*LISTED, *PRICE, "--ledger", "none.ledger"),
    (*LISTED, *PRICE, "--out", "list.txt"),
    (*LISTED, *PRICE, "--engine", "abacus"),
]
HELPS: list[Words] = [
    (),
    ("--help",),
    ("--version",),
    *((name, kind, "--help") for name in ("plan", "release") for kind in QUESTIONS),
    ("release", "planned", "--help"),
    *((name, "--help") for name in ("plan", "release", "show", "ledger", "proofs", "demo", "audit")),
    *(("ledger", name, "--help") for name in ("create", "show", "verify", "head", "reserve", "settle", "export")),
    ("audit", "accept", "--help"),
    ("nothing",),
    ("proofs",),
    ("audit",),
    ("proofs", "make_nothing"),
    ("proofs", "make_laplace", "--out", "x"),
]
_CREATE = ("ledger", "create", "budget.ledger", "--dataset", "loans", "--epsilon", "2")
_PAID = (*LISTED, "--epsilon", "0.75", "--ledger", "budget.ledger")
SEQUENCES: dict[str, list[Words]] = {
    "$ several releases": [SEVERAL],
    "a ledger, from creation to what does not fit": [
        _CREATE,
        (*_PAID, "--label", "May"),
        (*_PAID, "--label", "June", "--out", "top.json"),
        (*_PAID, "--label", "July"),
        ("ledger", "budget.ledger"),
        ("ledger", "show", "budget.ledger", "--history"),
        ("ledger", "show", "budget.ledger", "--history", "--json"),
        ("ledger", "verify", "budget.ledger"),
        ("ledger", "reserve", "budget.ledger", "--amount", "0.25", "--label", "elsewhere"),
        ("ledger", "settle", "budget.ledger", "3"),
        ("ledger", "settle", "budget.ledger", "3", "--failed"),
        ("ledger", "export", "budget.ledger"),
        ("ledger", "verify", "budget.ledger", "--head", "9-abc"),
        _CREATE,
        (*_CREATE[:-1], "3"),
        (*LISTED, "--rho", "1", "--ledger", "budget.ledger"),
        (*_PAID, "--neighbors", "replace"),
    ],
    "ledgers of every kind": [
        ("ledger", "create", "rho", "--dataset", "loans", "--rho", "0.5"),
        ("ledger", "create", "pair", "--dataset", "loans", "--epsilon", "1", "--delta", "1e-6"),
        *_split("ledger create three --dataset loans --epsilon 1/3 --users 3 --neighbors replace"),
        ("ledger", "create", "both", "--dataset", "loans", "--epsilon", "1", "--rho", "1"),
        ("ledger", "create", "none", "--dataset", "loans"),
        ("ledger", "create", "json", "--dataset", "loans", "--epsilon", "1", "--json"),
        ("ledger", "none"),
        ("ledger", "verify", "list.txt"),
        ("ledger", "reserve", "pair", "--amount", "0.1,1e-9", "--label", "elsewhere"),
        ("ledger", "pair"),
        (*LISTED, "--rho", "0.01", "--ledger", "pair"),
        ("ledger", "pair", "--history"),
    ],
    "a record, written and shown": [
        (*LISTED, *PRICE, "--out", "top.json"),
        ("show", "top.json"),
        (*LISTED, *PRICE, "--out", "top.json"),
        (*LISTED, *PRICE, "--out", "top.csv"),
        (*UNLISTED, *PRICE, "--delta", "1e-4", "--out", "found.json"),
        ("show", "found.json"),
        (*LISTED, *PRICE, "--counts", "--other", "--out", "counts.json"),
        ("show", "counts.json"),
        ("show", "list.txt"),
        ("show", "none.json"),
    ],
}
