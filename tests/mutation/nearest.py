"""The files of tests that are nearest to a place in a module, nearest first."""

from __future__ import annotations

import re
from pathlib import Path

from .reached import ELSEWHERE, tests_of


def files(module: str, root: Path, changed: str = "") -> list[str]:
    """The test files that may notice a fault in ``module``, a path below the package, as paths below ``root``.

    First its mirror; then those known to reach the function in which ``changed`` stands, and those known to reach the
    module, its own folder's before others, or where none is known the mirrors of modules that import from it; then the
    rest of its folder; then all others.
    """
    path = Path(module)
    reaching = tests_of(module, (root / "opendp_topk" / module).read_text(encoding="utf-8"), changed)
    known = sorted(reaching, key=lambda one: Path(one).parent != Path("tests") / path.parent) or _above(path, root)
    found = [one.relative_to(root) for one in sorted((root / "tests").rglob("test_*.py"))]
    rest = sorted(found, key=lambda one: (one.parent != Path("tests") / path.parent, one))
    own = Path("tests") / path.parent
    fit = {one.as_posix() for one in found if one.parts[1] not in ELSEWHERE or one.parent == own}
    return [one for one in dict.fromkeys([_mirror(path), *known, *(one.as_posix() for one in rest)]) if one in fit]


def _mirror(module: Path) -> str:
    return "tests/" + module.with_name(f"test_{module.name.lstrip('_')}").as_posix()


def _above(module: Path, root: Path) -> list[str]:
    package, imported = root / "opendp_topk", re.compile(rf"^\s*from [\w.]*\.{module.stem} import ", re.MULTILINE)
    importing = [one for one in sorted(package.rglob("*.py")) if imported.search(one.read_text(encoding="utf-8"))]
    return [_mirror(one.relative_to(package)) for one in importing]
