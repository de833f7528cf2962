"""In a thread that flushes subnormal floats to zero nothing is released, and elsewhere nothing changes.

A tiny library sets the mode in processes of their own. Without the refusal the law would be another: a release that
prefers one of two subnormal scores by e^4 would choose between them as by a fair coin.
"""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opendp_topk.errors import PlatformError
from opendp_topk.numerics import floats as subnormals
from opendp_topk.numerics.floats import require_subnormals
from opendp_topk.sampling.noises import Exponential, Gumbel, HalfLogistic, Laplace, Logistic
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.samplers.quantile_tables import quantile_table

RESULTS, ARGUMENTS = 0x8000, 0x0040
MODES = {"results": RESULTS, "arguments": ARGUMENTS, "both": RESULTS | ARGUMENTS}
SOURCE = """
#include <xmmintrin.h>
void set_mode(unsigned bits) { _mm_setcsr((_mm_getcsr() & ~0x8040u) | bits); }
unsigned mode(void) { return _mm_getcsr() & 0x8040u; }
"""
HEAD = """
import ctypes, sys, threading
import opendp_topk as tk
library, bits = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])

def refused(call):
    try:
        call()
    except tk.errors.PlatformError as error:
        assert "nothing was released" in str(error)
        return True
    return False

floats = tk.VectorDomain(tk.AtomDomain(float))
integers = tk.VectorDomain(tk.AtomDomain(int))
least, normal = 2.0**-1074, 2.0**-1022
apart, near = [0.0, 4 * least], [normal, 2 * normal - least]

def share(measurement, x, n=1600):
    return sum(int(measurement(x)[0]) for _ in range(n)) / n
"""
NEEDED = "setting the mode needs a C compiler and an x86 processor"


@pytest.fixture(scope="module")
def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(NEEDED)
    return found


@pytest.fixture(scope="module")
def library(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(compiler, tmp_path_factory.mktemp("mode"), SOURCE)


def built(compiler: str, folder: Path, source: str, *options: str) -> Path:
    (folder / "code.c").write_text(source)
    path = folder / "code.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *options, "-o", path, folder / "code.c"], check=True)
    return path


def run(library: Path, bits: int, script: str, *more: str) -> None:
    """``script`` in a process of its own; the library is loaded there, and sets no mode by itself."""
    arguments = [sys.executable, "-c", HEAD + script, str(library), str(bits), *more]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.quick(bits=RESULTS | ARGUMENTS)
@pytest.mark.parametrize("bits", MODES.values(), ids=MODES)
def test_every_kind_of_release_is_refused_and_none_afterwards(library: Path, bits: int) -> None:
    run(
        library,
        bits,
        """
measure, gumbel, three = tk.MaxDivergence(), tk.noise.Gumbel(), [1.0, 2.0, 3.0]
ranges = floats, tk.RangeDistance()
counts = integers, tk.LInfDistance(monotonic=True)
cases = [
    (ranges >> tk.then_report_noisy_top_k(measure, k=1, scale=1.0), three),
    (ranges >> tk.then_report_noisy_top_k(measure, k=1, scale=0), three),
    (ranges >> tk.then_canonical_top_k(measure, k=1, scale=1.0), three),
    (ranges >> tk.then_joint_top_k(measure, k=2, scale=1.0), three),
    (ranges >> tk.then_peeled_top_k(measure, k=2, scale=1.0, mechanism="permute_and_flip"), three),
    (ranges >> tk.then_noisy_top_k_with_gaps(measure, k=1, scale=1.0), three),
    (counts >> tk.then_report_noisy_top_k(measure, k=1, scale=1.0), [1, 2, 3]),
    (counts >> tk.then_canonical_top_k(measure, k=1, scale=1.0), [1, 2, 3]),
    (counts >> tk.then_joint_top_k(measure, k=2, scale=1.0), [1, 2, 3]),
    (counts >> tk.then_noisy_top_k_with_gaps(measure, k=1, scale=1.0), [1, 2, 3]),
    (counts >> tk.then_select_then_count(measure, k=1, scale=1.0), [1, 2, 3]),
    ((integers, tk.L1Distance()) >> tk.then_laplace(measure, scale=1.0), [1, 2, 3]),
]
talk = counts >> tk.then_adaptive_composition(measure, d_in=1, d_mids=[2.0])
queryable, query = talk([1, 2, 3]), counts >> tk.then_permute_and_flip(measure, scale=1.0)
assert not any(refused(lambda: one(value)) for one, value in cases)
library.set_mode(bits)
assert library.mode() == bits
assert [refused(lambda: one(value)) for one, value in cases] == [True] * len(cases)
assert refused(lambda: cases[0][0].distribution(three))
assert refused(lambda: queryable(query))
library.set_mode(0)
assert not any(refused(lambda: one(value)) for one, value in cases)
""",
    )


@pytest.mark.parametrize("bits", MODES.values(), ids=MODES)
def test_finalists_of_others_are_not_compared_and_no_table_is_kept_for_others(library: Path, bits: int) -> None:
    run(
        library,
        bits,
        """
import numpy as np
from fractions import Fraction
from opendp_topk.sampling.samplers import merge
from opendp_topk.sampling.samplers.quantile_tables import quantile_table
race = merge.Race(Fraction(normal), tk.noise.Gumbel(), 1, 1, True)
parts = [merge.select_part_finalists([place], np.array([score]), race) for place, score in enumerate(near)]
joined = merge.merge_finalists(parts, merge.Race(Fraction(normal), tk.noise.Gumbel(), 2, 1, True))
calls = (
    lambda: merge.merge_finalists(parts, race),
    lambda: merge.finish_race(joined, race),
    lambda: quantile_table(tk.noise.Laplace()),
)
library.set_mode(bits)
assert [refused(call) for call in calls] == [True, True, True]
library.set_mode(0)
assert [refused(call) for call in calls] == [False, False, False]
""",
    )


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "scores"), [("results", "near"), ("arguments", "apart"), ("both", "apart")])
def test_the_law_of_subnormal_scores_holds_or_nothing_is_released(library: Path, mode: str, scores: str) -> None:
    """The better of two scores that are 4 scales (almost 1 scale) apart wins with probability 0.982 (0.731).

    Unguarded, a thread that flushes would choose either with probability 1/2.
    """
    run(
        library,
        MODES[mode],
        """
import opendp_topk.sampling.samplers.entropy as entropy
import opendp_topk.spaces.domains as domains
x, scale, won = (near, normal, 0.731) if sys.argv[3] == "near" else (apart, least, 0.982)
best = (floats, tk.RangeDistance()) >> tk.then_report_noisy_top_k(tk.RangeDivergence(), k=1, scale=scale)
assert abs(share(best, x) - won) < 0.08
library.set_mode(bits)
assert refused(lambda: best(x))
entropy.require_subnormals = domains.require_subnormals = lambda: None
flushed = share(best, x)
library.set_mode(0)
assert abs(flushed - 0.5) < 0.08, flushed
assert abs(share(best, x) - won) < 0.08
""",
        scores,
    )


@pytest.mark.slow
def test_only_the_thread_that_flushes_is_refused(library: Path) -> None:
    run(
        library,
        RESULTS | ARGUMENTS,
        """
best = (floats, tk.RangeDistance()) >> tk.then_report_noisy_top_k(tk.RangeDivergence(), k=1, scale=least)
found, ready, done = {}, threading.Event(), threading.Event()

def flushing():
    library.set_mode(bits)
    found["flushing"] = refused(lambda: best(apart))
    ready.set()
    done.wait(60)

thread = threading.Thread(target=flushing)
thread.start()
assert ready.wait(60)
found["other"] = share(best, apart)
done.set()
thread.join()
assert found["flushing"] and found["other"] > 0.93, found
""",
    )


@pytest.mark.slow
def test_a_library_built_with_fast_math_is_noticed(compiler: str, library: Path, tmp_path: Path) -> None:
    """Older compilers link such libraries with code that sets the mode when they are loaded."""
    fast = built(compiler, tmp_path, "int nothing;", "-ffast-math")
    run(
        library,
        0,
        """
best = (integers, tk.LInfDistance(monotonic=True)) >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=1.0)
assert not refused(lambda: best([1, 2]))
ctypes.CDLL(sys.argv[3])
assert refused(lambda: best([1, 2])) == (library.mode() != 0)
""",
        str(fast),
    )


@pytest.mark.parametrize("constant", ["_LEAST_NORMAL", "_LEAST", "_NUMPY_LEAST_NORMAL", "_NUMPY_LEAST"])
def test_constants_flushed_when_compiled_are_noticed(constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_subnormals()
    monkeypatch.setattr(subnormals, constant, 0 * getattr(subnormals, constant))
    with pytest.raises(PlatformError, match="nothing was released"):
        require_subnormals()


@pytest.mark.parametrize("noise", [Gumbel(), Exponential(), HalfLogistic(), Laplace(), Logistic()], ids=repr)
def test_tables_that_all_threads_share_hold_nothing_that_could_be_flushed(noise: Noise) -> None:
    made = quantile_table(noise)
    for ends in (made.lower, made.upper, made.tail):
        assert np.all((np.abs(ends) >= 2.0**-1022) | (np.abs(ends) <= 2.0**-1070))
