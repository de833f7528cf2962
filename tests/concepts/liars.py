"""Numbers and texts whose own comparisons and methods say what is not so."""

from fractions import Fraction
from typing import Any


class _Agrees:
    """Whatever it is compared with, it is neither below nor above, and equal."""

    def __lt__(self, other: Any) -> bool:
        return False

    def __gt__(self, other: Any) -> bool:
        return False

    def __le__(self, other: Any) -> bool:
        return True

    def __ge__(self, other: Any) -> bool:
        return True

    def __eq__(self, other: Any) -> bool:
        return True

    def __ne__(self, other: Any) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


class Float(_Agrees, float):  # type: ignore[misc]
    """A float that passes every comparison."""


class Integer(_Agrees, int):  # type: ignore[misc]
    """An integer that passes every comparison."""


class Rational(_Agrees, Fraction):
    """A fraction that passes every comparison."""


class Text(str):
    """A text that calls itself short and printable."""

    def __len__(self) -> int:
        return 1

    def isprintable(self) -> bool:
        return True

    def strip(self, *_: Any) -> str:
        return "1"


BELOW = (Float(-5.0), Integer(-5), Rational(-5))
BEYOND = (Float("nan"), Float("inf"), Float("-inf"))
