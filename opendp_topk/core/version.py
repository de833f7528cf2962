"""The version of the library."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Return the version of the installed library; "unknown" if it runs from sources that are not installed."""
    try:
        return metadata.version("opendp_topk")
    except metadata.PackageNotFoundError:
        return "unknown"
