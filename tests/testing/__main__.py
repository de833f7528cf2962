"""``python -m tests.testing [OPTION ...]``: ten claims audited in the quick mode, and the processor time that takes."""

import os
import sys
import tempfile
from pathlib import Path

from .test_plugin import TEN, project, run


def main() -> None:
    """Run them by a pytest of their own; its options are those given."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        code, said = run(project(Path(folder), test_claims=TEN), "--dp-quick", "--durations=10", *sys.argv[1:])
        after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    print(said, f"{seconds:.1f} CPU s", sep="")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
