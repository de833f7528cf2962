"""A browser without a window, for pages in files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def require_browser() -> str:
    """The program; skip where there is none, or fail if OPENDP_TOPK_REQUIRE_BROWSER=1."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is not None:
        return found
    missing = "pages are tested in a browser: install the Debian package chromium"
    if os.environ.get("OPENDP_TOPK_REQUIRE_BROWSER") == "1":
        pytest.fail(missing)
    pytest.skip(missing)


def run(page: Path, room: Path, *options: str, width: int = 1280, height: int = 900) -> str:
    """What the browser prints when it opens ``page``; ``room`` is an empty folder for its profile."""
    command = [require_browser(), *_FLAGS, f"--user-data-dir={room}", f"--window-size={width},{height}", *options]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, encoding="utf-8", timeout=240, check=True)
    return done.stdout
