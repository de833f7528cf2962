"""What belongs to a pin: fifty edits that change what code does are noticed, and edits of style are not."""

import ast
import functools
import re
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof.normal import normal_form
from proofs.tools import form
from proofs.tools.renewal import repin
from tests.mutation.faults import FAULTS
from tests.pages.page import ROOT

from .conftest import write

HELPERS = '''\
"""Helpers."""
from gmpy2 import RoundUp, context, mpfr


def lower(value, by=1):
    """Move down."""
    return value - by


def upper(value, by=1):
    return value + by


def widest(values):
    return max(values)


class Base:
    size = 1


class Other:
    size = 2


class BoundError(ValueError):
    pass


def precise(value):
    with context(precision=90, round=RoundUp):
        return mpfr(value)
'''
CODE = '''\
"""A mechanism."""


import functools
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from . import helpers
from .helpers import Base, BoundError, lower, upper

_LIMIT = 30
_WIDTHS = {"int": 8, "float": 16}
_shared = 0


# proof-region: mechanism
@dataclass(frozen=True)
class Step(Base):
    """One step."""

    scale: float
    names: ClassVar[tuple[str, ...]] = ("a", "b")
    taken: list[int] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """What it costs."""
        return self.scale * 2

    @staticmethod
    def join(first: int, second: int) -> int:
        return first - second


@functools.lru_cache(maxsize=8)
def total(values: tuple[int, ...], *rest: int, k: int = 1, **named: Any) -> float:
    """Add what is bounded.

    Raises:
        BoundError: k is too large.
    """
    global _shared
    if k > _LIMIT or k == 0:  # [limit]
        raise BoundError(f"k must be at most {_LIMIT}: choose fewer")
    kept = [lower(one) for one in values if one > 0]
    pairs = [(first, second) for first in kept for second in rest]
    head, *others = kept or [0]
    best = head if k and named else helpers.widest(kept[1:k])
    count = 0

    def add(amount: int, twice: bool = False) -> int:
        nonlocal count
        count += amount
        return count

    for place, one in enumerate(others):
        if (half := one // 2) < place:
            add(half, twice=True)
            continue
        best = max(best, upper(one, by=2))
    try:
        table = np.zeros(len(pairs), dtype="int64")
    except (MemoryError, ValueError) as error:
        raise BoundError("values do not fit into memory") from error
    match pairs:
        case [(first, _), *_] if first > 1:
            best += first
        case []:
            best -= 1
    order = sorted(others, key=lambda one: -one, reverse=True)  # [order]
    key = f"{best:.3f}|{k}"
    _shared = len(key)
    assert order is not None
    del head
    return math.fsum(table[:k]) + best + count + order[0] + _WIDTHS["int"] + float(helpers.precise(k))


async def later(step: Step) -> float:
    return step.loss


def each(step: Step) -> Iterator[float]:
    yield step.loss
# end-proof-region: mechanism
'''
MEANING = [
    ("operator", "self.scale * 2", "self.scale + 2"),
    ("constant", "self.scale * 2", "self.scale * 3"),
    ("type of a constant", "self.scale * 2", "self.scale * 2.0"),
    ("order of operands", "first - second", "second - first"),
    ("order of arguments", "max(best, upper(one, by=2))", "max(upper(one, by=2), best)"),
    ("keyword's name", "upper(one, by=2)", "upper(one, to=2)"),
    ("keyword for a place", "upper(one, by=2)", "upper(one, 2)"),
    ("exchanged callee", "lower(one)", "upper(one)"),
    ("callee of another module", "upper(one, by=2)", "helpers.lower(one, by=2)"),
    ("import of another thing", "import Base, BoundError, lower", "import Other as Base, BoundError, lower"),
    ("two imports exchanged", "lower, upper\n", "lower as upper, upper as lower\n"),
    ("default", "k: int = 1", "k: int = 2"),
    ("no default", "k: int = 1", "k: int"),
    ("keyword-only", "*rest: int, k", "k"),
    ("star arguments", "**named: Any", "named: Any = None"),
    ("base class", "class Step(Base)", "class Step"),
    ("decorator's argument", "frozen=True", "frozen=False"),
    ("decorator gone", "    @property\n", ""),
    ("cache", "@functools.lru_cache(maxsize=8)\n", ""),
    ("static method", "@staticmethod", "@classmethod"),
    ("attribute", "step.loss\n\n\ndef", "step.scale\n\n\ndef"),
    ("field's default", '("a", "b")', '("b", "a")'),
    ("class variable", "ClassVar[tuple[str, ...]]", "tuple[str, ...]"),
    ("factory", "default_factory=list", "default_factory=tuple"),
    ("comparison", "k > _LIMIT", "k >= _LIMIT"),
    ("or", "k > _LIMIT or", "k > _LIMIT and"),
    ("and", "if k and named", "if k or named"),
    ("not", "if k and named", "if not k and named"),
    (
        "branches",
        "head if k and named else helpers.widest(kept[1:k])",
        "helpers.widest(kept[1:k]) if k and named else head",
    ),
    ("filter of a comprehension", "if one > 0]", "if one >= 0]"),
    ("order of a comprehension", "for first in kept for second in rest", "for second in rest for first in kept"),
    (
        "kind of a comprehension",
        "[lower(one) for one in values if one > 0]",
        "{lower(one) for one in values if one > 0}",
    ),
    ("bound of a slice", "kept[1:k]", "kept[:k]"),
    ("upper bound of a slice", "table[:k]", "table[k:]"),
    ("walrus", "(half := one // 2) < place", "one // 2 < place"),
    ("unpacking", "head, *others = kept", "*others, head = kept"),
    ("global", "    global _shared\n", ""),
    ("nonlocal", "        nonlocal count\n", "        count = 0\n"),
    ("jump", "            continue\n", "            break\n"),
    ("augmented", "count += amount", "count -= amount"),
    ("dtype", 'dtype="int64"', 'dtype="int32"'),
    ("exception that is caught", "(MemoryError, ValueError)", "MemoryError"),
    ("class of an error", 'BoundError("values do not fit', 'ValueError("values do not fit'),
    ("parameter of an error", 'BoundError("values do', 'BoundError("rest do'),
    ("what an error shows", "at most {_LIMIT}", "at most {k}"),
    ("cause of an error", " from error", " from None"),
    ("pattern", "case [(first, _), *_]", "case [(_, first), *_]"),
    ("guard of a pattern", "if first > 1:", "if first > 2:"),
    ("lambda", "lambda one: -one", "lambda one: one"),
    ("keyword's value", "reverse=True", "reverse=False"),
    ("formatted string", "{best:.3f}", "{best:.4f}"),
    ("conversion", "{best:.3f}|{k}", "{best:.3f}|{k!r}"),
    ("identity", "is not None", "is None"),
    ("deletion", "    del head\n", ""),
    ("key of a table", '_WIDTHS["int"]', '_WIDTHS["float"]'),
    ("value of a table", '"int": 8', '"int": 9'),
    ("constant that is reached", "_LIMIT = 30", "_LIMIT = 31"),
    ("second assignment", "_LIMIT = 30", "_LIMIT = 30\n_LIMIT += 1"),
    ("function of a library", "math.fsum(table", "sum(table"),
    ("module of a library", "import math", "import cmath as math"),
    ("async", "async def later", "def later"),
    ("generator", "yield step.loss", "return step.loss"),
    ("shadowed function", "    count = 0\n", "    count = 0\n    lower = upper\n"),
    ("shadowed built-in", "_LIMIT = 30", "_LIMIT = 30\n\n\ndef max(a, b):\n    return a\n"),
    ("variable for another", "add(half, twice=True)", "add(place, twice=True)"),
    ("two variables exchanged", "for place, one in enumerate", "for one, place in enumerate"),
    ("parameters exchanged", "def join(first: int, second: int)", "def join(second: int, first: int)"),
    (
        "statements exchanged",
        "    _shared = len(key)\n    assert order is not None\n",
        "    assert order is not None\n    _shared = len(key)\n",
    ),
    ("tag", "# [limit]", "# [limits]"),
    ("place of a tag", "  # [order]\n    key = f", "\n    key = f"),
]
MEANING_BELOW = [
    ("precision", "precision=90", "precision=53"),
    ("rounding", "round=RoundUp", "round=RoundDown"),
    ("import of a rounding", "import RoundUp,", "import RoundDown as RoundUp,"),
    ("body that is reached", "value - by", "value - 2 * by"),
    ("default that is reached", "def upper(value, by=1)", "def upper(value, by=0)"),
    ("base that is reached", "class BoundError(ValueError)", "class BoundError(TypeError)"),
    ("bodies exchanged", "max(values)", "min(values)"),
]
STYLE = [
    ("variable", r"\bkept\b", "positive"),
    ("variable of a loop", r"\bplace\b", "position"),
    ("variable of a comprehension", r"one\) for one in values if one > 0", "it) for it in values if it > 0"),
    (
        "variable of a pattern",
        r"\(first, _\), \*_\] if first > 1:\n            best \+= first",
        "(start, _), *_] if start > 1:\n            best += start",
    ),
    ("name of an exception", r"as error:(.*)\n(.*)from error", r"as cause:\1\n\2from cause"),
    ("walrus", r"\bhalf\b", "middle"),
    ("inner function", r"\badd\(", "increase("),
    ("function", r"\btotal\b", "bounded_total"),
    ("class", r"\bStep\b", "PrivateStep"),
    ("constant", r"_LIMIT\b", "_LARGEST_K"),
    ("table", r"_WIDTHS\b", "_BYTES"),
    ("docstring", "Add what is bounded.", "Return the sum of bounded values."),
    ("docstring gone", '        """What it costs."""\n', ""),
    ("comment", r"    count = 0\n", "    # nothing yet\n    count = 0  # so far\n"),
    (
        "layout",
        r"for first in kept for second in rest\]",
        "\n        for first in kept\n        for second in rest\n    ]",
    ),
    ("parentheses", "first - second", "(first - (second))"),
    ("quotes", '"int64"', "'int64'"),
    ("number", "_LIMIT = 30", "_LIMIT = 0x1E"),
    ("annotation", r"first: int, second: int\) -> int", "first: float, second: float) -> float"),
    ("annotation of a variable", "    count = 0\n", "    count: int = 0\n"),
    ("annotation of a field", "scale: float", "scale: int"),
    ("words of an error", "must be at most {_LIMIT}: choose fewer", "is larger than {_LIMIT}, which is the limit"),
    ("words without a gap", "values do not fit into memory", "values need more memory than there is"),
    (
        "alias of an import",
        "from . import helpers\nfrom .helpers import Base, BoundError, lower, upper",
        "from opendp_topk.inner import helpers\nfrom .helpers import BoundError, upper, lower, Base",
    ),
    ("import in a function", r"    global _shared\n", "    global _shared\n    from .helpers import upper\n"),
    ("unused import", "import math", "import math\nimport os"),
    ("unused function", "_LIMIT = 30", "_LIMIT = 30\n\n\ndef unused():\n    return 1\n"),
]


@pytest.fixture
def place(house: Path) -> Path:
    """A checkout with one mechanism, whose document is current."""
    (house / "proofs/inner/sums.tex").unlink()
    write(house / "opendp_topk/inner/sums.py", CODE)
    write(house / "opendp_topk/inner/helpers.py", HELPERS)
    write(house / "proofs/inner/mechanism.tex", "\\pin{mechanism}{}\n")
    repin("inner/mechanism")
    assert status() == "current"
    return house / "opendp_topk/inner"


def status() -> str:
    return proof.Proof("inner/mechanism").status


def edited(place: Path, file: str, text: str, old: str, new: str) -> None:
    """Write a file with one place that is another."""
    assert text.count(old) == 1, old
    write(place / f"{file}.py", text.replace(old, new))


@pytest.mark.parametrize(("old", "new"), [one[1:] for one in MEANING], ids=[one[0] for one in MEANING])
def test_an_edit_of_meaning_is_noticed(place: Path, old: str, new: str) -> None:
    edited(place, "sums", CODE, old, new)
    assert status() == "stale"


@pytest.mark.parametrize(("old", "new"), [one[1:] for one in MEANING_BELOW], ids=[one[0] for one in MEANING_BELOW])
def test_an_edit_of_what_is_reached_is_noticed(place: Path, old: str, new: str) -> None:
    edited(place, "helpers", HELPERS, old, new)
    assert status() == "stale"


@pytest.mark.parametrize(("old", "new"), [one[1:] for one in STYLE], ids=[one[0] for one in STYLE])
def test_an_edit_of_style_is_not(place: Path, old: str, new: str) -> None:
    after = re.sub(old, new, CODE)
    assert after != CODE
    compile(after, "sums", "exec")
    write(place / "sums.py", after)
    assert status() == "current"


@pytest.mark.parametrize("name", ["lower", "upper", "widest", "Base", "BoundError", "precise"])
def test_names_across_modules_are_style(place: Path, name: str) -> None:
    for file, text in (("sums", CODE), ("helpers", HELPERS)):
        write(place / f"{file}.py", re.sub(rf"\b{name}\b", f"{name}Error" if "Error" in name else f"{name}_one", text))
    assert status() == "current"


def test_a_module_is_split_and_its_functions_change_places(place: Path) -> None:
    at = HELPERS.index("def widest")
    write(place / "wider.py", HELPERS[: HELPERS.index("def lower")] + HELPERS[at:])
    write(place / "helpers.py", HELPERS[:at])
    split = CODE.replace("from . import helpers\n", "from . import wider\n").replace("helpers.widest", "wider.widest")
    split = split.replace("helpers.precise", "wider.precise").replace(
        "from .helpers import Base, BoundError, lower, upper",
        "from .wider import Base, BoundError\nfrom .helpers import upper, lower",
    )
    write(place / "sums.py", split)
    assert status() == "current"


def test_one_name_for_another_of_an_attribute_is_renewed_without_a_reading(place: Path) -> None:
    write(place / "sums.py", CODE.replace("loss", "cost"))
    assert status() == "stale"
    reason = ["--because", "the attribute has the name that the field uses", "--by", "Ada"]
    with pytest.raises(SystemExit):
        form.main(["--renamed", "scale", "cost", *reason])
    form.main(["--renamed", "loss", "cost", *reason])
    assert status() == "current"
    write(place / "sums.py", CODE.replace("loss", "privacy_loss", 1))
    with pytest.raises(SystemExit):
        form.main(["--renamed", "cost", "privacy_loss", *reason])


# The package itself.


@pytest.mark.slow
def test_a_check_on_which_most_documents_rest_is_renamed(package: Path) -> None:
    changed = 0
    for path in package.rglob("*.py"):
        text = path.read_text("utf-8")
        after = re.sub(r"\bchecks\.plain_number\b", "checks.python_number", text)
        if path == package / "errors" / "checks.py":
            after = re.sub(r"\bplain_number\(", "python_number(", after)
        changed += after != text
        path.write_text(after, "utf-8")
    proof.clear_cache()
    assert changed > 3
    assert [name for name in proof.document_names() if proof.Proof(name).status != "current"] == []


@pytest.mark.slow
def test_every_planted_fault_changes_the_form_of_the_code() -> None:
    """The faults are found for tests of behaviour, by others than those who made the form."""
    forms = functools.cache(lambda text: [normal_form(one) for one in ast.parse(text).body])
    unseen = []
    for fault in FAULTS:
        text = (ROOT / fault.path).read_text("utf-8")
        if forms(text) == forms(text.replace(fault.old, fault.new, 1)):
            unseen.append(fault.name)
    assert unseen == []
