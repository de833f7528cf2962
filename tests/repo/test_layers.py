"""docs/architecture.md says what is so: rooms, layers, and the way of one map and one release through them.

Imports run downward only, as its table says, and the core needs nothing but its three dependencies. A noise is named by
its record: elsewhere by constructors, defaults and theorems alone, and never by an oracle.
"""

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.sampling.noises.standard import STANDARD
from tests.concepts.processes import printed

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
WHOLE = "opendp_topk"
_ROW = re.compile(r"^\| +(?P<layer>\d+) \| `(?P<name>[^`]+)` \| (?P<holds>[^|]+) \| (?P<may>[^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Room:
    """A folder of the package; nested ones have a dot in their name."""

    layer: int
    name: str
    holds: str
    may_import: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, str]:
        """What the docstring of the room's ``__init__`` has to begin with."""
        *most, last = self.may_import or ("nothing of the package",)
        return f"{self.holds}.", f"It may import {', '.join(most)}{' and ' * bool(most)}{last}."


def rooms(page: str = PAGE) -> dict[str, Room]:
    """The rows of the table, in its order.

    Raises:
        ValueError: Two rows speak of the same room.
    """
    found: dict[str, Room] = {}
    for row in _ROW.finditer(page):
        if row["name"] in found:
            raise ValueError(f"docs/architecture.md has two rows for {row['name']}")
        may_import = tuple(re.findall(r"`([^`]+)`", row["may"]))
        found[row["name"]] = Room(int(row["layer"]), row["name"], row["holds"], may_import)
    return found


ROOMS = rooms()


def room_of(module: str) -> str:
    """The innermost room that holds a module, given by its dotted name below the package; ``__main__`` is the command.

    Raises:
        ValueError: The table names no such room.
    """
    parts = ["apps", "cli"] if module == "__main__" else module.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in ROOMS:
            return ".".join(parts[:length])
    if module:
        raise ValueError(f"{module} has no place in the table of docs/architecture.md")
    return WHOLE


PACKAGE = Path(tk.__file__).parent
PRIVACY = ("spaces.", "core.")
SAMPLING = ("sampling.samplers.", "sampling.distributions.", "measurements.")
RANDOM_WORDS = re.compile(r"np\.random|numpy\.random|default_rng|RandomState|\bimport random\b|\bfrom random\b")
ENTROPY_WORDS = re.compile(r"urandom|getrandom|\bimport secrets\b|\bfrom secrets\b|SystemRandom")
SOURCES = sorted(PACKAGE.rglob("*.py"))
STAND_INS = ("apps.audit.replay",)  # it replaces the sources of code under audit, and draws nothing


def module_of(path: Path) -> str:
    """The dotted name below the package; the package itself is the empty name."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


MODULES = {module_of(path): path for path in SOURCES if module_of(path) not in ("apps", "sampling")}


@functools.cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def names_in(node: ast.AST) -> set[str]:
    return {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node)}


def statements(node: ast.AST, types: bool) -> Iterator[ast.stmt]:
    """All statements; those that only a type checker runs where ``types`` are asked for."""
    for inner in ast.iter_child_nodes(node):
        if not types and isinstance(inner, ast.If) and "TYPE_CHECKING" in names_in(inner.test):
            continue
        if isinstance(inner, ast.stmt):
            yield inner
        if isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from statements(inner, types)


@functools.cache
def imports_of(module: str, types: bool = False) -> frozenset[str]:
    """The modules of this package that ``module`` imports, anywhere in it, and where asked those of its types alone."""
    path, found = MODULES[module], set()
    package = module.split(".") if path.name == "__init__.py" and module else module.split(".")[:-1]
    for node in statements(tree(module), types):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1] + (node.module or "").split(".") * bool(node.module)
            elif (node.module or "").split(".")[0] == "opendp_topk":
                base = (node.module or "").split(".")[1:]
            else:
                continue
            for alias in node.names:
                inner = ".".join([*base, alias.name])
                found.add(inner if inner in MODULES else ".".join(base))
        if isinstance(node, ast.Import):
            found |= {
                ".".join(alias.name.split(".")[1:]) for alias in node.names if alias.name.split(".")[0] == "opendp_topk"
            }
    return frozenset(found - {module})


def reads_public_names(module: str) -> set[str]:
    """The audit lists all that the package exports, so its functions may import the package when they run."""
    on_top = any(isinstance(node, ast.Import) and "opendp_topk" in ast.unparse(node) for node in tree(module).body)
    return {""} if module.startswith("apps.audit") and not on_top else set()


@pytest.mark.further
def test_a_module_imports_what_its_room_may() -> None:
    for module in MODULES:
        room = ROOMS[room_of(module)]
        for imported in imports_of(module) - reads_public_names(module):
            assert imported in MODULES, f"{module} imports {imported}, which is no module of the package"
            allowed = {room.name, *room.may_import}
            assert room_of(imported) in allowed, f"docs/architecture.md does not let {room.name} import {imported}"


def test_every_permission_is_used() -> None:
    """The package itself imports its public names by their modules' names, when they are first asked for."""
    for room in (room for room in ROOMS.values() if room.name != WHOLE):
        used = {room_of(name) for module in MODULES if room_of(module) == room.name for name in imports_of(module)}
        unused = set(room.may_import) - used
        assert not unused, f"docs/architecture.md lets {room.name} import {sorted(unused)}, which it does not"


def test_imports_run_downward() -> None:
    for room in ROOMS.values():
        for below in room.may_import:
            assert ROOMS[below].layer < room.layer, f"{room.name} may import {below} from no lower layer"


@pytest.mark.further
def test_imports_have_no_cycle() -> None:
    below = {module: set(imports_of(module, types=True) - reads_public_names(module)) for module in MODULES}
    while free := [module for module, needs in below.items() if not needs]:
        for module in free:
            del below[module]
        for needs in below.values():
            needs.difference_update(free)
    assert below == {}, "these modules import each other in a circle"


def test_the_library_imports_no_application() -> None:
    library = [room for room in ROOMS.values() if not room.name.startswith(("apps.", WHOLE))]
    assert 12 < len(library) < len(ROOMS)
    assert [room.name for room in library if any(below.startswith("apps.") for below in room.may_import)] == []


def imported_from(rooms: tuple[str, ...], forbidden: str | tuple[str, ...]) -> list[tuple[str, str]]:
    """Which modules of ``rooms`` import a module whose name begins so."""
    inside = [module for module in MODULES if room_of(module) in rooms]
    assert inside
    return [(module, name) for module in inside for name in imports_of(module) if name.startswith(forbidden)]


def test_samplers_and_distributions_know_nothing_of_privacy() -> None:
    assert imported_from(("sampling.samplers", "sampling.distributions"), PRIVACY) == []


def test_combinators_know_no_mechanism_and_sample_how_often_one_runs_at_most() -> None:
    assert {name for _, name in imported_from(("combinators",), SAMPLING)} == {"sampling.samplers.run_counts"}


@pytest.mark.further
def test_randomness_has_one_source() -> None:
    for path in (path for path in SOURCES if module_of(path) not in STAND_INS):
        text = path.read_text(encoding="utf-8")
        assert not RANDOM_WORDS.search(text), f"{path.name}: all randomness comes from sampling/samplers/entropy.py"
        if module_of(path) != "sampling.samplers.entropy":
            assert not ENTROPY_WORDS.search(text), f"{path.name}: only entropy.py asks the operating system"


def test_the_one_source_of_randomness_is_the_operating_system() -> None:
    assert ENTROPY_WORDS.search(MODULES["sampling.samplers.entropy"].read_text(encoding="utf-8"))


HIDE = """
import sys
allowed = set(sys.stdlib_module_names) | {"opendp_topk", "numpy", "mpmath", "gmpy2"}
class Hide:
    def find_spec(self, name, path=None, target=None):
        caller = sys._getframe(1)
        while caller and "importlib" in caller.f_code.co_filename:
            caller = caller.f_back
        if name.split(".")[0] not in allowed and "opendp_topk" in caller.f_globals.get("__name__", ""):
            raise ModuleNotFoundError(f"{name} is hidden", name=name)
sys.meta_path.insert(0, Hide())
import opendp_topk
left = {name.split(".")[0] for name in sys.modules} - allowed
print(sorted(left & {"narwhals", "polars", "pandas", "pyarrow", "duckdb", "typer", "rich", "scipy", "opendp"}))
space = opendp_topk.VectorDomain(opendp_topk.AtomDomain(int)), opendp_topk.LInfDistance(monotonic=True)
top = space >> opendp_topk.then_report_noisy_top_k(opendp_topk.MaxDivergence(), k=2, scale=2.0)
print(top.map(1), len(top([5, 6, 7])))
"""


LAZY = """
import sys, opendp_topk as tk
print([name for name in sys.modules if name.startswith("opendp_topk.apps.audit")])
print(tk.audit.verify.__module__, tk.audit is sys.modules["opendp_topk.apps.audit"], hasattr(tk, "no_such_name"))
"""


FIRST = """
import sys, numpy as np, opendp_topk as tk
space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=2, scale=2.0)(np.arange(10))
print("opendp_topk.sampling.samplers.race" in sys.modules, "numpy.ma" in sys.modules)
"""


@pytest.mark.further
def test_oracles_share_no_code_with_the_library() -> None:
    oracles = sorted((PACKAGE.parent / "tests" / "oracles").glob("*.py"))
    assert len(oracles) > 1
    for path in oracles:
        assert not re.search(r"^\s*(from|import) opendp_topk", path.read_text(encoding="utf-8"), re.MULTILINE), path


ROOT = PACKAGE.parent
ELSEWHERE = sorted(path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "sampling" / "noises"))
# The names by which the library loads what it offers.
LISTS = {"core/public_names.py"}
# Of these theorems speak, and constructors use them unless they are told otherwise.
DEFAULTS = {"Gumbel", "Exponential"}


def code(path: Path) -> str:
    """A module without comments and without the texts that explain it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.mark.parametrize("name", ["HalfLogistic", "Logistic"])
def test_no_code_elsewhere_knows_a_noise_that_is_no_default(name: str) -> None:
    """Of Laplace noise, too, other theorems and mechanisms speak: the next test is for it."""
    words = re.compile("[-_]?".join(re.findall("[A-Z][a-z]+", name)), re.IGNORECASE)
    named = [path for path in ELSEWHERE if words.search(path.read_text(encoding="utf-8")) and words.search(code(path))]
    assert {path.relative_to(PACKAGE).as_posix() for path in named} - LISTS == set()


def test_only_the_defaults_are_loaded_by_name() -> None:
    modules = [noise.race.rpartition(".")[2] for noise in STANDARD if noise.race]
    loads = re.compile(rf"noises\.(?:{'|'.join(modules)}) import (\w+)")
    found = {name for path in ELSEWHERE for name in loads.findall(path.read_text(encoding="utf-8"))}
    assert found == DEFAULTS


LOADED = """
import importlib, pathlib, sys
for path in sorted(pathlib.Path("tests/oracles").glob("*.py")):
    importlib.import_module(f"tests.oracles.{path.stem}")
print(*(name for name in sys.modules if name.split(".")[0] == "opendp_topk"))
"""


SCRIPTS = {
    "the package is imported where all but its three dependencies is hidden": (HIDE, ["[]", "1.0 2"]),
    "the audit is loaded when it is first asked for": (LAZY, ["[]", "opendp_topk.apps.audit.verify True False"]),
    "a first release loads nothing that it does not need": (FIRST, ["True False"]),
    # Sampler and law read one record, so that a wrong fact would fool both: what judges them must not read it.
    "no oracle reads a record even by way of others": (LOADED, [""]),
}


@pytest.mark.quick
@pytest.mark.further
@pytest.mark.parametrize("what", SCRIPTS)
def test_what_is_loaded(what: str) -> None:
    script, expected = SCRIPTS[what]
    assert printed("-c", script).splitlines() == expected


STOREYS = ("apps", "sampling")
"""Folders that hold rooms alone."""
FOLDERS = {
    ".".join(path.parent.relative_to(PACKAGE).parts) or WHOLE: path for path in sorted(PACKAGE.rglob("__init__.py"))
}
PICTURE = {
    int(number): set(re.findall(r"[a-z_.]+", line)) & ROOMS.keys()
    for number, line in re.findall(r"^ *(\d+) │(.*)$", PAGE, re.MULTILINE)
}
WALK = re.compile(r"<!-- walk: (\w+) -->\n((?:\d+\. .*\n(?: .*\n)*)+)")
STEP = re.compile(r"^\d+\. `([^`]+\.py)` `([^`]+)`: ", re.MULTILINE)
MOST_ENTRIES = 21


def test_every_folder_has_a_row() -> None:
    assert {*ROOMS, *STOREYS} == set(FOLDERS)
    for storey in STOREYS:
        beside = [path for path in FOLDERS[storey].parent.glob("*.py") if path.name != "__init__.py"]
        assert not beside
        assert len(ast.parse(FOLDERS[storey].read_text(encoding="utf-8")).body) == 1


def test_the_picture_has_the_layers_of_the_table() -> None:
    layers = {room.layer for room in ROOMS.values()}
    assert {layer: {room.name for room in ROOMS.values() if room.layer == layer} for layer in layers} == PICTURE


@pytest.mark.parametrize("room", [name for name in ROOMS if name != WHOLE])
def test_a_room_says_in_two_sentences_what_it_holds_and_may_import(room: str) -> None:
    docstring = ast.get_docstring(ast.parse(FOLDERS[room].read_text(encoding="utf-8"))) or ""
    said = tuple(" ".join(part.replace("``", "`").split()) for part in docstring.split("\n\n")[:2])
    assert said == ROOMS[room].sentences


def test_the_top_of_the_package_is_surveyable() -> None:
    files = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert {"__init__.py", "__init__.pyi", "py.typed"} <= set(files)
    entries = {name.removesuffix(".pyi").removesuffix(".py") for name in files if name != "__main__.py"}
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_a_room_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place in the table"):
        room_of("attic.boxes")
    with pytest.raises(ValueError, match="two rows for errors"):
        rooms(PAGE + "\n| 1 | `errors` | Every exception | nothing |\n")


def calls(run: Callable[[], object]) -> list[tuple[str, str]]:
    """The functions of the package that ``run`` enters, in order, as (file, qualified name)."""
    entered = []

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            entered.append((Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return entered


def walks() -> dict[str, Callable[[], object]]:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0)
    return {"map": lambda: top3.map(1), "release": lambda: top3([93, 17, 55, 60, 2, 88, 41])}


@pytest.mark.parametrize("name", sorted(walks()))
def test_a_walk_goes_where_the_page_says(name: str) -> None:
    """Every step is a call that is made after those of the steps before it."""
    steps = STEP.findall(dict(WALK.findall(PAGE))[name])
    entered = iter(calls(walks()[name]))
    assert len(steps) >= 8
    for step in steps:
        assert step in entered, f"docs/architecture.md: the {name} does not enter {step} here"


def test_the_files_that_the_page_names_exist() -> None:
    root = PACKAGE.parent
    named = set(re.findall(r"`([\w./]+\.(?:py|tex|md))`", PAGE))
    assert len(named) >= 12
    assert [name for name in sorted(named) if not ((PACKAGE / name).is_file() or (root / name).is_file())] == []
