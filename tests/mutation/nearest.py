"""The files of tests that are nearest to a module, nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_ELSEWHERE = ("repo", "proof", "foreign", "benchmarks", "mutation")
"""Tests of the repository, of proof documents and of other libraries, which are no tests of what a module does."""


def files(module: str, root: Path) -> list[str]:
    """The test files that may notice a fault in ``module``, a path below the package, as paths below ``root``.

    First its mirror; then the mirrors of its neighbours that import it, and the tests that name it; then its folder's;
    then all others.
    """
    path = Path(module)
    mirrors = [_mirror(one) for one in (path, *_users(path, root))]
    found = [one.relative_to(root / "tests") for one in sorted((root / "tests").rglob("test_*.py"))]
    ranked = sorted(
        (one for one in found if one.parts[0] not in _ELSEWHERE),
        key=lambda one: _distance(one, path, mirrors, (root / "tests" / one).read_text(encoding="utf-8")),
    )
    return [f"tests/{one.as_posix()}" for one in ranked]


def _distance(test: Path, module: Path, mirrors: list[Path], text: str) -> int:
    if test in mirrors:
        return 0 if test == mirrors[0] else 1
    named = any(name in text for name in _names(module))
    return 2 + 2 * (not named) + (test.parent != module.parent)


def _mirror(module: Path) -> Path:
    return module.with_name(f"test_{module.name.lstrip('_')}")


def _users(module: Path, root: Path) -> list[Path]:
    """The modules of the same folder that import ``module``."""
    line = f"from .{module.stem} import"
    beside = sorted((root / "opendp_topk" / module.parent).glob("*.py"))
    return [module.with_name(one.name) for one in beside if line in one.read_text(encoding="utf-8")]


def _names(module: Path) -> Iterator[str]:
    stem, folder = module.stem, ".".join(module.parts[:-1])
    yield f"{folder}.{stem} import"
    yield f"{folder} import {stem}"
    yield f"tk.make_{stem}("
    yield f"tk.then_{stem}("
