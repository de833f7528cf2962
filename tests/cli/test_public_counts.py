"""The file of a proxy: what is read, and what is refused without a word of what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendp_topk.apps.cli.files import read_proxy_counts
from opendp_topk.errors import ParameterError, TableError

pl = pytest.importorskip("polars", reason="files are read by polars, of the extra tables")

SECRET = "zyxwvut-sentinel"


def test_csv_and_parquet_give_the_same_counts(tmp_path: Path) -> None:
    listed, frame = tmp_path / "a.csv", tmp_path / "a.parquet"
    listed.write_text("item,count\na, 7\nb,0 \nc,+31\n")
    pl.DataFrame({"count": [7, 0, 31]}, schema={"count": pl.UInt8}).write_parquet(frame)
    for path in (listed, frame):
        counts = read_proxy_counts(path, 5)
        assert counts.tolist() == [7, 0, 31, 0, 0]
        assert counts.dtype == "int64"
    assert read_proxy_counts(frame, 3).tolist() == [7, 0, 31]


@pytest.mark.parametrize(
    "cell", [SECRET, "918273.5", "-918273", "", "9182730000000000000000", "nan", "9e3"], ids=lambda cell: cell or "null"
)
def test_what_is_no_count_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"item,count\na,3\nb,{cell}\n")
    with pytest.raises(TableError, match="must hold an integer >= 0 in every row") as caught:
        read_proxy_counts(path, 9)
    assert SECRET not in str(caught.value)
    assert "918273" not in str(caught.value)


@pytest.mark.parametrize("values", [[1.0, 2.0], [True, False], [[1], [2]], [1, None], [2**63, 1], [-1, 2]], ids=str)
def test_a_column_of_another_type_is_refused(tmp_path: Path, values: list[object]) -> None:
    path = tmp_path / "bad.parquet"
    pl.DataFrame({"count": values}, schema={"count": pl.UInt64} if 2**63 in values else None).write_parquet(path)
    with pytest.raises(TableError, match="must hold an integer >= 0 in every row"):
        read_proxy_counts(path, 9)


@pytest.mark.further
def test_the_file_must_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,counts\na,3\n")
    with pytest.raises(TableError, match="must have a column named 'count'"):
        read_proxy_counts(path, 9)
    path.write_text("count\n1\n2\n3\n")
    with pytest.raises(TableError, match="at most one row a candidate, which are 2"):
        read_proxy_counts(path, 2)
    assert read_proxy_counts(path, 10**7).sum() == 6
    with pytest.raises(ParameterError, match="for at most 10000000 candidates"):
        read_proxy_counts(path, 10**7 + 1)
    path.write_text("")
    with pytest.raises(TableError, match="is empty"):
        read_proxy_counts(path, 9)
    with pytest.raises(TableError, match="does not exist"):
        read_proxy_counts(tmp_path / "none.csv", 9)
    with pytest.raises(TableError, match="must be a file whose name ends in"):
        read_proxy_counts(tmp_path / "a.txt", 9)
    path.write_text("count\n")
    assert read_proxy_counts(path, 4).tolist() == [0] * 4
