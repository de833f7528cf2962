"""What reprs and errors show of arguments: public scalars, and of all else the type."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, SENTINEL_TEXT, leaks, raises_exactly

PURE = tk.MaxDivergence()
SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)


def given_by_mistake() -> dict[str, Any]:
    """Data in the place of a parameter."""
    return {
        "a list": [SENTINEL_INT, SENTINEL_TEXT],
        "a long tuple": (SENTINEL_INT,) * 9,
        "rows": [(SENTINEL_INT, SENTINEL_TEXT)],
        "nested": ((SENTINEL_INT,),),
        "counts": {SENTINEL_TEXT: SENTINEL_INT},
        "a set": {SENTINEL_TEXT},
        "an array": np.array([SENTINEL_FLOAT]),
        "texts": np.array([SENTINEL_TEXT], dtype=object),
        "items": tk.Release(items=[SENTINEL_TEXT]),
    }


def frames() -> dict[str, Any]:
    columns = {"u": [SENTINEL_INT], "i": [SENTINEL_TEXT]}
    pl = pytest.importorskip("polars", reason="frames are among what is given")
    pd = pytest.importorskip("pandas", reason="frames are among what is given")
    whole = pl.DataFrame(columns)
    return {"polars": whole, "lazy": whole.lazy(), "series": whole["u"], "pandas": pd.DataFrame(columns)}


def test_a_partial_shows_no_data_of_its_arguments() -> None:
    for kind, data in (given_by_mistake() | frames()).items():
        for partial in (
            tk.then_report_noisy_top_k(PURE, k=1, scale=data),
            tk.then_report_noisy_top_k(data, k=1, scale=2.0),
        ):
            assert not leaks(tk.SpaceError(repr(partial))), kind
            for wrong in (lambda one=partial: one(SPACE), lambda one=partial: one >> 3, lambda one=partial: 3 >> one):
                with pytest.raises(tk.SpaceError) as caught:
                    wrong()
                assert not leaks(caught.value), kind


def test_a_measurement_shows_no_data_of_its_parameters() -> None:
    for kind, data in frames().items():
        made = tk.Measurement(*SPACE, PURE, len, lambda d_in: d_in, parameters={"frame": data})
        assert not leaks(tk.SpaceError(repr(made) + made._repr_html_())), kind
        assert f"<{type(data).__name__}>" in repr(made)


@pytest.mark.parametrize(
    ("partial", "shown"),
    [
        (tk.then_laplace(PURE, scale=6.0), "then_laplace(MaxDivergence(), scale=6.0)"),
        (tk.then_laplace(PURE, scale=Fraction(1, 3)), "then_laplace(MaxDivergence(), scale=Fraction(1, 3))"),
        (tk.then_report_noisy_top_k(PURE, k=3, scale=6.0, release="set"), "k=3, scale=6.0, release='set'"),
        (tk.then_sum_by_item(candidates=["a"], bounds=(0, 10)), "candidates=<list of 1>, bounds=(0, 10)"),
        (tk.then_count_by_item(candidates=range(9)), "candidates=<range of 9>"),
        (tk.then_laplace(PURE, scale=np.ones(3)), "scale=<ndarray of shape (3,)>"),
        (tk.then_laplace(PURE, scale=10**5000), "scale=<int>"),
    ],
)
def test_public_scalars_stay_readable(partial: Any, shown: str) -> None:
    assert shown in repr(partial)


def test_what_is_built_by_hand_is_checked() -> None:
    for build in (
        lambda: tk.Partial(1, (), {}),
        lambda: tk.Partial(tk.make_laplace, 2, {}),
        lambda: tk.Partial(tk.make_laplace, (), 3),
        lambda: tk.Comparison(1, 2),
        lambda: tk.Recommendation(1, 2, 3, 4, 5),
        lambda: tk.Recommendation(None, "near", (), None, None),
    ):
        raises_exactly(tk.ParameterTypeError, build, "must be")
