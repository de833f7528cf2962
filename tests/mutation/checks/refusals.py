"""What must be refused is refused, before anything is drawn, and no message repeats data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opendp_topk.errors import TopKError
from opendp_topk.samplers import entropy
from tests.mutation.library import tk
from tests.mutation.oracles import expect

_CANARY = 918273


def check() -> None:
    """Bad arguments and bad data raise errors of the library."""
    system = entropy._read
    entropy._read = _nothing
    try:
        for what, call in _calls():
            _refused(what, call)
    finally:
        entropy._read = system


def _nothing(n: int) -> bytes:
    raise AssertionError("digits were drawn")


def _refused(what: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except AssertionError:
        raise
    except TopKError as error:
        expect(str(_CANARY) not in str(error), f"the message about {what} repeats data")
        return
    expect(False, f"accepted: {what}")


def _calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    pure = tk.MaxDivergence()
    integers = tk.VectorDomain(tk.AtomDomain(int), 3), tk.LInfDistance()
    floats = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance()

    def top(k: Any = 1, scale: Any = 1, space: Any = integers, **options: Any) -> Any:
        return tk.make_report_noisy_top_k(*space, pure, k=k, scale=scale, **options)

    for bad_k in (0, -1, 4, 1.0, True, None):
        yield f"k = {bad_k}", partial(top, bad_k)
    for bad_scale in (-1, math.nan, math.inf, "1", None):
        yield f"scale = {bad_scale}", partial(top, scale=bad_scale)
    yield "optimize = 'most'", lambda: top(optimize="most")
    yield "release = 'list'", lambda: top(release="list")
    yield "gamma = 2", lambda: tk.make_canonical_top_k(*integers, pure, k=1, scale=1, gamma=2)
    yield "Gaussian noise under pure privacy", lambda: tk.make_gaussian(integers[0], tk.L2Distance(), pure, scale=1)
    for value in (math.nan, math.inf, -math.inf):
        yield f"a score of {value}", partial(top(space=floats), [1.0, value, 2.0])
    yield "scores of another size", lambda: top()([_CANARY, 1])
    yield "fewer scores than k", lambda: top(2, space=floats)([float(_CANARY)])
    yield "floats for integers", lambda: top()([1.5, _CANARY, 2.0])
    yield "no scores", lambda: top(space=floats)([])
    yield (
        "counts without a bound on scores",
        lambda: tk.make_select_then_count(integers[0], tk.RangeDistance(), pure, k=1, scale=1),
    )
    frame = tk.FrameDomain("user", "item"), tk.UserDistance()
    for listed in ([], [1, 1], [1, "a"], [1.5]):
        yield f"candidates {listed}", partial(tk.make_count_by_item, *frame, candidates=listed)
    for bad in (-1, math.nan):
        yield f"d_in = {bad}", partial(top().map, bad)
