"""The tests, and the files of tests, that are nearest to a place in a module, nearest first."""

import re
from pathlib import Path

from .fault import within_storey
from .reached import counts, files_of, tests_of


def tests(module: str, root: Path, changed: str) -> list[str]:
    """The quick tests known to reach the function in which ``changed`` stands, and still there, the shortest first."""
    known = tests_of(module, (root / "opendp_topk" / module).read_text(encoding="utf-8"), changed)
    return [one for one in known if _there(one, root)]


def files(module: str, root: Path) -> list[str]:
    """The test files that may notice a fault in ``module``, a path below the package, as paths below ``root``.

    First its mirror, and that of the package within the room which it belongs to; then three of those known to reach
    the module, its own folder's before others, or where none is known of the mirrors of modules that import from it;
    then files of the mirror's name in other folders; then the others that reach it, of its folder, and all.
    """
    path = Path(within_storey(module))
    own = Path("tests") / path.parent
    known = sorted(files_of(module), key=lambda one: Path(one).parent != own) or _above(Path(module), root)
    found = [one.relative_to(root) for one in sorted((root / "tests").rglob("test_*.py"))]
    rest = sorted(found, key=lambda one: (one.parent != own, one))
    fit = {one.as_posix() for one in found if counts(one.as_posix(), module)}
    mirrors = [_mirror(one) for one in (path, *path.parents[:-2])]
    alike = [one.as_posix() for one in found if one.name == Path(mirrors[0]).name]
    order = dict.fromkeys([*mirrors, *known[:3], *alike, *known, *map(Path.as_posix, rest)])
    return [one for one in order if one in fit]


def _there(test: str, root: Path) -> bool:
    file, _, name = test.partition("::")
    return (root / file).is_file() and f"def {name.rpartition('::')[2]}(" in (root / file).read_text(encoding="utf-8")


def _mirror(module: Path) -> str:
    return "tests/" + within_storey(module.with_name(f"test_{module.stem.lstrip('_')}.py").as_posix())


def _above(module: Path, root: Path) -> list[str]:
    package, imported = root / "opendp_topk", re.compile(rf"^\s*from [\w.]*\.{module.stem} import ", re.MULTILINE)
    importing = [one for one in sorted(package.rglob("*.py")) if imported.search(one.read_text(encoding="utf-8"))]
    return [_mirror(one.relative_to(package)) for one in importing]
