"""``python -m opendp_topk.apps.audit``: print a tightness table of all mechanisms, or write it (``--write FILE``)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .shipped import claim_columns, shipped_examples, tightness_table, verify_all


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify all shipped mechanisms, and print the table or write it."""
    parser = argparse.ArgumentParser(prog="python -m opendp_topk.apps.audit", description=main.__doc__)
    parser.add_argument("--budget", type=int, default=20, help="pairs of neighbours to try for each row, two or more")
    parser.add_argument("--write", metavar="FILE", help="a Markdown file for the table")
    options = parser.parse_args(arguments)
    text = tightness_table(
        verify_all(options.budget, [example for example in shipped_examples() if claim_columns(example) is not None])
    )
    if options.write:
        Path(options.write).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
