"""The plugin for pytest: red and green, shared false alarms, replays, and nothing loaded before it is asked for.

Tries proofs/audit/blackbox.tex.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "audited_project"
TEN = Path(__file__).with_name("ten_claims.py").read_text(encoding="utf-8")
INSTALLED = any(one.name == "dp_audit" for one in metadata.entry_points(group="pytest11"))

MANY = """
import pytest

@pytest.mark.parametrize("n", range(4))
def test_audits(dp_audit, n):
    found = [dp_audit(lambda x: 0, epsilon=1, samples=400, pairs=[(0, 1)]) for _ in range(2)]
    print("risks", *(round(1 / (1 - one.found.estimate.confidence)) for one in found))

def test_other():
    pass
"""
FIXED = """
import pytest

@pytest.fixture
def shown(dp_audit):
    return dp_audit(lambda x: x, epsilon=1, pairs=[(0, 1)])

@pytest.fixture
def hidden(dp_audit):
    return dp_audit(lambda x: 0, epsilon=1, pairs=[(0, 1)])

def test_shown(shown):
    pass

def test_hidden(hidden):
    pass
"""
LAZY = """
import sys

def test_other():
    loaded = [name for name in sys.modules if name.startswith(("numpy", "mpmath", "gmpy2", "opendp_topk."))]
    light = ("opendp_topk.apps.testing", "opendp_topk.core", "opendp_topk.errors")
    assert [name for name in loaded if not name.startswith(light)] == ["opendp_topk.apps"]  # a folder, and no code
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and what was said, where pytest finds plugins by itself, whether or not it does so here.

    Marks that nobody has declared are errors.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    plugin = () if INSTALLED else ("-p", "opendp_topk.apps.testing.plugin")
    options = "-q", "--strict-markers", "--rootdir", str(folder), str(folder)
    asked = [sys.executable, "-m", "pytest", *plugin, *options, *arguments]
    told = {"capture_output": True, "text": True, "timeout": 120, "check": False}
    done = subprocess.run(asked, cwd=folder, env=environment, **told)
    return done.returncode, done.stdout + done.stderr


UNTESTED = """
import pytest

@pytest.mark.dp_audit(epsilon=1)
def test_claim():
    pass
"""
UNKNOWN = """
import pytest

@pytest.mark.dp_audit(eps=1)
def test_claim(dp_audit):
    dp_audit(lambda x: x)
"""
UNNAMED = UNKNOWN.replace("eps=1", "1")
MORE = UNKNOWN.replace("eps=1", "eps=1, dlt=1")
SURER = UNKNOWN.replace("eps=1", "epsilon=1, confidence=0.5")


def project(folder: Path, **files: str) -> Path:
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_example_is_red_and_green_and_a_failure_is_replayed(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", ".*")))
    project(folder)
    code, said = run(folder)
    assert code == 1
    assert "1 failed, 2 passed" in said
    assert "3 claims: 1 refuted, 2 not refuted, 0 not tested; if all claims are true, any is refuted with prob" in said
    assert "pytest.fail" not in said, "the audit has no traceback"
    for fact in ("input: (", "neighbour: (", "event: the release is", "of 10000 times"):
        assert fact in said
    assert re.search(r'pytest "[^"]*::(\w+)" --dp-replay', said)
    code, again = run(folder, "--dp-replay", "-rs")
    assert code == 1
    assert "with probability at most 1e-09" in again
    assert "1 failed, 2 skipped" in again
    assert "nothing to replay: this claim was not refuted in the last run" in again


@pytest.mark.slow
def test_the_probability_of_a_false_alarm_is_shared_alike_by_all_workers(tmp_path: Path) -> None:
    folder = project(tmp_path, test_many=MANY)
    code, said = run(folder, "-s", "--dp-false-alarm", "0.04", "-p", "no:xdist")
    assert code == 0
    assert re.findall(r"risks (\d+) (\d+)", said) == [("200", "400")] * 4
    code, said = run(folder, "-n", "2", "-rP", "--dp-false-alarm", "0.04")
    assert code == 0
    assert re.findall(r"risks (\d+) (\d+)", said) == [("200", "400")] * 4
    code, said = run(folder, "-s", "--dp-false-alarm", "0.04", "-p", "no:xdist", "-k", "2")
    assert re.findall(r"risks (\d+) (\d+)", said) == [("50", "100")]


@pytest.mark.slow
def test_help_explains_the_options(tmp_path: Path) -> None:
    words = " ".join(run(project(tmp_path), "--help")[1].partition("audits of differential privacy:")[2].split())
    assert words.startswith(
        "--dp-quick 4,000 samples an audit --dp-thorough 1,000,000 samples an audit --dp-replay audit again the pairs "
        "that were refuted in the last run, at an error probability of 1e-9 --dp-false-alarm=P maximum probability "
        "that a run refutes any true claim"
    )


@pytest.mark.slow
def test_nothing_is_loaded_before_a_test_asks(tmp_path: Path) -> None:
    code, said = run(project(tmp_path, test_lazy=LAZY))
    assert code == 0, said
    assert "dp_audit" not in said


@pytest.mark.slow
def test_what_a_test_or_a_run_may_not_ask(tmp_path: Path) -> None:
    idle = "import pytest\n@pytest.mark.dp_audit(epsilon=1)\ndef test_idle(dp_audit): pass\n"
    large = "def test_large(dp_audit): dp_audit(lambda x: 0, epsilon=99, pairs=[(0, 1)])\n"
    folder = project(tmp_path, test_idle=idle, test_large=large)
    code, said = run(folder, "-rs", "--dp-quick")
    assert code == 1
    assert "has a claim but no audit" in said
    assert "pytest.fail" not in said
    assert re.search(r"SKIPPED.*not tested: .*4000 samples can never show", said)
    assert "1 claims: 0 refuted, 0 not refuted, 1 not tested" in said
    for wrong, words in (
        (("--dp-false-alarm", "0"), "must be a probability above 0"),
        (("--dp-quick", "--dp-thorough"), "cannot be combined"),
    ):
        code, said = run(folder, *wrong)
        assert (code, words in said) == (4, True)


@pytest.mark.slow
def test_a_claim_that_a_fixture_audits_counts_once(tmp_path: Path) -> None:
    """Also one that is refuted, where the test itself is never called."""
    code, said = run(project(tmp_path, test_fixed=FIXED), "--dp-quick")
    assert code == 1
    assert "1 passed, 1 error" in said
    assert "2 claims: 1 refuted, 1 not refuted, 0 not tested" in said


@pytest.mark.slow
def test_ten_right_claims_are_green(tmp_path: Path) -> None:
    """By the quick mode; ``python -m tests.testing`` says what it takes."""
    code, said = run(project(tmp_path, test_claims=TEN), "--dp-quick", "--color=yes")
    assert code == 0, said
    assert "10 claims: \x1b[31m0 refuted\x1b[0m, \x1b[34m10 not refuted\x1b[0m, \x1b[33m0 not tested\x1b[0m; if" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (UNTESTED, "test_claim: the marker dp_audit states a claim that is not tested: use the fixture dp_audit"),
        (UNKNOWN, "has no argument eps; its arguments are epsilon"),
        (MORE, "has no argument eps;"),
        (UNNAMED, "has named arguments only; its arguments are epsilon"),
        (SURER, "has no argument confidence"),
    ],
    ids=["untested", "unknown", "more", "unnamed", "surer"],
)
def test_a_claim_that_cannot_be_tested_is_an_error_at_collection(text: str, words: str, tmp_path: Path) -> None:
    """Also where no test runs, and before any does."""
    other = "def test_other(): print('it ran')\n"
    for more in ((), ("--collect-only",)):
        code, said = run(project(tmp_path, test_claims=text, test_before=other), *more)
        assert code == 4, said
        assert words in said
        assert "passed" not in said
