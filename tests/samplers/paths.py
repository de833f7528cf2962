"""The ways of a vector through the race: one by one, everybody at once, or by the scan of long vectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from opendp_topk.sampling.samplers import settle as short


class Path(NamedTuple):
    """The most scores that are bounded one by one or at once, and the most of the latter that are sorted whole."""

    few: int
    most: int
    sorted: int = short._SORTED


ONE_BY_ONE = Path(short.MOST, short.MOST)
AT_ONCE = Path(0, short.MOST)
DROPPED = Path(0, short.MOST, 0)
SCANNED = Path(0, 0)


@contextmanager
def up_to(path: Path) -> Iterator[None]:
    """Vectors of at most so many scores take these ways."""
    before = Path(short.FEW, short.MOST, short._SORTED)
    short.FEW, short.MOST, short._SORTED = path
    try:
        yield
    finally:
        short.FEW, short.MOST, short._SORTED = before
