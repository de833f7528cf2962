"""Planted faults: each fits its file and names its killer, and the tool counts tests of behaviour alone."""

import hashlib
import os
import select
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.concepts.sentinels import raises_exactly
from tests.mutation import by_chance, functions, killers, nearest, operators, page, reached, run
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
    outcome = toy.outcome(WRONG)
    assert (outcome.killer, outcome.slow) == ("tests/room/test_thing.py::test_twice", False)
    assert toy.outcome(WRONG, "tests/room/test_thing.py::test_twice", search=False).killer is not None


@pytest.mark.further
def test_of_a_slow_test_it_is_said(toy: Mutation, tmp_path: Path) -> None:
    test = tmp_path / "toy" / "tests" / "room" / "test_thing.py"
    test.write_text("import pytest\npytestmark = pytest.mark.slow\n" + test.read_text())
    outcome = Mutation(tmp_path / "slow", source=tmp_path / "toy").outcome(WRONG)
    assert (outcome.killer, outcome.slow) == ("tests/room/test_thing.py::test_twice", True)


@pytest.mark.slow
def test_of_a_fault_that_only_a_hash_shows_it_is_said(planted: Mutation) -> None:
    copy = planted._free.get()
    try:
        assert not copy.has_stale_proofs()
        same = Fault("same", "", "spaces/costs.py", "# proof-region: costs\n", "# proof-region: costs\n_UNUSED = 1\n")
        with copy.holding(same):
            assert copy.has_stale_proofs()
    finally:
        planted._free.put(copy)


@pytest.mark.further
def test_what_pins_alone_notice_survives(toy: Mutation) -> None:
    assert toy.outcome(HARMLESS).survives
    assert toy.unfit(["tests/room/test_pin.py::test_the_pin", "tests/room/test_thing.py::test_twice"]) == [
        "tests/room/test_pin.py::test_the_pin"
    ]


@pytest.mark.further
def test_for_the_room_that_reads_pins_tests_of_pins_count(toy: Mutation, tmp_path: Path) -> None:
    """There what notices any edit at all counts no more than elsewhere."""
    source = tmp_path / "toy"
    for folder in ("opendp_topk", "tests"):
        shutil.copytree(source / folder / "room", source / folder / ("proof" if folder == "opendp_topk" else "repo"))
    (source / "tests" / "repo" / "__init__.py").touch()  # or its files would be taken for those of the same names
    for path in (source / "tests" / "repo").glob("*.py"):
        path.write_text(path.read_text().replace("opendp_topk.room", "opendp_topk.proof"))
    pinning = Mutation(tmp_path / "pinning", source=source)
    wrong, harmless = (replace(one, file="proof/thing.py") for one in (WRONG, HARMLESS))
    assert pinning.outcome(wrong).killer == "tests/repo/test_thing.py::test_twice"
    assert pinning.outcome(harmless).survives
    of_pins = "tests/room/test_pin.py::test_the_pin"
    assert pinning.unfit([of_pins]) == [of_pins]
    assert pinning.unfit([of_pins], pinning=True) == []


@pytest.mark.slow
def test_an_endless_test_leaves_it_to_others(toy: Mutation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_LONG", 8.0)
    assert not toy.outcome(WRONG).hung
    waits = "from opendp_topk.room.thing import twice\ndef test_first():\n    while twice(3) != 6:\n        pass\n"
    (tmp_path / "toy" / "tests" / "room" / "test_again.py").write_text(waits)
    found = Mutation(tmp_path / "waiting", source=tmp_path / "toy").outcome(WRONG)
    assert (found.killer, found.hung) == ("tests/room/test_thing.py::test_twice", False)
    (tmp_path / "toy" / "tests" / "room" / "test_thing.py").unlink()
    found = Mutation(tmp_path / "hanging", source=tmp_path / "toy").outcome(WRONG)
    assert (found.killer, found.hung) == (None, True)


@pytest.mark.slow
def test_what_a_test_has_started_ends_with_it(toy: Mutation, tmp_path: Path) -> None:
    """The other process writes into a pipe, which is at its end when nobody can write any more."""
    os.mkfifo(pipe := tmp_path / "pipe")
    writes = (
        f"import time; open({str(pipe)!r}, 'w', 1).write('here\\n'); keep = open({str(pipe)!r}, 'w'); time.sleep(600)"
    )
    starts = f"import subprocess, sys\ndef test_first():\n    subprocess.run([sys.executable, '-c', {writes!r}])\n"
    copy = toy._free.get()
    (copy.root / "tests" / "room" / "test_again.py").write_text(starts)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert outcome_of(copy, ["tests/room/test_again.py"], limit=15.0).endless is not None
    assert os.read(reader, 100) == b"here\n"
    ended, _, _ = select.select([reader], [], [], 30.0)
    assert (bool(ended), os.read(reader, 100)) == (True, b"")
    os.close(reader)


@pytest.mark.further
def test_a_file_that_cannot_be_read_leaves_the_fault_to_others(toy: Mutation, tmp_path: Path) -> None:
    reads = "from opendp_topk.room.thing import twice\nassert twice(3) == 6\ndef test_first():\n    pass\n"
    (tmp_path / "toy" / "tests" / "room" / "test_again.py").write_text(reads)
    found = Mutation(tmp_path / "reading", source=tmp_path / "toy").outcome(WRONG)
    assert found.killer == "tests/room/test_thing.py::test_twice"
    (tmp_path / "toy" / "tests" / "room" / "test_thing.py").unlink()
    found = Mutation(tmp_path / "alone", source=tmp_path / "toy").outcome(WRONG)
    assert found.killer == "tests/room/test_again.py"


@pytest.mark.further
def test_where_the_conftest_cannot_be_read_each_test_fails(toy: Mutation, tmp_path: Path) -> None:
    (tmp_path / "toy" / "tests" / "conftest.py").write_text(
        "from opendp_topk.room.thing import twice\nassert twice(3) == 6\n"
    )
    planted, killer = Mutation(tmp_path / "reading", source=tmp_path / "toy"), "tests/room/test_thing.py::test_twice"
    assert planted.outcome(WRONG, killer, search=False).killer == killer
    assert planted.outcome(HARMLESS, killer, search=False).survives


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
    raises_exactly(StrayError, lambda: outcome_of(copy, ["tests/room/test_thing.py"]))


def test_a_fault_whose_text_has_moved_is_an_error(toy: Mutation) -> None:
    moved = Fault("moved", "", "room/thing.py", "5 * x", "6 * x")
    raises_exactly(MovedError, lambda: toy.outcome(moved), "occurs 0 times")
    many = Fault("many", "", "sampling/samplers/race.py", "return", "yield")
    broken = Fault("broken", "", "sampling/samplers/race.py", '"""The exact top-k', "The exact top-k")
    lost = Fault("lost", "", "samplers/nowhere.py", "a", "b")
    assert [problem.split(":")[0] for problem in misfits([many, broken, lost], ROOT)] == ["many", "broken", "lost"]


def test_the_control_changes_every_region_and_nothing_else() -> None:
    text = "x = 1\n# proof-region: a\ndef f():\n    return 1\n# end-proof-region: a\ndef g():\n    return 2\n"
    changed = harmless(text)
    assert changed.count("    pass\n") == 1
    assert changed.replace("    pass\n", "").replace("# A comment that changes nothing.\n", "") == text


def test_the_nearest_tests_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nearest.files("sampling/samplers/race.py", ROOT)[0] == "tests/samplers/test_race.py"
    text = (ROOT / "opendp_topk" / "markup" / "foreign.py").read_text(encoding="utf-8")
    spans = functions.functions(text)
    here, other = (str(spans[name][0]) for name in ("json_text", "spreadsheet_cell"))
    mine = "tests/markup/test_foreign.py::test_"
    quick, slow, there, gone = f"{mine}pages_escape", "tests/cli/test_show.py::x", "tests/repo/test_note.py::x", mine
    ran = {here: [slow, quick, there], other: [gone]}
    monkeypatch.setattr(reached, "FILE", tmp_path / "reached.json")
    reached._read.cache_clear()
    reached.write({"markup/foreign.py": ran}, {slow: 2.0, quick: 0.1, there: 0.01, gone: 1.0})
    line = text.splitlines()[int(here) - 1]
    assert reached.tests_of("markup/foreign.py", text, line) == [quick, slow]
    assert reached.files_of("markup/foreign.py")[0] == "tests/markup/test_foreign.py"
    monkeypatch.undo()
    reached._read.cache_clear()
    faults = by_chance.drawn("markup", 20, 1)
    found = [nearest.tests(one.file, ROOT, one.old) for one in faults]
    assert sum(map(bool, found)) >= 15
    assert all((ROOT / one.partition("::")[0]).is_file() for tests in found for one in tests)
    assert nearest.files("measurements/quantiles.py", ROOT)[0] == "tests/measurements/test_quantiles.py"
    assert nearest.files("apps/audit/html/report.py", ROOT)[0] == "tests/audit/test_html.py"
    assert "tests/combinators/test_queryable.py" in nearest.files("core/queryable.py", ROOT)[:6]
    assert "tests/errors/test_ordinary.py" in nearest.files("errors/files.py", ROOT)[:6]
    proving = nearest.files("proof/status.py", ROOT)
    assert proving[0] == "tests/proof/test_status.py"
    assert "tests/repo/test_proofs.py" in proving
    assert not any(file.startswith("tests/golden") for file in proving)
    assert not any(file.startswith(("tests/proof", "tests/repo")) for file in nearest.files("core/claims.py", ROOT))
    reaching = nearest.tests("sampling/noises/gumbel.py", ROOT, "total = np.full_like(z, 1 / 13)")
    assert any(test.startswith("tests/distributions/") for test in reaching)
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
    made = chosen("sampling/samplers/subsets.py", 12, seed=3)
    assert (
        made == chosen("sampling/samplers/subsets.py", 12, seed=3) != chosen("sampling/samplers/subsets.py", 12, seed=4)
    )
    assert len(made) == 12
    assert misfits(made, ROOT) == []
    assert all(fault.old != fault.new for fault in made)


@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ("if x < 0:\n        raise ValueError", "if False:\n        raise ValueError"),
        ("return [y for y in x if y]", "return [y for y in x if True]"),
        ("with lock:\n        x()", "if True:\n        x()"),
        ("return x.copy()", "return x"),
        ("return list(x)", "return (x)"),
        ("return g(x, k=1, size=2)", "return g(x, k=1)"),
    ],
)
def test_operators_leave_out_what_is_easily_forgotten(sound: str, faulty: str) -> None:
    begin = "def f(x, lock=None, g=None):\n    "
    module = operators.Module("room/thing.py", f"{begin}{sound}\n")
    made = [module.fault("", one).planted(module.text) for one in operators.edits(module)]
    assert f"{begin}{faulty}\n" in made


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
