"""Errors of the library keep nothing of the data, whatever foreign code put into its own."""

import numpy as np
import pytest

from opendp_topk import errors

from ..concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, SENTINEL_TEXT, leaks, raises_exactly


def _error(**attributes: object) -> ValueError:
    error = ValueError("fine")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    "error",
    [
        ValueError(f"the score {SENTINEL_INT} is too large"),
        ValueError("fine", {"score": [SENTINEL_FLOAT]}),
        ValueError("fine", np.array([1.0, SENTINEL_FLOAT])),
        ValueError("fine", np.float64(SENTINEL_FLOAT)),
        _error(row=(SENTINEL_INT,)),
        _error(__cause__=_error(__context__=ValueError(SENTINEL_TEXT))),
        _error(__notes__=[f"row {SENTINEL_TEXT}"]),
        _error(frame=object.__new__(type("Frame", (), {"__repr__": lambda _: SENTINEL_TEXT}))),
    ],
)
def test_the_search_finds_a_sentinel_wherever_it_hides(error: BaseException) -> None:
    assert leaks(error)


def test_the_search_finds_nothing_in_a_clean_exception() -> None:
    assert leaks(_error(code=3, __cause__=KeyError("name"))) == []


def test_a_suppressed_context_is_searched_too() -> None:
    def leak() -> None:
        try:
            raise KeyError(SENTINEL_TEXT)
        except KeyError:
            raise errors.DataError("clean") from None

    with pytest.raises(AssertionError):
        raises_exactly(errors.DataError, leak)


def test_a_violation_says_its_message_and_keeps_its_report() -> None:
    error = errors.PrivacyViolationError("the loss is larger", {"loss": 2})
    assert (str(error), error.report) == ("the loss is larger", {"loss": 2})
    assert errors.PrivacyViolationError("the loss is larger").report is None
