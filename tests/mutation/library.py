"""The package as its users see it, without types: checks give it wrong arguments, too."""

from __future__ import annotations

import importlib
from typing import Any

tk: Any = importlib.import_module("opendp_topk")
