"""The daily ranking of the benchmark, on a table that is small enough to count by hand."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from . import bench_daily

pl = pytest.importorskip("polars", reason="the benchmark reads parquet with polars")


@pytest.mark.further
def test_a_small_day_is_capped_and_released_with_the_noise_of_its_budget(tmp_path: Path) -> None:
    rows, path = 40_000, tmp_path / "views.parquet"
    bench_daily.write_table(path, rows, rows // bench_daily.VIEWS)
    pages: dict[int, set[int]] = defaultdict(set)
    for device, page in pl.read_parquet(path).iter_rows():
        pages[device].add(page)
    assert rows / bench_daily.VISITS * 0.9 < len(pages) < rows / bench_daily.VISITS * 1.1
    assert max(map(len, pages.values())) > bench_daily.MOST
    kept: dict[int, int] = defaultdict(int)
    for own in pages.values():
        for page in sorted(own)[: bench_daily.MOST]:
            kept[page] += 1
    scale, least, released = bench_daily.kept("order")(path, rows // bench_daily.VIEWS)
    assert abs(2 * bench_daily.RHO * scale**2 / bench_daily.MOST - 1) < 1e-9
    sure, possible = (sum(count >= least + away for count in kept.values()) for away in (150, -150))
    assert 0 < sure <= released <= possible  # eight standard deviations: by chance with a probability below 1e-11
    _, threshold, found = bench_daily.unlisted(path, rows // bench_daily.VIEWS)
    assert least < threshold
    assert 0 < found <= possible
