"""Packages of others that are installed in an environment of their own."""

import importlib
import os
from typing import Any

import pytest


class Needed:
    """A module of others, imported when it is first used: other tests are collected without it.

    Without it the test that uses it is skipped, or fails where such tests are required.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith(("_", "pytest")):  # pytest asks every value of a module whether it is a test
            raise AttributeError(attribute)
        try:
            module = importlib.import_module(self._name)
        except ImportError:
            reason = f"{self._name} is not installed (extra foreign)"
            if os.environ.get("OPENDP_TOPK_REQUIRE_FOREIGN") == "1":
                pytest.fail(reason, pytrace=False)
            return pytest.skip(reason)
        return getattr(module, attribute)
