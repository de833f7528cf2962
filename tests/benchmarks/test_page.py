"""What the benchmarks' commands say of cases whose times are made up here: no test looks at a clock."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from . import bench_types, goals, one_shot, others, page, page_text
from .bench import Bench, Case, Goal, measured
from .one_shot import Spot
from .timing import STEADY

SPOT = Spot("uniform", 10**5, 10)
STORED = {str(SPOT): {"argpartition": 2.0, "inexact": 1.0, "max": 10.0}, "left out": {"peer": 1.0}}


def takes(*seconds: float) -> Callable[[], float]:
    """A call that takes these seconds, one after the other, and the last ones from then on."""
    left = iter(seconds)
    return lambda: next(left, seconds[-1])


def release(*seconds: float) -> Bench:
    """A case whose own first call is the one that builds what is kept; its peers take what is stored."""
    peers = {name: takes(1 / ratio) for name, ratio in STORED[str(SPOT)].items()}
    return Bench(str(SPOT), takes(99.0, *seconds), peers, turns=3)


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Runs the page's command on one case that takes these seconds."""
    nothing: Callable[..., Iterator[Any]] = lambda *_: iter(())  # noqa: E731
    stored, row = tmp_path / "stored.json", bench_types.Row("int8", 8, Case("int8, d = 8, k = 1", 1.0, _RATIOS), 0)
    stored.write_text(json.dumps(STORED), encoding="utf-8")
    for module, name in ((goals, "benches"), (others, "benches")):
        monkeypatch.setattr(module, name, nothing)
    monkeypatch.setattr(goals, "as_it_is", lambda _: [Case("not kept", 1.0, _RATIOS, Goal(2.0, "max"))])
    monkeypatch.setattr(bench_types, "rows", lambda *_: iter([row]))
    monkeypatch.setattr(page_text, "held", lambda most: (2**20, most))
    monkeypatch.setattr(page_text, "draw", lambda *_: None)
    monkeypatch.setattr(page, "STORED", stored)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")

    def run(*seconds: float, options: tuple[str, ...] = ("--check",)) -> int:
        monkeypatch.setattr(one_shot, "benches", lambda most: iter([(SPOT, release(*seconds))]))
        return page.main(options)

    return run


_RATIOS = {"argpartition": 1.0, "max": 1.0}


def test_a_slow_down_is_reported_and_makes_the_exit_code_one(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(1.31) == 1
    told = capsys.readouterr().out
    assert "uniform, d = 100000, k = 10: 2.62 of argpartition, and 2 is stored" in told
    assert "1.31 of inexact, and 1 is stored" in told
    assert "of max, and" not in told, "a ratio to one pass is no promise"


def test_the_command_is_silent_at_less_than_that(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(1.29) == 0
    told = capsys.readouterr().out
    assert "is stored" not in told
    assert "no ratio is more than 1.3 times" in told


def test_what_is_slow_once_is_measured_again(check: Any) -> None:
    """Three slow turns, then a call that builds, then three as stored; slow ones again are no accident."""
    assert check(2.0, 2.0, 2.0, 99.0, 1.0, 1.0, 1.0) == 0
    assert check(2.0, 2.0, 2.0, 99.0, 2.0, 2.0, 1.0) == 1
    assert check(1.0, 1.0, 1.0, 99.0, 2.0, 2.0, 2.0) == 0, "what is not slow is measured once"


def test_a_check_writes_nothing_and_a_run_stores_its_ratios_beside_older_ones(check: Any) -> None:
    check(1.0)
    assert not page.PAGE.exists()
    assert json.loads(page.STORED.read_text(encoding="utf-8")) == STORED
    check(1.1, options=("--most", "5"))
    kept = json.loads(page.STORED.read_text(encoding="utf-8"))
    renewed = {str(SPOT): {"argpartition": 2.2, "inexact": 1.1, "max": 11.0}, "int8, d = 8, k = 1": _RATIOS}
    assert kept == {**renewed, "left out": STORED["left out"]}
    text = page.PAGE.read_text(encoding="utf-8")
    assert "| uniform | 100,000 | 1.1 s | 2.20 | 1.10 | 11.00 |" in text
    assert "| not kept | 1 s | 1.00 | max | 2 | met |" in text


def test_a_goal_is_a_ratio_or_a_time() -> None:
    """The first call is not counted, and of the others it is the median."""
    ratio = Bench("of a peer", takes(99.0, 3.0, 9.0, 4.0), {"peer": takes(2.0)}, 3, Goal(2.5, "peer"))
    seconds = Bench("of time", takes(99.0, 3.0, 9.0, 4.0), {"peer": takes(2.0)}, 3, Goal(3.9))
    found = list(measured([ratio, seconds], {}))
    assert [(case.own, case.ratios["peer"], case.met) for case in found] == [(4.0, 2.0, True), (4.0, 2.0, False)]
    assert goals.markdown(found)[3:5] == [
        "| of a peer | 4 s | 2.00 | peer | 2.5 | met |",
        "| of time | 4 s | 2.00 | peer | 3.9 s | missed |",
    ]


def test_the_command_names_the_goals_that_are_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benches = [Bench(name, takes(1.0), {}, 1, Goal(most)) for name, most in (("slow", 0.5), ("fast", 2.0))]
    monkeypatch.setattr(goals, "PARTS", {"made up": lambda: iter([*benches, Bench("none", takes(1.0))])})
    assert goals.main([]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == ["slow", "fast", "1"]
    assert told[0].endswith("goal 500 ms MISSED")
    assert told[2] == "1 of 2 goals are met"


def test_another_process_says_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = Bench("slow", takes(1.0), {"peer": takes(4.0)}, 1, Goal(0.5, "peer"))
    monkeypatch.setattr(goals, "PARTS", {"made up": lambda: iter([slow])})
    assert goals.main(["--json"]) == 0
    told = capsys.readouterr().out
    monkeypatch.setattr(
        goals.subprocess, "run", lambda *_, env, **__: _Ended("" if STEADY.keys() & env.keys() else told)
    )
    assert goals.as_it_is("made up") == [slow()]


@dataclass
class _Ended:
    stdout: str


def test_without_an_environment_for_diffprivlib_the_other_rows_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(others, "against_opendp", lambda: iter([release(1.0)]))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "neither"))
    assert [bench.name for bench in others.benches(tmp_path / "nowhere")] == [str(SPOT)]
    assert ".venv-foreign/bin/pip install" in capsys.readouterr().out
