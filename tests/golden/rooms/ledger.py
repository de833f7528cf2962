"""Budgets: what sequences of releases are charged, what is refused, and what is left."""

import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from ..case import Case, named
from ..digits import scripted
from ..grid import MEASURES, METRICS, PROFILE, THIRD, WITH_DELTA, vectors
from ..names import new_ledger, tk
from ..shown import text

SPACE = vectors(), METRICS["linf+"]
SCORES = [30, 20, 10, 0]
Step = tuple[str, Callable[[Any], Any]]


def cases() -> Iterator[Case]:
    budgets: tuple[tuple[str, Any, Any], ...] = (
        ("max", 1, {}),
        ("max", "0.1", {}),
        ("max", THIRD, {}),
        ("max", Decimal("2.5"), {"d_in": 2}),
        ("zcdp", 0.1, {}),
        ("approx-max", (1, 1e-6), {}),
        ("approx-zcdp", ("0.5", "1e-9"), {}),
        ("profile", (1, 1e-6), {}),
        ("profile", (2, Fraction(1, 10**6)), {"own_delta": 1e-7}),
    )
    for word, budget, options in budgets:
        for sequence in ("releases", "stated", "conversation"):
            name = named(word, sequence, budget=budget, **options)
            yield name, partial(_told, word, budget, options, sequence)
    yield from _refused()


def _measure(word: str) -> Any:
    return (MEASURES | WITH_DELTA | PROFILE | {"none": None})[word]


def _query(word: str, scale: Any, k: int = 1) -> Any:
    if word.startswith("approx"):
        inner = MEASURES["max" if word == "approx-max" else "zcdp"]
        return tk.make_approximate(SPACE >> tk.then_report_noisy_top_k(inner, k=k, scale=scale))
    measure = _measure("zcdp" if word == "profile" else word)
    return SPACE >> tk.then_report_noisy_top_k(measure, k=k, scale=scale)


def _told(word: str, budget: Any, options: dict[str, Any], sequence: str) -> Any:
    """What happens step by step: an answer or a refusal, and what is spent and left after it."""
    steps: dict[str, list[Step]] = {
        "releases": [
            *((f"scale {s}", lambda one, s=s: one.release(_query(word, s), SCORES)) for s in (10, 4, 4, 30, 3, 1, 7)),
            ("at distance 3", lambda one: one.release(_query(word, 100), SCORES, d_in=3, label="three")),
            ("bad data", lambda one: one.release(_query(word, 100), ["a"])),
            ("fits", lambda one: [one.fits(_query(word, s)) for s in (1, 10, 100, 10**6)]),
        ],
        "stated": [
            *((f"cost {c}", lambda one, c=c: one.reserve(cost=c).number) for c in _costs(word)),
            ("settle", lambda one: one.settle(1, "released")),
            ("settle again", lambda one: one.settle(1, "failed")),
            ("settle none", lambda one: one.settle(99, "failed")),
            ("settle wrongly", lambda one: one.settle(1, "gone")),
            ("both", lambda one: one.reserve(_query(word, 4), cost=1)),
            ("neither", lambda one: one.reserve()),
        ],
        "conversation": [
            ("open", lambda one: _talk(one, word, None)),
            ("with a budget", lambda one: _talk(one, word, _costs(word)[0])),
        ],
    }
    with tempfile.TemporaryDirectory() as folder, scripted(f"ledger {word}"):
        given = {"dataset": "votes", "metric": SPACE[1], "operator": "ada", **options}
        place = Path(folder, "budget.ledger")
        with new_ledger(place, budget=budget, measure=_measure(word), **given) as one:
            found = [[one.promise, one.budget, one.limit, one.counted, one.metric, one.d_in]]
            for said, step in steps[sequence]:
                found.append([said, _tried(partial(step, one), folder), one.spent(), one.remaining()])
            found.append([[e.number, e.label, e.cost, e.spent, e.state, e.d_in, e.operator] for e in one.history()])
            return [*found, one.verify(), one.count()]


def _tried(step: Callable[[], Any], folder: str) -> Any:
    try:
        return step()
    except tk.errors.TopKError as error:
        notes = " ".join(getattr(error, "__notes__", []))
        return text(f"{type(error).__name__}: {error} {notes}".replace(folder or "FOLDER", "FOLDER").strip())


def _costs(word: str) -> list[Any]:
    pairs = word == "profile" or word.startswith("approx")
    one = ["0.01", THIRD / 100, 0.02, 5, "x", -1]
    return [(cost, "1e-8") for cost in one] if pairs else one


def _talk(one: Any, word: str, budget: Any) -> Any:
    talk = one.conversation(SCORES, budget=budget, label="a talk")
    found = []
    for scale in (100, 20, 2, 100):
        found.append(_tried(lambda scale=scale: talk(_query(word, scale)), ""))
    return found


def _refused() -> Iterator[Case]:
    def opened(**given: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder, scripted("refused"):
            place = Path(folder, "budget.ledger")
            all_ = {"budget": 1, "measure": MEASURES["max"], "dataset": "votes", "metric": SPACE[1], **given}
            try:
                with new_ledger(place, **all_) as one:
                    return [one.promise, one.dataset, one.metric, one.d_in]
            except tk.errors.TopKError as error:
                return f"{type(error).__name__}: {error}".replace(folder, "FOLDER")

    wrong: tuple[dict[str, Any], ...] = (
        {"budget": 0}, {"budget": -1}, {"budget": "much"}, {"budget": None}, {"budget": float("inf")},
        {"budget": float("nan")}, {"budget": True}, {"budget": (1, 2)}, {"budget": (1, 1e-6)}, {"budget": "1e400"},
        {"budget": "1/3"}, {"budget": " 2 "}, {"measure": None}, {"measure": MEASURES["range"]}, {"measure": 3},
        {"measure": PROFILE["profile"]}, {"measure": WITH_DELTA["approx-range"]}, {"dataset": None}, {"dataset": ""},
        {"dataset": 3}, {"dataset": "two\nlines"}, {"metric": None}, {"metric": "users"}, {"d_in": 0}, {"d_in": -1},
        {"d_in": "2"}, {"d_in": 0.5}, {"own_delta": 0.1}, {"operator": ""}, {"operator": 3},
    )  # fmt: skip
    for given in wrong:
        said = ", ".join(f"{name}={value!r}" for name, value in given.items())
        yield named("opened with", said), partial(opened, **given)
    for word in ("range", "approx-range"):
        yield named("another measure", word), partial(_other, word)


def _other(word: str) -> Any:
    with tempfile.TemporaryDirectory() as folder, scripted("other"):
        given = {"budget": 1, "measure": MEASURES["max"], "dataset": "votes", "metric": SPACE[1]}
        with new_ledger(Path(folder, "budget.ledger"), **given) as one:
            query = tk.make_user_measurement(*SPACE, _measure(word), function=len, privacy_map=float)
            return [_tried(lambda: one.release(query, SCORES), folder), one.spent()]
