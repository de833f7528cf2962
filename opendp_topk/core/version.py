"""Which version of the library runs."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """The version of the installed library; "unknown" where it runs from sources that nobody installed."""
    try:
        return metadata.version("opendp_topk")
    except metadata.PackageNotFoundError:
        return "unknown"
