"""What Python runs when it loads a module belongs to every pin that it may change, wherever it stands."""

import ast
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof.loading import find_mutators, is_binding_only
from proofs.tools.renewal import repin
from tests.pages.page import ROOT

from .conftest import marked, stale, write

UP = marked("up", "def up(x):\n    return x + 1\n") + "\n\ndef down(x):\n    return x - 1\n"
SUMS = "from .rounding import up\n\n" + marked("total", "def total(values):\n    return up(sum(values))\n")
SIZES = marked("Sizes", "class Sizes:\n    def steps(self):\n        return 3\n")
DOCUMENTS = {"up": "up", "sums": "total", "sizes": "Sizes"}
BOTH, ALL = {"up", "sums"}, set(DOCUMENTS)


@pytest.fixture
def inner(house: Path) -> Path:
    """Three modules of a room, with a document each; the room has no ``__init__`` yet."""
    (house / "proofs/inner/sums.tex").unlink()
    for name, text in (("rounding", UP), ("sums", SUMS), ("sizes", SIZES), ("other", "x = 1\n")):
        write(house / f"opendp_topk/inner/{name}.py", text)
    for document, region in DOCUMENTS.items():
        write(house / f"proofs/inner/{document}.tex", f"\\pin{{{region}}}{{}}\n")
        repin(f"inner/{document}")
    return house / "opendp_topk" / "inner"


CASES = [
    ("from .sizes import Sizes\nSizes.steps = lambda self: 1\n", {"sizes"}),
    ("from .sizes import Sizes\nsetattr(Sizes, 'steps', len)\n", {"sizes"}),
    ("from .sizes import Sizes\n_ = setattr(Sizes, 'steps', len)\n", {"sizes"}),
    ("from .sizes import Sizes\ndel Sizes.steps\n", {"sizes"}),
    ("from .sizes import Sizes\nSizes.steps, x = len, 1\n", {"sizes"}),
    ("from .sizes import Sizes\nclass Mine:\n    Sizes.steps = len\n", {"sizes"}),
    ("from .sizes import Sizes\nfor Sizes.steps in (len,):\n    pass\n", {"sizes"}),
    ("from .sizes import Sizes\nif True:\n    Sizes.steps = len\n", {"sizes"}),
    ("def patch():\n    from .sizes import Sizes\n    Sizes.steps = len\n\npatch()\n", {"sizes"}),
    ("def patch():\n    from .sizes import Sizes\n    Sizes.steps = len\n\ndone = patch()\n", {"sizes"}),
    ("from .sizes import Sizes\ndef patch(one):\n    one.steps = len\n\ndone = patch(Sizes)\n", {"sizes"}),
    ("from .sizes import Sizes\ndef patch(one):\n    one.steps = len\n\n@patch(Sizes)\ndef f(): ...\n", {"sizes"}),
    ("from . import rounding\nrounding.up = rounding.down\n", BOTH),
    ("from . import rounding\nvars(rounding)['up'] = rounding.down\n", ALL),
    ("def patch():\n    from . import rounding\n    rounding.up = None\n", BOTH),
    ("import sys\nsys.modules['opendp_topk.inner.sizes'] = None\n", ALL),
    ("def patch():\n    import sys\n    sys.modules['opendp_topk.inner.sizes'].x = None\n", ALL),
    ("__path__ = ['elsewhere']\n", ALL),
    ("__path__.append('elsewhere')\n", ALL),
    ("exec('import opendp_topk')\n", ALL),
    ("_ready = exec('import opendp_topk')\n", ALL),
    ("def f(x=exec('import opendp_topk')): ...\n", ALL),
    ("def f(x: exec('import opendp_topk')): ...\n", ALL),
    ("def f() -> exec('import opendp_topk'): ...\n", ALL),
    ("x: exec('import opendp_topk') = 1\n", ALL),
    ("class Mine:\n    x = eval('1')\n", ALL),
    ("class Mine:\n    x: eval('1')\n", ALL),
    ("class Mine(eval('object')): ...\n", ALL),
    ("class Mine(x=__import__('os')): ...\n", ALL),
    ("run = exec\n", ALL),
    ("def f():\n    exec('import opendp_topk')\n\nf()\n", ALL),
    ("Number = int | eval('float')\n", ALL),
    ("TRIED = {'k': (1, compile('1', '', 'eval'))}\n", ALL),
    ("import functools\nfrom .sizes import Sizes\n\n@functools.partial(setattr, Sizes, 'steps')\ndef f(): ...\n", ALL),
    ("import operator\nfrom .sizes import Sizes\nx = operator.setitem(vars(Sizes), 'steps', len)\n", ALL),
    ("import operator\n\n@operator.methodcaller('__setattr__', 'x', 1)\ndef f(): ...\n", ALL),
    ("from .rounding import up, down\nx = up.__setattr__('__code__', down.__code__)\n", ALL),
    ("from .sizes import Sizes\nx = Sizes.__dict__.update(a=1)\n", ALL),
    ("from .sizes import Sizes\nx = type.__setattr__(Sizes, 'steps', len)\n", ALL),
    ("from .sizes import Sizes\nx = [setattr(one, 'steps', len) for one in (Sizes,)]\n", ALL),
    ("import os\nx = os.__dict__.update(urandom=bytes)\n", ALL),
    ("import os\nos.urandom = bytes\n", ALL),
    ("import os\ndef patch(one):\n    one.urandom = bytes\n\nx = patch(os)\n", ALL),
    ("import os\ndef patch(ones):\n    ones[0].urandom = bytes\n\nx = patch((os,))\n", ALL),
    ("import gmpy2\ngmpy2.get_context().precision = 9\n", ALL),
    ("import gmpy2\nx = gmpy2.set_context(gmpy2.context(precision=9))\n", ALL),
    ("from .rounding import up\nx = up(1).fill(2)\n", ALL),
    ("from .rounding import up\nup(1)[0] = 2\n", ALL),
    ("import beside\n", ALL),
    ("from beside import one\n", ALL),
    ("import os.path, beside.inner\n", ALL),
    ("import importlib\nx = importlib.import_module('beside')\n", ALL),
    ("x = open('sizes.py', 'w')\n", ALL),
    ("import subprocess\nx = subprocess.run(['true'])\n", ALL),
    ("import ctypes\nx = 1\ndef f():\n    ctypes.memset(1, 2, 3)\n", ALL),
    ("from .sizes import Sizes\nx = Sizes\nx.steps = len\n", ALL),
    ("try:\n    from .sizes import Sizes\nexcept ImportError:\n    Sizes = 1\nSizes.steps = len\n", ALL),
    ("from .sizes import Sizes\nfor one in (Sizes,):\n    one.steps = len\n", ALL),
    ("import re\nfrom fractions import Fraction\nHALF = Fraction(1, 2)\nx = re.compile('a', re.M)\n", set()),
    ("import functools\n\n@functools.lru_cache(maxsize=3)\ndef f(x: int = min(1, 2)) -> 'eval': ...\n", set()),
    (
        "from dataclasses import dataclass, field\n\n@dataclass(frozen=True)\nclass A:\n    x = field(repr=False)\n",
        set(),
    ),
    ("import numpy as np\nX = np.arange(3)\nY = ', '.join(str(one) for one in (1, 2))\n", set()),
    ('"""Words."""\n', set()),
    ("from .rounding import up, down\n__all__ = ['up', 'down']\n", set()),
    ("from .sizes import Sizes\nMINE = Sizes()\nx, y = 1, 2\n", set()),
    ("from .sizes import Sizes\nclass Mine(Sizes):\n    size = 3\n    def steps(self):\n        self.x = 1\n", set()),
    ("def f(Sizes):\n    Sizes.steps = 1\n    x = {}\n    x[0] = 1\n", set()),
    ("from .rounding import up\nif __name__ == '__main__':\n    up(1)\n", set()),
    ("try:\n    import numpy\nexcept ImportError:\n    numpy = None\n", set()),
]


@pytest.mark.parametrize("place", ["inner/__init__.py", "__init__.py"])
@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_a_package_runs(inner: Path, place: str, text: str, expected: set[str]) -> None:
    """In the package that holds the modules, and in the one above."""
    assert stale() == set()
    if place == "__init__.py":
        text = text.replace("from . import", "from .inner import").replace("from .sizes", "from .inner.sizes")
        text = text.replace("from .rounding", "from .inner.rounding")
    write(inner.parent / place, text)
    assert stale() == expected


@pytest.fixture
def public(inner: Path) -> Path:
    """A constructor with its partial and its public name, and a document that pins it."""
    made = marked("made", "def make_one(a, b):\n    return a, b\n")
    write(inner.parent / "core/partials.py", "def partial_constructor(make):\n    return make\n")
    write(inner.parent / "core/public_names.py", 'PUBLIC = {"inner.one": "make_one then_one"}\n')
    then = "then_one = partial_constructor(make_one)"
    write(inner / "one.py", f"from ..core.partials import partial_constructor\n\n{made}\n{then}\n")
    write(inner.parents[1] / "proofs/inner/one.tex", "\\pin{made}{}\n")
    repin("inner/one")
    return inner.parent


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("inner/one.py", "partial_constructor(make_one)", "partial_constructor(lambda a, b, k=1: make_one(a, k))"),
        ("inner/one.py", "then_one = partial_constructor(make_one)", "def then_one(a):\n    return a"),
        (
            "inner/one.py",
            "then_one = partial_constructor(make_one)",
            "then_one: object = partial_constructor(make_one)",
        ),
        ("inner/one.py", "..core.partials import partial_constructor", ".sizes import Sizes as partial_constructor"),
        ("inner/one.py", "partial_constructor(make_one)", "partial_constructor(max)"),
        ("core/public_names.py", "inner.one", "inner.other"),
        ("core/public_names.py", "make_one", "make_two"),
        ("core/public_names.py", " then_one", ""),
        ("core/public_names.py", '{"inner.one": "make_one then_one"}', "dict([])"),
        ("inner/other.py", "x = 1", "from .one import make_one as made\nmake_one = made"),
        ("inner/other.py", "x = 1", "def make_one(a, b):\n    return b, a"),
    ],
)
def test_a_name_that_leads_elsewhere(public: Path, file: str, old: str, new: str) -> None:
    """By another partial form, another home, or a second module that makes a constructor of this name."""
    assert stale() == set()
    text = (public / file).read_text("utf-8")
    assert old in text
    write(public / file, text.replace(old, new))
    assert "one" in stale()


def test_a_new_public_name_changes_nothing(public: Path) -> None:
    write(public / "core/public_names.py", 'PUBLIC = {"inner.other": "Other", "inner.one": "make_one then_one"}\n')
    assert stale() == set()


CLAIMING = "from ..core.claims import attach_claim\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def make(x):\n    return attach_claim(x, 'inner/sizes')\n", {"sizes"}),
        ("@attach_claim('inner/sums')\ndef make(x):\n    return x\n", {"sums"}),
        ("def make(x):\n    return attach_claim(x)\n", ALL),
        ("again = attach_claim\n", ALL),
        ("x = 1\n", set()),
        (marked("claiming", "def make(x):\n    return attach_claim(x, 'inner/sizes')\n"), {"sizes"}),
    ],
)
def test_a_claim_that_no_document_pins(inner: Path, text: str, expected: set[str]) -> None:
    """Of the document that it names, or of all where it names none."""
    write(inner.parent / "core/claims.py", "def attach_claim(*given):\n    return given\n")
    assert stale() == set()
    write(inner / "other.py", CLAIMING + text)
    assert stale() == expected


def test_a_module_counts_whether_another_loads_it_or_not(inner: Path) -> None:
    write(inner / "other.py", "from .sizes import Sizes\nSizes.steps = len\n")
    assert stale() == {"sizes"}
    write(inner / "other.py", "def later():\n    from .sizes import Sizes\n    return Sizes()\n")
    assert stale() == set()


def test_a_renewal_shows_what_changes_another(inner: Path) -> None:
    write(inner / "__init__.py", "from .sizes import Sizes\nSizes.steps = len\n")
    assert repin("inner/sizes") == 1
    assert stale() == set()
    texts = [f"from .sizes import Sizes\nSizes.steps = {other}\n" for other in ("max", "len")]
    write(inner / "__init__.py", texts[0])
    assert stale() == {"sizes"}
    write(inner / "other.py", texts[1])
    assert repin("inner/sizes") == 1
    write(inner / "__init__.py", texts[1])
    write(inner / "other.py", texts[0])
    assert stale() == set(), "each is in the place of the other"


@pytest.mark.parametrize(
    ("source", "quiet"),
    [
        ("x: int = 1", True),
        ("x += 1", True),
        ("x.y = 1", False),
        ("x[0] = 1", False),
        ("x()", False),
        ("with a:\n    x = 1", True),
        ("with a:\n    x()", False),
        ("try:\n    x = 1\nexcept E:\n    x()", False),
        ("class A:\n    'Words.'\n    x()", False),
        ("assert x", False),
        ("del x", False),
        ("__getattr__ = f", False),
        ("__all__ = []", True),
    ],
)
def test_quiet_statements(source: str, quiet: bool) -> None:
    (node,) = ast.parse(source).body
    assert is_binding_only(node) == quiet


# The package itself.

PACKAGE = ROOT / "opendp_topk"
ROOMS = sorted(path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py"))
CHOICES = "measurements/selection"
OF_ALL = ".", "errors"  # by names of these all proofs rest on what public names lead to
PATCH = "\nfrom opendp_topk.measurements._selection import Choice\nChoice.steps = property(lambda self: 1)\n"


@pytest.mark.untraced
@pytest.mark.further
@pytest.mark.quick(room="measurements")
@pytest.mark.parametrize("room", sorted({*OF_ALL, *ROOMS[3::5], "measurements"}))
def test_a_patch_in_a_room(package: Path, room: str) -> None:
    path = package / room / "__init__.py"
    path.write_text(path.read_text("utf-8") + PATCH, "utf-8")
    proof.clear_cache()
    assert proof.Proof(CHOICES).status == "stale"
    assert proof.Proof("numerics/rounding").status == ("stale" if room in OF_ALL else "current")


@pytest.mark.untraced
def test_what_runs_besides_making_names() -> None:
    """Commands are registered, and forks are watched; no more than that."""
    assert {hand.statement.module for hand in find_mutators()} == {
        "apps.cli.__main__", "apps.cli.audit", "apps.cli.ledger", "core.home", "apps.ledger.turns", "proof.library"
    }  # fmt: skip
    for hand in find_mutators():
        assert hand.changed is not None
        room = hand.statement.module.partition(".")[0]
        assert {place.partition(".")[0] for place, _ in hand.changed} <= {room}
