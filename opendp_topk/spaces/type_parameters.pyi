from typing import Any

from typing_extensions import TypeVar

Distance = TypeVar("Distance", covariant=True, default=Any)
Released = TypeVar("Released", covariant=True, default=Any)
