"""Type parameters of measures and measurements. Their defaults are in the stub, because Python 3.11 has none."""

from typing import TypeVar

Distance = TypeVar("Distance", covariant=True)
Released = TypeVar("Released", covariant=True)
