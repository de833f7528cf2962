"""What the benchmarks' commands say of cases whose times are made up here: no test looks at a clock."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from . import bench_types, goals, one_shot, others, page, page_text
from .bench import Bench, Case
from .one_shot import Spot

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
