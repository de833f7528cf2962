"""What plain ``pytest`` runs: quick tests only, and among them one of every constructor's release, law and map."""

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.combinations import COMBINATIONS
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.processes import printed
from tests.concepts.specimens import Specimen, check_specimen
from tests.concepts.tried import LISTED, specimens_of
from tests.conftest import DAYS, FORGETTING, TRACED, taken_with

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
TIERS = {line.split(":")[0] for line in SETTINGS["markers"] if not line.startswith(("quick(", "untraced:"))}
CONSTRUCTORS = [name for name in tk.__all__ if name.startswith("make_")]


def test_plain_pytest_leaves_out_every_tier_but_the_quick_one() -> None:
    assert {"slow", "further", "browser", "tex", "mutation", "foreign"} == TIERS
    left_out = SETTINGS["addopts"].split('-m "')[1].split('"')[0]
    assert set(left_out.split(" and ")) == {f"not {tier}" for tier in TIERS}


COLLECT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

ABSENT = set(sys.argv[1:])
sys.meta_path.insert(0, Absent())
import pytest
sys.exit(pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "tests"]))
"""


@pytest.mark.slow
def test_all_tests_are_found_with_the_extra_test_alone() -> None:
    """The README's command installs no more: what other extras bring is asked for in tests, not at import."""
    absent = ("pypandoc", "sphinx", "furo", "myst_nb", "ipykernel", "matplotlib", "pyspark", "dp_accounting", "scipy")
    printed("-c", COLLECT, *absent, timeout=300)


@pytest.mark.slow
def test_processes_that_share_the_tests_get_whole_modules() -> None:
    """Else each would make every fixture of a module, and start a Spark of its own."""
    pytest.importorskip("xdist")
    files = ("tests/proof/test_moves.py", "tests/proof/test_status.py", "tests/proof/test_normal.py")
    shared = "-n", "2", "--dist", "loadgroup"
    told = printed("-m", "pytest", "-v", "-p", "no:cacheprovider", *shared, *files, timeout=300)
    ran = set(re.findall(r"^\[(gw\d)\] .* PASSED (\S+?)::", told, re.MULTILINE))
    assert {file for _, file in ran} == set(files)
    assert (len(ran), len({process for process, _ in ran})) == (3, 2)


@pytest.mark.further
def test_no_planted_fault_and_no_other_library_is_tried_with_further_tests() -> None:
    files = ["tests/repo/test_mutation.py", "tests/foreign"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *files]
    chosen = {}
    for kinds in ("further", "further and (mutation or foreign)"):
        done = subprocess.run([*command, "-m", kinds], cwd=ROOT, capture_output=True, text=True, check=False)
        chosen[kinds] = done.returncode
    assert chosen == {"further": 0, "further and (mutation or foreign)": 5}  # 5: none is


@pytest.mark.parametrize("asks", ["(built: Path", "shared_spark.get()"])
def test_what_several_modules_share_is_made_by_one_process(asks: str) -> None:
    """Coq compiles for a minute, and a Spark takes ten seconds to start."""
    others = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__).resolve()]
    asking = [path.relative_to(ROOT).as_posix() for path in others if asks in path.read_text(encoding="utf-8")]
    assert len(asking) > 1
    assert len({taken_with(f"{name}::test") for name in asking}) == 1, asking


def test_what_is_traced_among_slow_tests_is_there() -> None:
    assert [path for path in TRACED if not (ROOT / path).exists()] == []


def test_what_forgets_the_proofs_is_run_last() -> None:
    paths = (ROOT / "tests").rglob("test_*.py")
    tests = [path for path in paths if "proof.clear_cache()" in path.read_text(encoding="utf-8")]
    names = {path.relative_to(ROOT).as_posix() for path in tests} - {Path(__file__).relative_to(ROOT).as_posix()}
    assert names
    assert sorted(name for name in names if not name.startswith(FORGETTING)) == []


@pytest.mark.quick
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_constructor_releases_and_its_law_and_map_hold(name: str, request: pytest.FixtureRequest) -> None:
    assert not TIERS & {mark.name for mark in request.node.iter_markers()}, "plain pytest must run this"
    specimens = specimens_of(name)
    assert specimens
    for specimen in specimens:
        document = getattr(getattr(tk, name), "proof_name", None)
        assert specimen.link.proof.name == document, "built by another constructor"
        check_specimen(specimen)


def test_nothing_is_tried_that_is_not_public() -> None:
    assert set(LISTED) <= set(CONSTRUCTORS)
    assert not set(MECHANISMS) & set(COMBINATIONS)


def test_a_constructor_that_nothing_tries_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LISTED, "make_laplace")
    with pytest.raises(AssertionError, match=r"specimens\(\) in tests/measurements/test_laplace.py"):
        specimens_of("make_laplace")
    monkeypatch.delitem(LISTED, "make_fix_delta")
    with pytest.raises(AssertionError, match="make_fix_delta is tried nowhere"):
        specimens_of("make_fix_delta")


def _altered(**changes: Any) -> Specimen:
    (specimen,) = MECHANISMS["make_exponential_mechanism"]()
    return replace(specimen, **changes)


def test_a_map_or_a_law_that_is_wrong_is_noticed() -> None:
    (right,) = MECHANISMS["make_exponential_mechanism"]()
    with pytest.raises(AssertionError, match="lose more"):
        check_specimen(_altered(claimed=lambda link: link.map(1) * 0.8))
    with pytest.raises(AssertionError, match="idle"):
        check_specimen(_altered(claimed=lambda link: link.map(1) * 2))
    with pytest.raises(AssertionError, match="another law"):
        check_specimen(_altered(law=lambda x: right.law([*x[:2], x[2] + 1e-6])))
    with pytest.raises(AssertionError, match="excludes"):
        check_specimen(_altered(cell=lambda _, x: len(x)))


@pytest.mark.further
def test_in_a_round_of_days_each_slow_test_has_its_turn_once() -> None:
    """Quick tests and those that are :data:`tests.conftest.DAILY` run each day."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m"]
    files = ["tests/samplers/test_gaps.py", "tests/repo/test_wheel.py"]

    def chosen(tier: str, **day: str) -> set[str]:
        environment = {name: value for name, value in os.environ.items() if name != "OPENDP_TOPK_DAY"} | day
        done = subprocess.run([*command, tier, *files], cwd=ROOT, env=environment, capture_output=True, check=True)
        return {line for line in done.stdout.decode().splitlines() if "::" in line}

    every = chosen("not slow and not further") | {name for name in chosen("") if name.startswith(files[1])}
    days = [chosen("", OPENDP_TOPK_DAY=day) for day in map(str, range(20001, 20001 + DAYS))]
    assert all(every <= day for day in days)
    times = Counter(name for day in days for name in day - every)
    assert set(times) == chosen("") - every
    assert set(times.values()) == {1}
    assert max(len(day) for day in days) <= min(len(day) for day in days) + 1
