"""Python in a process of its own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def printed(*arguments: object, timeout: float = 1000) -> str:
    """What Python prints with these arguments, in the folder of the checkout; it must end without an error."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=timeout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout
