"""Tables of users and numbers, with or without items.

Proof: proofs/spaces/valued_frames.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError, ParameterTypeError
from .domains import Domain, FrameDomain


# proof-region: valued_frames
@dataclass(frozen=True)
class ValuedFrameDomain(Domain):
    """Tables with a column of user identifiers, one of items, and one of numbers, such as prices or minutes.

    The numbers are integers up to Int64, floats or decimals. Other columns are ignored.
    """

    user: str
    item: str
    value: str

    def __post_init__(self) -> None:
        FrameDomain(self.user, self.item)
        if not isinstance(self.value, str) or not self.value:
            raise ParameterTypeError("value must be the name of a column, a non-empty string")
        if self.value in (self.user, self.item):
            raise ParameterError("user, item and value must be three different columns")

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        return frames.valued_columns(value, self.user, self.item, self.value)  # [columns]


@dataclass(frozen=True)
class NumberFrameDomain(Domain):
    """Tables with a column of user identifiers and one of numbers, such as ages or prices. Other columns are ignored.

    The numbers are integers up to Int64, floats or decimals.
    """

    user: str
    value: str

    def __post_init__(self) -> None:
        for name in ("user", "value"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ParameterTypeError(f"{name} must be the name of a column, a non-empty string")
        if self.user == self.value:
            raise ParameterError("user and value must be two different columns")

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        return frames.identifier_columns(value, {"user": self.user}, self.value)  # [number-columns]


# end-proof-region: valued_frames
