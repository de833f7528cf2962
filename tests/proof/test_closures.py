"""What belongs to a pin: all that its region reaches, down to what another document answers for."""

import gc
import shutil
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.proof import closures, library
from opendp_topk.proof.closures import region_closure
from opendp_topk.proof.modules import find_module
from proofs.tools.renewal import repin

from .conftest import stale, write

UP = """\
\"\"\"Two neighbours.\"\"\"
from math import ceil


# proof-region: up
def up(x):
    \"\"\"Round up.\"\"\"
    return ceil(x)
# end-proof-region: up


def down(x):
    return -up(-x)
"""
SUMS = """\
from functools import cache
import numpy as np
from .rounding import up
from . import rounding

LIMIT = 7
UNUSED = 8


def lone(x):
    return x


def _helper(x: lone) -> lone:
    # a comment
    return rounding.up(x) + LIMIT


@cache
def total(values, start=LIMIT):
    \"\"\"Add.\"\"\"
    # proof-region: total
    lone = values
    return up(sum(lone)) + start + np.int64(_helper(0))
    # end-proof-region: total


class Sums:
    size: int = 3

    # proof-region: sums
    def all(self):
        return self.size
    # end-proof-region: sums

    def other(self):
        return 4
"""


@pytest.fixture
def sums(house: Path) -> Path:
    package = house / "opendp_topk" / "inner"
    write(package / "rounding.py", UP)
    write(package / "sums.py", SUMS)
    write(house / "proofs/inner/up.tex", "\\pin{up}{}\n")
    write(house / "proofs/inner/sums.tex", "\\pin{total}{}\n")
    write(house / "proofs/inner/class.tex", "\\pin{sums}{}\n")
    for name in proof.document_names():
        repin(name)
    return house


def test_what_is_reached(sums: Path) -> None:
    inside, beyond = region_closure("inner/sums", "total")
    assert inside == []
    titles = {one.title for one in beyond}
    assert titles == {"inner.sums:total", "inner.sums:LIMIT", "inner.sums:_helper", "inner.rounding:up"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("import up", "import down as up", {"sums"}),
        ("from . import rounding", "from . import elsewhere as rounding", {"sums"}),
        ("import numpy as np", "import math as np", {"sums"}),
        ("LIMIT = 7", "LIMIT = 8", {"sums"}),
        ("LIMIT = 7", "LIMIT = 7\nLIMIT += 1", {"sums"}),
        ("LIMIT = 7", "LIMIT = 7\nif UNUSED:\n    LIMIT = 9", {"sums"}),
        ("@cache\n", "", {"sums"}),
        ("start=LIMIT", "start=7", {"sums"}),
        ("rounding.up(x)", "rounding.down(x)", {"sums"}),
        ("UNUSED = 8", "def sum(values):\n    return 0", {"sums"}),
        ("UNUSED = 8", "total.__wrapped__ = None", {"sums", "class"}),
        ("return 4", "return 5", {"class"}),
        ("size: int = 3", "size: int = 4", {"class"}),
        ("class Sums:", "class Sums(dict):", {"class"}),
        ("UNUSED = 8", "UNUSED = 9", set()),
        ("return x", "return -x", set()),
        ("# a comment", "# another", set()),
        ("Add.", "Add all values.", set()),
        ("x: lone", "x: int", set()),
        ("    return rounding.up(x) + LIMIT", "    return (rounding.up(x)\n            + LIMIT)", set()),
        ("UNUSED = 8", "import os", set()),
        ("from .rounding import up", "from opendp_topk.inner.rounding import up", set()),
        ("LIMIT = 7", "import typing\nLIMIT = 7\nif typing.TYPE_CHECKING:\n    LIMIT = 9", set()),
        (
            "UNUSED = 8",
            "import typing\nif typing.TYPE_CHECKING:\n    import os\nelse:\n    print()",
            {"sums", "class", "up"},
        ),
        ("    return up(sum", "    return  up(sum", set()),
        ("return up(sum(lone))", "return up(-sum(lone))", {"sums"}),
        ("lone = values\n    return up(sum(lone))", "other = values\n    return up(sum(other))", set()),
    ],
)
def test_edits(sums: Path, old: str, new: str, expected: set[str]) -> None:
    assert stale() == set()
    assert old in SUMS
    write(sums / "opendp_topk/inner/sums.py", SUMS.replace(old, new, 1))
    assert stale() == expected


def test_what_has_not_changed_is_parsed_once(sums: Path) -> None:
    """Reading anew is for what changed; the same words elsewhere are read with what stands beside them there."""
    before = find_module("inner.sums"), find_module("inner.rounding")
    write(sums / "opendp_topk/inner/rounding.py", UP.replace("ceil(x)", "floor(x)"))
    after = find_module("inner.sums"), find_module("inner.rounding")
    assert after[0] is before[0]
    assert after[1] is not before[1]
    other = sums / "other" / "opendp_topk"
    write(other / "inner/sums.py", SUMS)
    write(other / "inner/rounding.py", UP)
    shutil.copytree(sums / "proofs", sums / "other" / "proofs")
    here = proof.compute_code_hash("inner/sums", "total")
    with library.use_package_folder(other):
        assert find_module("inner.sums") is before[0]
        assert proof.compute_code_hash("inner/sums", "total") != here


def test_no_garbage_is_looked_for_while_code_is_read(sums: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def read(*key: object) -> str:
        seen.append(gc.isenabled())
        raise tk.errors.ProofError("unreadable")

    with monkeypatch.context() as patch:
        patch.setattr(closures, "region_closure", read)
        for before in (True, False):
            (gc.enable if before else gc.disable)()
            try:
                with pytest.raises(tk.errors.ProofError, match="unreadable"):
                    proof.compute_code_hash("inner/sums", "total")
                assert gc.isenabled() is before
            finally:
                gc.enable()
    assert seen == [False, False]


def test_a_module_behind_the_name(sums: Path) -> None:
    write(sums / "opendp_topk/inner/rounding.py", UP.replace("ceil(x)", "ceil(x) + 0"))
    assert stale() == {"up", "sums"}
    write(sums / "opendp_topk/inner/rounding.py", UP.replace("import ceil", "import floor as ceil"))
    assert stale() == {"up", "sums"}
    write(sums / "opendp_topk/inner/rounding.py", UP.replace("-up(-x)", "up(x)"))
    assert stale() == set()


def test_the_document_that_is_relied_on_answers_for_what_it_reaches(sums: Path) -> None:
    write(sums / "proofs/inner/sums.tex", "\\relieson{inner/up}\n\\pin{total}{}\n")
    repin("inner/sums")
    _, beyond = region_closure("inner/sums", "total")
    assert "inner.rounding:up" not in {one.title for one in beyond}
    (before,) = proof.code_hashes("inner/sums")
    write(sums / "opendp_topk/inner/rounding.py", UP.replace("ceil(x)", "ceil(x) + 0"))
    assert before.is_current
    assert stale() == {"up", "sums"}
    repin("inner/up")
    assert stale() == set()
    write(sums / "opendp_topk/inner/sums.py", SUMS.replace("import up", "import down as up"))
    assert stale() == {"sums"}, "where a name comes from belongs to the pin, whoever answers for the code"


def test_a_name_that_is_handed_on(sums: Path) -> None:
    write(sums / "opendp_topk/inner/__init__.py", "from .rounding import up\n")
    write(sums / "opendp_topk/inner/sums.py", SUMS.replace("from .rounding import up", "from . import up"))
    assert stale() == set()
    write(sums / "opendp_topk/inner/__init__.py", "from .rounding import down as up\n")
    assert stale() == {"sums"}


def test_imports_inside_of_functions(sums: Path) -> None:
    inner = SUMS.replace("    # a comment\n", "    from .rounding import up\n").replace("rounding.up(x)", "up(x)")
    write(sums / "opendp_topk/inner/sums.py", inner)
    repin("inner/sums")
    changed = inner.replace("    from .rounding import up", "    from .rounding import down as up")
    write(sums / "opendp_topk/inner/sums.py", changed)
    assert stale() == {"sums"}


def test_documents_that_rest_on_each_other_are_no_ground(sums: Path) -> None:
    for name, other in (("sums", "up"), ("up", "sums")):
        tex = sums / f"proofs/inner/{name}.tex"
        write(tex, f"\\relieson{{inner/{other}}}\n" + tex.read_text("utf-8"))
    assert stale() == {"sums", "up"}
    assert len(region_closure("inner/sums", "total")[1]) == 4, "neither answers for the other"


def test_things_that_are_answered_for_are_told_apart_by_their_places(house: Path) -> None:
    """Two helpers of one shape, which no region holds, are the first and the second that the document reaches."""
    package = house / "opendp_topk" / "inner"
    for number in ("one", "two"):
        write(package / f"{number}.py", f"def ready(x):\n    return (x, '{number}')\n")
    both = "from . import one, two\n# proof-region: both\ndef both(x):\n    return one.ready(x), two.ready(x)\n"
    write(package / "both.py", f"{both}# end-proof-region: both\n")
    alone = "from .one import ready\n# proof-region: alone\ndef alone(x):\n    return ready(x)\n"
    write(package / "alone.py", f"{alone}# end-proof-region: alone\n")
    write(house / "proofs/inner/both.tex", "\\pin{both}{}\n")
    write(house / "proofs/inner/alone.tex", "\\relieson{inner/both}\n\\pin{alone}{}\n")
    for name in proof.document_names():
        repin(name)
    assert region_closure("inner/alone", "alone")[1] == []
    write(package / "alone.py", f"{alone}# end-proof-region: alone\n".replace(".one", ".two"))
    assert stale() == {"alone"}
    write(package / "alone.py", f"{alone}# end-proof-region: alone\n")
    write(package / "one.py", "def ready(x):\n    return (x, 'other')\n")
    repin("inner/both")
    assert stale() == set(), "its code is the affair of the document that answers for it"
    write(package / "both.py", f"{both}# end-proof-region: both\n".replace("one.ready", "two.ready"))
    repin("inner/both")
    assert stale() == {"alone"}, "nobody answers for it any more"
