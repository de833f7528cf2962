"""Every public callable with arguments of all kinds: errors are the library's, and hold nothing of the data.

Half of the arguments fit the name of their parameter, so that calls come far. OPENDP_TOPK_CALLS=40000 asks for so many.
"""

import inspect
import itertools
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.core.candidates import BestCounts, IndexCandidates
from tests.concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, SENTINEL_TEXT, leaks

pd = pytest.importorskip("pandas", reason="frames are among the arguments")
pl = pytest.importorskip("polars", reason="frames are among the arguments")

CALLS = int(os.environ.get("OPENDP_TOPK_CALLS", "3000"))
VOTES = tk.LInfDistance(monotonic=True)
SPACE = tk.VectorDomain(tk.AtomDomain(int)), VOTES
USERS = tk.FrameDomain("u", "i"), tk.UserDistance()
PURE, ZCDP, PROFILE = tk.MaxDivergence(), tk.ZeroConcentratedDivergence(), tk.PrivacyProfile()
TOP = SPACE >> tk.then_report_noisy_top_k(PURE, k=1, scale=2.0)
COUNT = USERS >> tk.then_count_by_item(candidates=["a", "b"])
JUNK: tuple[Any, ...] = (
    *(None, True, 0, 1, 2, -1, 3, 10**5000, Fraction(1, 10**5000), Fraction(1, 3), 0.5, 1.5, -0.0, 1e-320, 1e308),
    *(float("nan"), float("inf"), -float("inf"), 1j, Decimal("0.1"), Decimal("nan")),
    *("", "a", "0.1", "\ud800", "a\0b", b"a"),
    *([], [1], [1, 2, 3], (1, 2), (0.5, 1e-6), (1, 2, 3), {}, {"a": 1}, {1, 2}, range(3), iter([1]), object()),
    *(np.array(1), np.array(1.5), np.array([]), np.arange(3), np.array([[1, 2]]), np.array(["a"]), np.array([None, 1])),
    *(np.timedelta64(3), np.datetime64(1, "s"), np.float32(0.5), np.int8(3), np.bool_(True), np.array([np.nan, 1.0])),
    *(pd.DataFrame({"u": [1, 2], "i": ["a", "b"]}), pl.DataFrame({"u": [1], "i": ["a"]})),
    *(pd.Series([1, 2]), pl.Series([1])),
    *(PURE, ZCDP, PROFILE, tk.Approximate(PURE), tk.RangeDivergence(), VOTES, tk.UserDistance()),
    *(*SPACE, *USERS, TOP, COUNT),
    *("path.csv", "ab", ["ab"], [("a", 1)], np.array(["a", "b"]), np.array([[0.5]]), np.array([1, "a"], dtype=object)),
    *(itertools.repeat("a"), itertools.repeat(([1], [2]))),  # no end
    *(tk.PrivacyCurve(lambda epsilon: 0.5), lambda *_, **__: None),  # what a caller's function raises is the caller's
)
FITTING: dict[str, tuple[Any, ...]] = {
    "input_domain": (SPACE[0], USERS[0]),
    "input_metric": (VOTES, tk.LInfDistance(), tk.RangeDistance(), USERS[1]),
    "output_measure": (PURE, ZCDP, PROFILE, tk.RangeDivergence(), tk.Approximate(PURE)),
    "measure": (PURE, ZCDP, PROFILE),
    "metric": (VOTES, USERS[1]),
    "function": (TOP,),
    "measurement": (TOP, COUNT >> tk.then_report_noisy_top_k(ZCDP, k=1, scale=1.0)),
    "k": (1, 2),
    "scale": (1.0, 2, Fraction(1, 2)),
    "d_in": (1, 2, 0.5),
    "d_out": (1, 0.5, (1, 1e-6)),
    "candidates": (["a", "b"], [1, 2, 3]),
    "items": (["a", "b", "c"], [1, 2, 3]),
    "release": ("ranking", "set"),
    "optimize": ("max", "min"),
    "delta": (1e-6, 0, 0.5),
    "precision": (53, 128),
    "samples": (100, 1000),
    "pairs": ([([1, 2], [1, 3])],),
    "records": (["a", "a", "b"],),
    "data": ([1, 2, 3], [3, 1]),
    "value": ([1, 2, 3], np.array([5, 1])),
    "dataset": ("votes",),
    "address": ("a",),  # of which a name in a folder is made
    "budget": (1, "0.1", (1, 1e-6)),
}
DATA = (
    [SENTINEL_INT, 1, 2],
    np.array([SENTINEL_FLOAT, 1.0]),
    [SENTINEL_TEXT, 1],
    {SENTINEL_TEXT: SENTINEL_INT},
    pl.DataFrame({"u": [SENTINEL_INT], "i": [SENTINEL_TEXT]}),
    pd.DataFrame({"u": [SENTINEL_TEXT, 1], "i": [SENTINEL_INT, None]}),
    [[SENTINEL_INT]],
    SENTINEL_FLOAT,
    SENTINEL_TEXT,
    [float("nan"), SENTINEL_FLOAT],
    [SENTINEL_INT, True],
    np.array([SENTINEL_INT, 2**63], dtype=object),
)
# Those of the audit that take arguments of a caller and are done in moments.
AUDITS = ("record_pairs", "table_pairs", "verify", "search")
RELEASED: list[Any] = []
"""What releases from ledgers cost."""


def public() -> dict[str, Callable[..., Any]]:
    """Every public callable that is no exception, by its name."""
    spaces = [tk, tk.noise, tk.opendp, tk.planning, tk.tables]
    given = {name: getattr(space, name) for space in spaces for name in space.__all__} | {"Ledger": tk.ledger.Ledger}
    found = {name: value for name, value in given.items() if callable(value)}
    found["Ledger.create"] = tk.ledger.Ledger.create
    found |= {f"audit.{name}": getattr(tk.audit, name) for name in AUDITS}
    return {
        name: one
        for name, one in found.items()
        if not inspect.isabstract(one) and not (isinstance(one, type) and issubclass(one, BaseException))
    }


def drawn(choice: random.Random, function: Callable[..., Any], folder: str) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that its signature takes."""
    some: list[Any] = []
    named: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_KEYWORD or (one.default is not one.empty and choice.random() < 0.6):
            continue
        fits = FITTING.get(one.name)
        value = choice.choice(fits) if fits and choice.random() < 0.7 else choice.choice(JUNK)
        if one.name == "map":  # what a function of the caller raises is the caller's
            value = choice.choice((map, None, 3))
        if one.name in ("connect", "address", "path") and isinstance(value, str) and choice.random() < 0.9:
            value = os.path.join(folder, str(choice.random()))
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and not named:
            some.append(value)
        elif one.kind is one.VAR_POSITIONAL:
            some.extend(choice.choice(JUNK) for _ in range(choice.randrange(3)))
        else:
            named[one.name] = value
    return some, named


def outcome(call: Callable[[], Any]) -> BaseException | None:
    """What a call raised that is not the library's, or that holds data."""
    try:
        call()
    except tk.errors.TopKError as error:
        return error if leaks(error) else None
    except Exception as error:
        return error
    return None


def told(name: str, error: BaseException) -> str:
    return f"{name}: {type(error).__name__}: {str(error)[:80]}"


def use(choice: random.Random, built: Any) -> None:
    """Ask something of what a call returned: a map, a check, or a release of data that no message may hold."""
    if isinstance(built, tk.Partial | tk.planning.Comparison | tk.planning.Recommendation):
        repr(built)
    elif isinstance(built, BestCounts | IndexCandidates):
        built(choice.choice(JUNK))
    elif isinstance(built, tk.Measurement | tk.Transformation):
        deed = choice.randrange(4)
        if deed == 0:
            built.map(choice.choice(JUNK))
        elif deed == 1:
            built.check(choice.choice(JUNK), choice.choice(JUNK))
        else:
            built(choice.choice(DATA))
    elif isinstance(built, tk.ledger.Ledger):
        with built:
            for _ in range(4):
                error = outcome(lambda: ask(choice, built))
                if error is not None:
                    raise error
            assert built.verify() == []


def ask(choice: random.Random, ledger: tk.ledger.Ledger) -> None:
    """Something of a ledger: what is released was debited before, and is recorded as released."""

    def either(*fitting: Any) -> Any:
        return choice.choice(fitting if choice.random() < 0.7 else JUNK)

    deed, before = choice.randrange(6), ledger.count()
    data = choice.choice((DATA[0], choice.choice(DATA)))
    if deed == 0:
        ledger.settle(either(1, before), either("released", "failed"))
    elif deed == 1:
        ledger.reserve(either(TOP, None), cost=either(None, 0.1), d_in=either(None, 1), label=either("", "a survey"))
    elif deed == 2:
        talk = ledger.conversation(data, budget=either(None, 0.5, (0.5, 0)), label=either(""))
        assert ledger.count() > before
        talk(either(TOP), d_in=either(None, 1))
    else:
        ledger.release(either(TOP), data, d_in=either(None, 1), delta=either(None, 0), label=either(""))
        assert ledger.count() == before + 1
        assert ledger.history()[-1].state == "released"
        RELEASED.append(ledger.history()[-1].cost)


@pytest.mark.slow
def test_no_call_raises_what_is_not_the_librarys(tmp_path: Path) -> None:
    choice, functions = random.Random(20), public()
    wrong: Counter[str] = Counter()
    names = sorted(functions)
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(CALLS):
            name = names[turn % len(names)]
            function = functions[name]
            some, named = drawn(choice, function, folder)
            error = outcome(lambda: use(choice, function(*some, **named)))  # noqa: B023
            if error is not None:
                wrong[told(name, error)] += 1
    assert wrong == {}


@pytest.mark.slow
def test_of_a_ledger_nothing_is_released_that_is_not_recorded(tmp_path: Path) -> None:
    choice, wrong = random.Random(21), Counter[str]()
    unit = {"measure": PURE, "dataset": "votes", "metric": VOTES}
    with tk.ledger.Ledger.create(tmp_path / "budget.ledger", budget=1000, **unit) as ledger:  # type: ignore[arg-type]
        RELEASED.clear()
        for _ in range(CALLS // 10):
            error = outcome(lambda: ask(choice, ledger))
            if error is not None:
                wrong[told("ledger", error)] += 1
        assert wrong == {}
        assert ledger.verify() == []
        assert len(RELEASED) > CALLS / 1000, "hardly anything was released"
        assert ledger.spent() >= sum(RELEASED)


def test_data_in_an_error_of_the_library_are_noticed() -> None:
    def leak() -> None:
        raise tk.errors.DataError(f"the score {SENTINEL_INT} is too large")

    def raw() -> None:
        raise ValueError

    def own() -> None:
        raise tk.errors.DataError("the scores are too large")

    assert isinstance(outcome(leak), tk.errors.DataError)
    assert isinstance(outcome(raw), ValueError)
    assert outcome(own) is None
