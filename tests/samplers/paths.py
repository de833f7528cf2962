"""The two ways of a short vector through the race: everybody at once, or by the scan of long vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opendp_topk.sampling.samplers import settle as short

AT_ONCE = short.MOST
SCANNED = 0


@contextmanager
def up_to(most: int) -> Iterator[None]:
    """Vectors of at most ``most`` scores take the short way."""
    before, short.MOST = short.MOST, most
    try:
        yield
    finally:
        short.MOST = before
