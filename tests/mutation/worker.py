"""``python -m opendp_topk.audit.gauntlet.worker``: all checks on the package that is imported, a line of JSON each.

Every line is flushed at once, so that it is known which check did not come to an end.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.mutation.checks import CHECKS

_LONGEST = 200


def main() -> None:
    """Say which package this is, then run the checks in their order."""
    _say({"package": str(Path(__file__).resolve().parents[2])})
    for name, check in CHECKS.items():
        problem = ""
        try:
            check()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:_LONGEST]
        _say({"check": name, "problem": problem})


def _say(line: dict[str, str]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
