"""Releases of other libraries, in turns with this one's of the same scores by a mechanism of the same law.

diffprivlib pins what it needs, so it answers from an environment of its own, as the tests of other libraries do.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

import opendp_topk as tk

from .bench import Bench
from .shapes import ranking
from .timing import thread

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / ".venv-foreign" / "bin" / "python"
_CHILD = Path(__file__).with_name("diffprivlib_child.py")
_MECHANISMS = {"Exponential": tk.then_exponential_mechanism, "PermuteAndFlip": tk.then_permute_and_flip}
_TURNS = 3
Ask = Callable[..., tuple[list[int], float]]


def benches(foreign: Path = FOREIGN) -> Iterator[Bench]:
    """Those of the libraries that are there; of the others the command says how to get them."""
    yield from against_opendp()
    yield from against_diffprivlib(foreign)


def against_opendp(d: int = 10**5, k: int = 10) -> Iterator[Bench]:
    """Top-k by exponential noise, on integers of two widths: its time depends on them."""
    try:
        import opendp.prelude as dp
    except ImportError:
        print("opendp is not installed (extra bench): its rows are left out")
        return
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    theirs = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=10.0)
    for width in (10**3, 10**6):
        x = np.random.default_rng(1).integers(0, width, d).astype(np.float64)
        name = f"opendp make_noisy_top_k, d = {d}, k = {k}, integers below {width:,}"
        yield Bench(name, thread(partial(ranking(x, k), x)), {"opendp": thread(partial(theirs, x))}, _TURNS)


def against_diffprivlib(foreign: Path) -> Iterator[Bench]:
    """One winner at epsilon 1, by both of its mechanisms of selection."""
    with diffprivlib(foreign) as ask:
        if ask is None:
            return
        for d in (10**3, 10**5):
            x = np.random.default_rng(2).uniform(0, 100, d)
            space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance()
            for mechanism, then in _MECHANISMS.items():
                own = thread(partial(space >> then(tk.MaxDivergence(), scale=2.0), x))
                asked = mechanism, {"epsilon": 1.0, "utility": x.tolist()}, 1
                peer = {"diffprivlib": lambda asked=asked: ask(*asked)[1]}
                yield Bench(f"diffprivlib {mechanism}, d = {d}, k = 1", own, peer, 3 * _TURNS)


@contextmanager
def diffprivlib(foreign: Path = FOREIGN) -> Iterator[Ask | None]:
    """Requests to diffprivlib (see its child); None, after a message, if it is not installed."""
    for python in dict.fromkeys((str(foreign), sys.executable)):
        if not Path(python).is_file():
            continue
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([python, str(_CHILD)], text=True, bufsize=1, **pipes) as child:
            if _lines(child.stdout).readline().strip() == "0.6.6":
                yield partial(_ask, child)
                return
    print("diffprivlib 0.6.6 is not installed: its rows are left out. They need an environment of their own:")
    print("  python3 -m venv .venv-foreign && .venv-foreign/bin/pip install -e '.[foreign]'")
    yield None


def _ask(child: subprocess.Popen[str], *request: Any) -> Any:
    _lines(child.stdin).write(json.dumps(request) + "\n")
    return json.loads(_lines(child.stdout).readline())


def _lines(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
