"""Questions: each kind is found by its file, is kept as a dictionary, and is asked from Python as by the command."""

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.cli.plan import TRIALS
from opendp_topk.apps.planning.options import PANELS, name_options, options_of
from opendp_topk.apps.planning.plan import plan_guarantees
from opendp_topk.apps.planning.questions import WRAPPED, question_class, question_kinds, record_question
from opendp_topk.apps.planning.record_file import read_fields
from opendp_topk.apps.planning.releasing import ReleaseOptions
from opendp_topk.apps.planning.several import RepeatOptions
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record
from opendp_topk.errors import DataError, DataTypeError, LedgerError, ParameterError, ParameterTypeError, TableError
from tests.cli.command import edited, places

from ..concepts.sentinels import raises_exactly

WHO = {"unit": tk.planning.TableUnit(user="who")}
EPSILON, PAIR = tk.planning.PrivacyBudget(epsilon=8), tk.planning.PrivacyBudget(epsilon=8, delta=1e-6)
ASKED: dict[str, Any] = {
    "top-k": tk.planning.TopK(k=2, candidates=("a", "b", "c"), item="what", counts=True, budget=EPSILON, **WHO),
    "unknown-domain": tk.planning.UnknownDomainTopK(k=2, item="what", max_items=2, budget=PAIR, **WHO),
    "above-threshold": tk.planning.AboveThreshold(item="what", max_items=1, budget=PAIR, **WHO),
    "partitions": tk.planning.Partitions(item="what", max_items=1, budget=PAIR, **WHO),
    "quantile": tk.planning.Quantile(quantile="1/2", column="n", bounds=(0, 9), budget=EPSILON, **WHO),
    "gap": tk.planning.TopKByGap(k=1, candidates=("a", "b"), item="what", budget=PAIR, **WHO),
    "coverage": tk.planning.Coverage(k=2, candidates=("a", "b", "c"), item="what", budget=EPSILON, **WHO),
    "in-groups": tk.planning.InGroups(
        question=tk.planning.TopK(k=1, candidates=("a", "b"), item="what", budget=EPSILON, **WHO),
        group="where",
        groups=("x", "y"),
    ),
}
TITLES = {
    "top-k": "The 2 of 3 candidates that most whos have",
    "unknown-domain": "The 2 items in the table that most whos have",
    "above-threshold": "All items in the table with enough whos",
    "partitions": "All items in the table with enough whos",
    "quantile": "The median of n",
    "gap": "The best of 2 candidates, at most 1, above a large gap between their numbers of whos",
    "coverage": "The 2 of 3 candidates that reach most whos together",
    "in-groups": "The one of 2 candidates that most whos have, in each group of where (2)",
}
ROWS = pl.DataFrame(
    [(user, "abc"[user % 3 == 0], "xy"[user % 2], user % 10) for user in range(90)],
    schema=["who", "what", "where", "n"],
    orient="row",
)


def test_every_file_has_a_question() -> None:
    assert sorted(question_kinds()) == sorted(ASKED)
    assert all(question_class(kind).kind == kind == ASKED[kind].kind for kind in question_kinds())
    raises_exactly(ParameterError, lambda: question_class("none"), "question must be one of top-k")


@pytest.mark.parametrize("kind", ASKED)
def test_every_option_is_described_in_a_line(kind: str) -> None:
    for name, one in options_of(question_class(kind)).items():
        assert 0 < len(one.words) <= 54, name
        assert one.panel in PANELS
        assert bool(one.metavar) == (one.kind is not bool), name


@pytest.mark.parametrize("kind", ASKED)
def test_an_option_that_needs_another_is_refused_alone(kind: str) -> None:
    options = options_of(question_class(kind))
    apart = {name for key, one in options.items() if one.needs for name in (key, *one.needs)}
    kept = {name: value for name, value in ASKED[kind].to_dict().items() if name not in apart}
    for name, one in options.items():
        if one.needs:
            alone = {**kept, name: 1}
            message = f"{name} requires {one.needs[0].replace('=', ' ')}"
            raises_exactly(ParameterError, lambda alone=alone: tk.planning.question_from_dict(alone), message)


@pytest.mark.parametrize("kind", ASKED)
def test_a_dictionary_loses_nothing(kind: str) -> None:
    asked = ASKED[kind]
    kept = json.loads(json.dumps(asked.to_dict()))
    again = tk.planning.question_from_dict(kept)
    assert (again.to_dict(), again.unit) == (kept, asked.unit)
    assert again.plan().measurement.map(1) == asked.plan().measurement.map(1)
    unknown = kept | {"kk": 1}
    raises_exactly(ParameterError, lambda: tk.planning.question_from_dict(unknown), "has no option kk")


@pytest.mark.parametrize("kind", ASKED)
def test_a_release_from_python_is_recorded_and_verified(kind: str, tmp_path: Path) -> None:
    """Paid once, saved, answered again, and found by its kind; of earlier versions, by its mechanism alone."""
    pure = tk.MaxDivergence()
    measure, budget = (tk.Approximate(pure), (8, 1e-6)) if ASKED[kind].own_delta else (pure, 8)
    unit = {"dataset": "d", "metric": tk.UserDistance(), "user": "who"}
    tk.ledger.Ledger.create(tmp_path / "b", budget=budget, measure=measure, **unit).close()
    found = ASKED[kind].plan().release(ROWS, ledger=str(tmp_path / "b"), label="once")
    found.record.save(tmp_path / "record.json")
    fields = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert fields["question"]["kind"] == kind
    kept = {"ledger": str(tmp_path / "b"), "label": "once", "from_record": str(tmp_path / "record.json")}
    assert fields["items"] == found.items == ASKED[kind].plan().release(ROWS, **kept).items
    with tk.ledger.Ledger(tmp_path / "b") as ledger:
        assert {one.verdict for one in verify_record(fields, ledger) if one.what != "table"} == {AGREES}
    assert record_question(None, fields["mechanism"]) is question_class(kind)
    assert read_fields(str(tmp_path / "record.json")) == fields
    assert found.record.asked.title(found.record) == TITLES[kind]
    counted = "Each has a noisy count of its whos." in found.record.asked.method(found.record)
    assert counted == (found.record.released.counts is not None)
    options = found.record.asked.record_options(found.record)
    assert options.keys() - ASKED[kind].to_dict().keys() <= {"keep", "max_rows", "mechanism", "step"}
    wrong, parts = tmp_path / "wrong.json", {"items": [["a", "b"]] * len(found.items)}
    for more, said in ((parts, "fit together"), ({"k": 10**400}, "beyond all floats"))[kind == "quantile" :]:
        wrong.write_text(json.dumps(fields | more), "utf-8")
        raises_exactly(TableError, lambda: read_fields(str(wrong)), said)
    for path in (path for path in places(fields["question"]) if path):
        for value in ("top-k", "gap", "x", 2, None):
            altered = {**fields, "question": edited(fields["question"], path, value)}
            assert altered == fields or is_seen(altered, tmp_path / "altered.json"), (path, value)


@pytest.mark.parametrize("kind", ["partitions", "coverage"])
def test_the_number_of_other_users_keeps_its_accuracy(kind: str, tmp_path: Path) -> None:
    """Laplace noise of scale 10 / 8 on a tenth of epsilon: 6 is exceeded with a probability below 1 %, 5 is not."""
    record = dataclasses.replace(ASKED[kind], other=True, alpha=0.01).plan().release(ROWS).record
    assert (record.asked.record_options(record)["alpha"], record.other_accuracy.alpha) == (0.01, 0.01)
    assert record.other_accuracy.within_users == 6
    fields = record.as_dict()
    assert not is_seen(fields, tmp_path / "made.json")
    assert is_seen(edited(fields, ("other_accuracy", "within_users"), 5), tmp_path / "altered.json")


def is_seen(fields: dict[str, Any], file: Path) -> bool:
    """Whether a record with these fields is refused, or disagrees with what is computed again."""
    file.write_text(json.dumps(fields), "utf-8")
    try:
        return DISAGREES in {one.verdict for one in verify_record(read_fields(str(file)))}
    except TableError:
        return True


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"kind": "next", "version": 1}, "'next' in version 1, is unknown: open it with the version"),
        ({"kind": "top-k", "version": 2}, "'top-k' in version 2, is unknown: open it with the version"),
        ({"kind": "gap", "version": 1}, "does not answer its question, gap"),
    ],
)
def test_a_record_of_an_unknown_question_is_refused(question: dict[str, Any], message: str) -> None:
    known = {"mechanism": "report_noisy_top_k", "item": "i", "candidates": 9}
    raises_exactly(TableError, lambda: record_question(question, known), message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tk.planning.PrivacyBudget(eps=1), "PrivacyBudget: there is no argument 'eps'"),  # type: ignore[call-arg]
        (
            lambda: tk.planning.TableUnit(neighbours="replace"),  # type: ignore[call-arg]
            "TableUnit: there is no argument 'neighbours' (did you mean 'neighbors'?)",
        ),
        (lambda: tk.planning.TopK(candidate=9), "there is no argument 'candidate' (did you mean 'candidates'?)"),  # type: ignore[call-arg]
        (lambda: tk.planning.PrivacyBudget(epsilon=[1]).main, "epsilon must be a number"),  # type: ignore[arg-type]
        (lambda: tk.planning.PrivacyBudget(rho=(1, 1e-6)).main, "rho must be a number"),  # type: ignore[arg-type]
        (lambda: dataclasses.replace(ASKED["top-k"], item=1).plan(), "item must be the name of a column"),
    ],
)
def test_arguments_of_a_question_that_are_none_are_named(make: Callable[[], Any], message: str) -> None:
    raises_exactly(ParameterTypeError, make, message)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("taken.json", LedgerError, "it exists already: choose another name"),
        ("no/such.json", LedgerError, "No such file"),
        ("a\0b", ParameterError, "path must be the name of a file"),
    ],
)
def test_records_that_cannot_be_saved_say_why(tmp_path: Path, name: str, error: type[Exception], message: str) -> None:
    (tmp_path / "taken.json").touch()
    record = ASKED["top-k"].plan().release(ROWS).record
    raises_exactly(error, lambda: record.save(tmp_path / name), message)


def test_a_delta_that_vanishes_is_no_option_without_a_target() -> None:
    large = dataclasses.replace(ASKED["coverage"], budget=tk.planning.PrivacyBudget(epsilon=1e9, delta=1e-9))
    record = large.plan().release(ROWS).record
    lost = dataclasses.replace(record, target=None)
    assert [one.asked.record_options(one).get("delta") for one in (record, lost)] == [1e-9, None]
    assert record.d_out[1] == 0


def test_an_option_that_a_release_does_not_have_is_named() -> None:
    raises_exactly(ParameterError, lambda: ASKED["top-k"].plan().release(ROWS, wheer="n = 1"), "no option wheer")
    anyone = dataclasses.replace(ASKED["top-k"], unit=tk.planning.TableUnit())
    raises_exactly(ParameterError, lambda: anyone.plan().release(ROWS), "give user")


def test_several_releases_share_the_budget() -> None:
    repeated = tk.planning.Repeated(ASKED["top-k"], 4)
    (pure, *_) = repeated.options()
    assert pure.plan.loss == 2
    raises_exactly(ParameterError, lambda: tk.planning.Repeated(ASKED[WRAPPED], 2).options(), "group")


def test_within_a_ledger_one_release_is_planned_by_default(tmp_path: Path) -> None:
    given = {"measure": tk.MaxDivergence(), "dataset": "d", "metric": tk.UserDistance(), "user": "who"}
    with tk.ledger.Ledger.create(tmp_path / "b", budget=8, **given) as ledger:
        asked = dataclasses.replace(ASKED["top-k"], budget=tk.planning.PrivacyBudget())
        assert tk.planning.Repeated.within_ledger(asked, ledger).releases == 1


def test_where_rows_are_protected_a_promise_is_of_rows() -> None:
    asked = dataclasses.replace(ASKED["top-k"], unit=tk.planning.TableUnit(rows_per_person=3))
    for one in plan_guarantees(asked.plan().plan).values():
        assert ("rows" in one.words, "user" in one.words) == (True, False)


def test_without_docstrings_nothing_is_asked() -> None:
    """They declare the options, and what each needs: Python that removes them would skip these checks."""
    asked = "import opendp_topk as tk; tk.planning.TableUnit(user='who', shared=True)"
    done = subprocess.run([sys.executable, "-OO", "-B", "-c", asked], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "run Python without -OO" in done.stderr


BUDGET = tk.planning.PrivacyBudget(epsilon=1)
RHO = tk.planning.PrivacyBudget(rho=1, delta=1e-6)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no target": (lambda: tk.planning.TopK(k=3, candidates=5).plan(), "privacy target: --epsilon E or --rho R"),
    "k of fewer": (
        lambda: tk.planning.TopK(k=6, candidates=5).required_k,
        "--k must be at most the number of candidates (5)",
    ),
    "little": (
        lambda: tk.planning.TopK(k=1, candidates=5, budget=tk.planning.PrivacyBudget(epsilon=5e-324)).plan(),
        "no finite scale meets this small target: raise --epsilon",
    ),
    "k": (lambda: tk.planning.TopK(k=0, candidates=5, budget=BUDGET).plan(), "--k must be an integer >= 1"),
    "candidates": (
        lambda: tk.planning.Coverage(k=1, candidates=2**70, budget=PAIR).plan(),
        "--candidates must be a list or a number of at most 2^62",
    ),
    "no list": (
        lambda: tk.planning.TopK(k=1, candidates=2.5, budget=BUDGET).plan(),
        "candidates must be a list of the public candidates",
    ),
    "groups": (
        lambda: tk.planning.InGroups(question=ASKED["top-k"], group="region", groups=2**70).plan(),
        "--groups must be a list or a number of at most 2^62",
    ),
    "beyond floats": (
        lambda: tk.planning.TopK(k=1, candidates=5, budget=tk.planning.PrivacyBudget(epsilon="1e400")).plan(),
        "--epsilon must be a finite number > 0",
    ),
    "users": (lambda: tk.planning.TableUnit(users=0).distance, "--users must be an integer >= 1"),
    "excluded": (lambda: tk.planning.TableUnit(user="a", rows_per_person=3), "--rows-per-person and --user cannot be"),
    "needed": (lambda: tk.planning.TopK(sum="paid"), "--sum requires --bounds LOWER,UPPER"),
    "delta of a curve": (lambda: tk.planning.TopK(budget=RHO), "--delta requires --epsilon E"),
    "other and delta": (lambda: tk.planning.TopK(other=True, budget=PAIR), "--delta and --other cannot be combined"),
    "expected": (lambda: tk.planning.TopK(expect=5, release="set", counts=True), "--expect and --counts cannot be"),
    "several": (
        lambda: tk.planning.Repeated(dataclasses.replace(ASKED["top-k"], other=True), 2),
        "--releases and --other cannot be combined",
    ),
    "within a ledger": (
        lambda: tk.planning.Repeated.within_ledger(ASKED["top-k"], None),  # type: ignore[arg-type]
        "--ledger and --epsilon cannot be combined",
    ),
    "step": (
        lambda: tk.planning.TopK(k=1, candidates=5, sum="paid", bounds="0,1", step="1e-300", budget=BUDGET).plan(),
        "--step must be > 0, between 2^-500 and 2^22",
    ),
    "of a release": (lambda: ASKED["top-k"].plan().release(ROWS, files="a", pad=1), "--pad and --files cannot be"),
    "of a file": (
        lambda: ASKED["top-k"].plan().release(ROWS, files="a", separator=";"),
        "--separator is for tables in files",
    ),
    "again": (lambda: ASKED["top-k"].plan().release(ROWS, again=True), "--again requires --ledger LEDGER"),
    "rows": (
        lambda: tk.planning.Coverage(unit=tk.planning.TableUnit(rows_per_person=3)),
        "--rows-per-person cannot be used with this question",
    ),
    "types": (lambda: ASKED["top-k"].plan().release("t.csv", types={"n": "text"}), "types must be columns with their"),
    "no releases": (lambda: tk.planning.Repeated(ASKED["top-k"], 0), "--releases must be an integer >= 1"),
    "one bound": (lambda: dataclasses.replace(ASKED["quantile"], bounds=9).plan(), "--bounds must be two numbers"),
    "no order": (lambda: tk.planning.TopK(candidates={"a", "b"}).item_list, "candidates must be a list"),
    "parts": (
        lambda: dataclasses.replace(ASKED["top-k"], item="what,where").plan().release(ROWS),
        "candidates must be strings with one part for each column",
    ),
}
"""What is refused, and how the command says it."""


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_parameters_in_python_and_options_in_the_command(name: str) -> None:
    refused, text = REFUSED[name]
    plain = re.sub("--([a-z-]+)( [A-Z]+(,[A-Z]+)?)?", lambda found: found[1].replace("-", "_"), text)
    raises_exactly(ParameterError, refused, plain)
    with name_options():
        raises_exactly(ParameterError, refused, text)
    raises_exactly(ParameterError, refused, plain)


def test_rows_that_count_and_items_of_columns_need_a_polars_frame_with_these_columns() -> None:
    by_row = dataclasses.replace(ASKED["top-k"], unit=tk.planning.TableUnit(rows_per_person=3)).plan()
    by_parts = dataclasses.replace(
        ASKED["top-k"], item="what,who else", candidates=[("a", "b"), ("c", "d")], k=1
    ).plan()
    for ready in by_row, by_parts:
        raises_exactly(DataTypeError, lambda ready=ready: ready.release(ROWS.to_arrow()), "must be a polars frame")
    raises_exactly(DataError, lambda: by_parts.release(ROWS), "the table must have the column 'who else'")
    lost = ROWS.lazy().with_columns(pl.col("lost"))
    raises_exactly(TableError, lambda: by_row.release(lost), "ColumnNotFoundError")


@pytest.mark.parametrize("kind", ASKED)
def test_options_need_and_exclude_options(kind: str) -> None:
    question = question_class(kind)
    planned = [ReleaseOptions] if kind == WRAPPED else [RepeatOptions, *TRIALS[question.tried_on]]
    for groups in ([*question.option_groups(), ReleaseOptions], [*question.option_groups(), *planned]):
        options = {name: one for group in groups for name, one in options_of(group).items()}
        related = {other.partition("=")[0] for one in options.values() for other in (*one.needs, *one.excludes)}
        bases = {"sum", "other", "rows_per_person", "group"}
        assert related <= options.keys() | bases, "bases of questions name options that others have"


@pytest.mark.parametrize("kind", ASKED)
def test_a_plan_is_shown_on_one_line(kind: str) -> None:
    shown = repr(ASKED[kind].plan())
    assert len(shown) <= 120
    assert shown.startswith(f"ReleasePlan({kind}, ")
    assert re.search(r"(epsilon|rho|\(\w+, delta\))=\S", shown)
