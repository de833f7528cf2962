"""Where code lies does not belong to a pin; which code a name leads to does."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opendp_topk import proof
from proofs.tools.renewal import repin

from .conftest import marked, stale, write

ROUNDING = """\
from functools import cache
from .helpers import step, twice


# proof-region: up
def up(x):
    return step(x) + twice(x)
# end-proof-region: up


def _own(x, by=3):
    return x + by


@cache
def both(x):
    return _own(x)
"""
HELPERS = """\
def step(x):
    return _deep(x) + 1


def _deep(x):
    return x * 2


def twice(x):
    return 2 * x
"""
OTHERS = "def step(x):\n    return x - 1\n\n\ndef twice(x):\n    return 3 * x\n"
SUMS = """\
from typing import TYPE_CHECKING
from . import others, rounding
from .others import step as less

if TYPE_CHECKING:
    from . import helpers


# proof-region: total
def total(values: "helpers.T", up=None):
    from .helpers import step
    # rounding.up is called
    return rounding.up(up) + rounding.both(sum(values)) + step(0) + others.step(1) + less(2) + others.twice(3)
# end-proof-region: total
"""
FILES = {"rounding": ROUNDING, "helpers": HELPERS, "others": OTHERS, "sums": SUMS}
Files = dict[str, str]


@pytest.fixture
def inner(house: Path) -> Path:
    (house / "proofs/inner/sums.tex").unlink()
    lay(house, {f"inner/{name}": text for name, text in FILES.items()})
    write(house / "proofs/inner/up.tex", "\\pin{up}{}\n")
    write(house / "proofs/inner/total.tex", "\\relieson{inner/up}\n\\pin{total}{}\n")
    write(house / "proofs/inner/alone.tex", "\\pin{total}{}\n")
    for name in proof.document_names():
        repin(name)
    return house


def lay(house: Path, files: Files) -> None:
    for name, text in files.items():
        write(house / f"opendp_topk/{name}.py", text)


def renamed(files: Files, old: str, new: str) -> Files:
    return {
        (new if name == old else name): re.sub(
            rf"(?<!\w){old}\b", new, text.replace("# rounding.up", "# KEPT")
        ).replace("# KEPT", f"# {new}.up" if old == "rounding" else "# rounding.up")
        for name, text in files.items()
    }


def moved_helper(files: Files) -> Files:
    start = ROUNDING.index("def _own")
    end = ROUNDING.index("@cache")
    rest = ROUNDING[:start] + "from .helpers import _own\n" + ROUNDING[end:]
    return files | {"rounding": rest, "helpers": HELPERS + "\n\n" + ROUNDING[start:end]}


def split(files: Files) -> Files:
    start = ROUNDING.index("def _own")
    later = "from functools import cache\n\n\n" + ROUNDING[start:]
    sums = SUMS.replace("import others, rounding", "import later, others, rounding").replace(
        "rounding.both", "later.both"
    )
    return files | {"rounding": ROUNDING[:start], "later": later, "sums": sums}


def imported(files: Files) -> Files:
    """Absolute imports in the place of relative ones, and the other way of naming one thing."""
    sums = SUMS.replace("from . import others, rounding", "from opendp_topk.inner import others, rounding")
    helpers = ROUNDING.replace("from .helpers import step, twice", "from opendp_topk.inner import helpers")
    return files | {
        "sums": sums,
        "rounding": helpers.replace("double(x)", "twice(x)").replace(
            "    return step(x) + twice", "    return helpers.step(x) + helpers.twice"
        ),
    }


def on_top(files: Files) -> Files:
    sums = SUMS.replace("    from .helpers import step\n", "").replace(
        "from .others import", "from .helpers import step\nfrom .others import"
    )
    return files | {"sums": sums}


@pytest.mark.parametrize(
    "move",
    [
        *(lambda files, old=old: renamed(files, old, "elsewhere") for old in ("rounding", "helpers", "others", "sums")),
        moved_helper,
        split,
        imported,
        on_top,
    ],
    ids=["rounding", "helpers", "others", "sums", "moved helper", "split", "absolute", "import on top"],
)
def test_a_pure_move_renews_nothing(inner: Path, move: Callable[[Files], Files]) -> None:
    assert stale() == set()
    files = move(FILES)
    assert files != FILES
    for name in FILES:
        (inner / f"opendp_topk/inner/{name}.py").unlink()
    lay(inner, {f"inner/{name}": text for name, text in files.items()})
    assert stale() == set()


def test_another_room_renews_nothing(inner: Path) -> None:
    for name in ("sums", "rounding"):
        (inner / f"opendp_topk/inner/{name}.py").unlink()
    deep = {
        name: text.replace("from .", "from ...inner.").replace("inner. import", "inner import")
        for name, text in FILES.items()
    }
    sums = deep["sums"].replace(
        "from ...inner import others, rounding", "from ...inner import others\nfrom .. import rounding"
    )
    lay(inner, {"other/deep/sums": sums, "other/rounding": deep["rounding"].replace("...inner", "..inner")})
    assert stale() == set()


BOTH = {"total", "alone"}


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("helpers", "x * 2", "x * 3", {"up", *BOTH}),
        ("helpers", "return 2 * x", "return 4 * x", {"up", *BOTH}),
        ("others", "x - 1", "x - 2", BOTH),
        ("rounding", "import step, twice", "import twice as step, twice", {"up", *BOTH}),
        ("rounding", "step, twice", "step, step as twice", {"up", *BOTH}),
        ("rounding", "from .helpers", "from .others", {"up", *BOTH}),
        ("rounding", "by=3", "by=4", BOTH),
        ("rounding", "@cache\n", "", BOTH),
        ("rounding", "from functools import cache", "from functools import lru_cache as cache", BOTH),
        ("sums", "from .helpers import step", "from .others import step", BOTH),
        ("sums", "from .others import step as less", "from .helpers import step as less", BOTH),
        ("sums", "from . import others, rounding", "from . import helpers as others, rounding", BOTH),
        ("sums", "rounding.up(up)", "up(rounding.up)", BOTH),
        ("sums", "step(0) + others.step(1)", "others.step(0) + step(1)", BOTH),
        ("sums", "others.step(1) + less(2)", "less(1) + others.step(2)", set()),  # two names of one thing
        ("sums", "# rounding.up is called", "# rounding.up is used", set()),
        ("sums", "up=None", "up=0", BOTH),
    ],
)
def test_another_thing_behind_a_name(inner: Path, file: str, old: str, new: str, expected: set[str]) -> None:
    assert FILES[file].count(old) == 1
    lay(inner, {f"inner/{file}": FILES[file].replace(old, new)})
    assert stale() == expected


def test_two_helpers_of_one_name_exchange_their_bodies(inner: Path) -> None:
    others = OTHERS.replace("x - 1", "_deep(x) + 1") + "\n\ndef _deep(x):\n    return x * 2\n"
    lay(inner, {"inner/helpers": HELPERS.replace("_deep(x) + 1", "x - 1"), "inner/others": others})
    assert stale() == {"up", *BOTH}


def test_a_copy_is_not_the_original(inner: Path) -> None:
    """Two that share a state of a module differ from two with a state each."""
    state = "STATE = {}\n"
    reading = "from .{0} import STATE\n\n\ndef {1}(x):\n    return STATE[x]\n"
    both = "from .first import one\nfrom .second import two\n\n\n" + marked(
        "total", "def total(x):\n    return one(two(x))\n"
    )
    files = {"a": state, "first": reading.format("a", "one"), "second": reading.format("a", "two"), "sums": both}
    lay(inner, {f"inner/{name}": text for name, text in files.items()})
    repin("inner/alone")
    lay(inner, {"inner/b": state, "inner/second": reading.format("b", "two")})
    assert "alone" in stale()


def test_imports_in_branches_keep_their_places(inner: Path) -> None:
    branches = "def total(x):\n    if x:\n        from .helpers import step\n    else:\n"
    branches += "        from .others import step\n    return step(x)\n"
    lay(inner, {"inner/sums": marked("total", branches)})
    repin("inner/alone")
    swapped = branches.replace("helpers", "X").replace("others", "helpers").replace("X", "others")
    lay(inner, {"inner/sums": marked("total", swapped)})
    assert "alone" in stale()


def test_imports_on_trial_are_followed(inner: Path) -> None:
    tried = "try:\n    from .helpers import step\nexcept ImportError:\n    from .others import step\n"
    lay(inner, {"inner/sums": tried + marked("total", "def total(x):\n    return step(x)\n")})
    repin("inner/alone")
    for file, text in (("helpers", HELPERS.replace("x * 2", "x")), ("others", OTHERS.replace("x - 1", "x"))):
        lay(inner, {f"inner/{file}": text})
        assert "alone" in stale(), file
        lay(inner, {f"inner/{file}": FILES[file]})
        assert "alone" not in stale()


def test_what_reads_its_own_place_depends_on_it(inner: Path) -> None:
    placed = marked("total", "def total(x):\n    return __file__\n")
    lay(inner, {"inner/sums": placed})
    repin("inner/alone")
    assert "alone" not in stale()
    (inner / "opendp_topk/inner/sums.py").unlink()
    lay(inner, {"inner/elsewhere": placed})
    assert "alone" in stale()


@pytest.mark.parametrize("other", ["less", "through"])
def test_what_is_answered_for_is_told_apart_by_regions_or_belongs_to_the_pin(inner: Path, other: str) -> None:
    """Two things of one name for which the same document answers cannot be exchanged, be they in a region or not."""
    step, twice = OTHERS.split("\n\n\n")
    through = "from .others import step\n\n\n" + marked("through", "def through(x):\n    return step(x)\n")
    lay(inner, {"inner/others": marked("less", f"{step}\n") + f"\n\n{twice}", "inner/through": through})
    write(inner / "proofs/inner/up.tex", f"\\pin{{up}}{{}}\n\\pin{{{other}}}{{}}\n")
    repin("inner/up")
    repin("inner/total")
    assert "total" not in stale()
    lay(inner, {"inner/sums": SUMS.replace("from .helpers import step", "from .others import step")})
    assert not proof.code_hashes("inner/total")[0].is_current


# The package itself.


def rename(package: Path, room: str, old: str, new: str) -> int:
    """Rename a module of a room, and every import and use of it; the number of other files that name it."""
    (package / room / f"{old}.py").rename(package / room / f"{new}.py")
    storey, _, folder = room.rpartition("/")
    place = rf"(?:{storey}\.)?{folder}" if storey else folder
    changed = 0
    for path in package.rglob("*.py"):
        text = path.read_text("utf-8")
        after = re.sub(rf"(from \.*(?:{place})?\.?){old} import", rf"\g<1>{new} import", text)
        for line in re.findall(
            rf"^ *from \.*(?:{place})? import (?:\([^)]*\b{old}\b[^)]*\)|.*\b{old}\b.*$)", after, re.MULTILINE
        ):
            after = after.replace(line, re.sub(rf"\b{old}\b", new, line))
            after = re.sub(rf"(?<![\w.]){old}\.(?=\w)", f"{new}.", after)
        if after != text:
            changed += 1
            path.write_text(after, "utf-8")
    proof.clear_cache()
    return changed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "name"),
    [("sampling/samplers", "race"), ("numerics", "arithmetic"), ("errors", "checks"), ("spaces", "metrics")],
)
def test_a_module_of_the_package_is_renamed(package: Path, room: str, name: str) -> None:
    assert rename(package, room, name, f"{name}_elsewhere") > 1
    assert stale() == set()
