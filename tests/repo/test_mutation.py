"""Planted faults: each fits its file and names its killer, and the tool counts tests of behaviour alone."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation import functions, killers, nearest, page
from tests.mutation.checkout import ROOT
from tests.mutation.control import harmless
from tests.mutation.fault import Fault, MovedError, misfits
from tests.mutation.faults import FAULTS
from tests.mutation.operators import chosen
from tests.mutation.run import Mutation
from tests.mutation.suite import StrayError, outcome_of

LIVE = [fault for fault in FAULTS if not fault.equivalent]
KILLERS = killers.remembered()


@pytest.mark.further
def test_every_fault_fits_its_file() -> None:
    assert misfits(FAULTS, ROOT) == [], "mend these faults: python -m tests.mutation --check lists them"


def test_there_are_enough_different_faults() -> None:
    assert len(FAULTS) >= 175
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)
    assert len(LIVE) >= 0.98 * len(FAULTS)


def test_every_fault_has_a_killer_or_an_argument() -> None:
    assert {fault.name for fault in LIVE} == set(KILLERS), f"run {page.COMMAND}"


def test_killers_exist() -> None:
    for killer in set(KILLERS.values()):
        file, _, test = killer.partition("::")
        assert f"def {test.split('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), killer


def test_the_page_shows_the_figures_that_were_measured() -> None:
    found = page.figures()
    assert page.FILE.read_text(encoding="utf-8") == page.markdown(found), "docs/mutation.md is out of date"
    assert found["listed"]["rooms"].keys() == {fault.room for fault in FAULTS}


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Mutation]:
    """A checkout with one module, one test of what it does, and one test of how it is written."""
    source = tmp_path / "toy"
    region = "# proof-region: twice\ndef twice(x):\n    return 2 * x\n# end-proof-region: twice\n"
    digest = hashlib.sha256(region.encode()).hexdigest()
    pinned = f"""
import hashlib, opendp_topk.room.thing as thing
def test_the_pin():
    assert hashlib.sha256(open(thing.__file__).read().encode()).hexdigest() == {digest!r}
"""
    behaviour = "from opendp_topk.room.thing import twice\ndef test_twice():\n    assert twice(3) == 6\n"
    for path, text in {
        "opendp_topk/__init__.py": "",
        "opendp_topk/room/__init__.py": "",
        "opendp_topk/room/thing.py": region,
        "tests/__init__.py": "",
        "tests/room/test_pin.py": pinned,
        "tests/room/test_thing.py": behaviour,
        "tests/mutation/__init__.py": "",
    }.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    shutil.copy(ROOT / "tests" / "mutation" / "recorder.py", source / "tests" / "mutation" / "recorder.py")
    return Mutation(tmp_path, source=source)


WRONG = Fault("wrong", "", "room/thing.py", "2 * x", "3 * x")
HARMLESS = Fault("harmless", "", "room/thing.py", "2 * x", "x * 2")


@pytest.mark.further
def test_a_test_of_behaviour_kills(toy: Mutation) -> None:
    assert toy.outcome(WRONG).killer == "tests/room/test_thing.py::test_twice"
    assert toy.outcome(WRONG, "tests/room/test_thing.py::test_twice", search=False).killer is not None


@pytest.mark.further
def test_what_pins_alone_notice_survives(toy: Mutation) -> None:
    assert toy.outcome(HARMLESS).survives
    assert toy.unfit(["tests/room/test_pin.py::test_the_pin", "tests/room/test_thing.py::test_twice"]) == [
        "tests/room/test_pin.py::test_the_pin"
    ]


@pytest.mark.further
def test_a_killer_that_no_longer_kills_is_replaced(toy: Mutation) -> None:
    gone = "tests/room/test_thing.py::test_that_is_gone"
    assert toy.outcome(WRONG, gone).killer == "tests/room/test_thing.py::test_twice"
    assert toy.outcome(WRONG, gone, search=False).survives


@pytest.mark.further
def test_the_copy_is_sound_again_afterwards(toy: Mutation) -> None:
    assert toy.outcome(WRONG).killer
    assert toy.outcome(HARMLESS).survives


def test_another_package_than_the_copy_is_an_error(toy: Mutation, tmp_path: Path) -> None:
    copy = toy._free.get()
    shutil.rmtree(copy.root / "opendp_topk")
    shutil.copytree(tmp_path / "toy" / "opendp_topk", copy.root / "elsewhere" / "opendp_topk")
    recorder = copy.root / "tests" / "mutation" / "recorder.py"
    elsewhere = f"import sys\nsys.path.insert(0, {str(copy.root / 'elsewhere')!r})\n"
    recorder.write_text(recorder.read_text().replace("import json\n", elsewhere + "import json\n"))
    with pytest.raises(StrayError):
        outcome_of(copy, ["tests/room/test_thing.py"])


def test_a_fault_whose_text_has_moved_is_an_error(toy: Mutation) -> None:
    moved = Fault("moved", "", "room/thing.py", "5 * x", "6 * x")
    with pytest.raises(MovedError, match="occurs 0 times"):
        toy.outcome(moved)
    many = Fault("many", "", "samplers/race.py", "return", "yield")
    broken = Fault("broken", "", "samplers/race.py", '"""The exact top-k', "The exact top-k")
    lost = Fault("lost", "", "samplers/nowhere.py", "a", "b")
    assert [problem.split(":")[0] for problem in misfits([many, broken, lost], ROOT)] == ["many", "broken", "lost"]


def test_the_control_changes_every_region_and_nothing_else() -> None:
    text = "x = 1\n# proof-region: a\ndef f():\n    return 1\n# end-proof-region: a\ndef g():\n    return 2\n"
    changed = harmless(text)
    assert changed.count("    pass\n") == 1
    assert changed.replace("    pass\n", "").replace("# A comment that changes nothing.\n", "") == text


def test_the_nearest_tests_come_first() -> None:
    assert nearest.files("samplers/race.py", ROOT)[0] == "tests/samplers/test_race.py"
    assert nearest.files("measurements/_grid.py", ROOT)[0] == "tests/measurements/test_grid.py"
    proving = nearest.files("proof/status.py", ROOT)
    assert proving[0] == "tests/proof/test_status.py"
    assert not any(file.startswith(("tests/repo", "tests/golden")) for file in proving)
    assert not any(file.startswith("tests/proof") for file in nearest.files("core/claims.py", ROOT))
    reaching = nearest.files("noises/races/gumbel.py", ROOT, "total = np.full_like(z, 1 / 13)")
    assert "tests/distributions/test_arrivals.py" in reaching[:3]
    assert len(set(reaching)) == len(reaching)


def test_where_nothing_is_known_those_of_importing_modules_come_first(tmp_path: Path) -> None:
    for path, text in {
        "opendp_topk/core/unseen.py": "",
        "opendp_topk/room/user.py": "from ..core.unseen import thing\n",
        "tests/core/test_another.py": "",
        "tests/room/test_user.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert nearest.files("core/unseen.py", tmp_path) == ["tests/room/test_user.py", "tests/core/test_another.py"]


def test_a_line_belongs_to_the_innermost_function() -> None:
    text = "x = 1\nclass A:\n    def f(self):\n        def g():\n            return 2\n        return g\n\ny = 3\n"
    assert [functions.at(text, line) for line in (1, 3, 4, 5, 6, 8)] == [None, None, "A.f", "A.f.g", "A.f", None]


def test_operators_make_up_the_same_faults_again_and_each_is_valid() -> None:
    made = chosen("samplers/subsets.py", 12, seed=3)
    assert made == chosen("samplers/subsets.py", 12, seed=3) != chosen("samplers/subsets.py", 12, seed=4)
    assert len(made) == 12
    assert misfits(made, ROOT) == []
    assert all(fault.old != fault.new for fault in made)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Mutation:
    return Mutation(tmp_path_factory.mktemp("mutation"))


@pytest.mark.mutation
def test_killers_pass_where_nothing_is_wrong(planted: Mutation) -> None:
    assert planted.unfit(sorted(set(KILLERS.values()))) == []


@pytest.mark.mutation
@pytest.mark.parametrize("fault", LIVE, ids=lambda fault: fault.name)
def test_every_fault_is_noticed(fault: Fault, planted: Mutation) -> None:
    assert not planted.outcome(fault, KILLERS.get(fault.name), search=False).survives, fault.what
