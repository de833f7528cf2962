"""Packages of others that are installed in an environment of their own."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def needed(name: str) -> Any:
    """The module ``name``; without it the tests of the calling module are skipped, or fail where they are required."""
    try:
        return importlib.import_module(name)
    except ImportError:
        reason = f"{name} is not installed (extra foreign)"
    if os.environ.get("OPENDP_TOPK_REQUIRE_FOREIGN") == "1":
        pytest.fail(reason, pytrace=False)
    return pytest.skip(reason, allow_module_level=True)
