"""Parts of a long list of instances that take turns from day to day where the environment says which day it is.

A build that must end in time sets ``OPENDP_TOPK_DAY`` to a number of days; otherwise all instances are tried.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def in_turn(instances: Sequence[T], parts: int) -> list[T]:
    """Of so many parts the one whose turn it is, or all."""
    day = os.environ.get("OPENDP_TOPK_DAY")
    return list(instances) if day is None else list(instances)[int(day) % parts :: parts]
