"""Chains keep their types: mypy accepts right user code, and names what is wrong on the wrong lines."""

import inspect
import itertools
import re
import subprocess
import sys
import typing
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.combinators import conversions
from opendp_topk.core.partials import require_fitting_call
from opendp_topk.core.public_names import NAMESPACES
from tests.concepts.sentinels import raises_exactly

USER_CODE = Path(__file__).with_name("typed_user_code.py")
ROOT = Path(__file__).resolve().parents[2]
VECTORS, SCORES = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
WRONG = re.compile(r"# wrong: ([a-z-]+)$")


@pytest.mark.slow
def test_mypy_accepts_right_lines_and_no_wrong_one() -> None:
    """In a process of its own: what mypy reads would be kept in this one, and looked through for garbage."""
    pytest.importorskip("mypy", reason="mypy is not installed (extra dev)")
    lines = USER_CODE.read_text(encoding="utf-8").splitlines()
    wrong = {(at, mark[1]) for at, line in enumerate(lines, 1) if (mark := WRONG.search(line))}
    options = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, "--show-error-codes", str(USER_CODE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    errors = re.findall(r"^[^\n:]*typed_user_code\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    assert {(int(at), kind) for at, kind in errors} == wrong, done.stdout
    assert len(wrong) == 19
    assert 'Unexpected keyword argument "kk"' in done.stdout


@pytest.mark.parametrize("name", ["make_report_noisy_top_k", "then_report_noisy_top_k"])
def test_an_unknown_keyword_is_named_before_what_is_missing(name: str) -> None:
    given = [VECTORS, SCORES, tk.MaxDivergence()][-3 if name.startswith("make_") else -1 :]
    for positional, options, *fragments in [
        ([], {"kk": 2, "scale": 1.0}, f"there is no argument 'kk' (did you mean 'k'?); its signature is {name}("),
        ([], {"k": 2, "scale": 1.0, "zzz": 0}, "there is no argument 'zzz'; its signature"),
        ([], {"scale": 1.0}, "missing a required", "'k'"),
        ([2, 1.0], {}, "too many positional arguments"),
        ([], {"k": 2, "scale": 1.0, "negate": True}, "(did you mean 'optimize'?)"),
    ]:
        call = partial(getattr(tk, name), *given, *positional, **options)
        raises_exactly(tk.errors.ParameterTypeError, call, f"{name}: ", *fragments)


@pytest.mark.parametrize("name", [name for name in tk.__all__ if name.startswith(("make_", "then_"))])
@pytest.mark.filterwarnings("ignore::opendp_topk.errors.ExperimentalWarning")
def test_every_constructor_names_an_unknown_keyword(name: str) -> None:
    made = (VECTORS, SCORES) >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=1.0)
    first = [made] if name in dir(conversions) else []
    said = f"{name}: there is no argument 'zzz'; its signature is {name}("
    raises_exactly(tk.errors.ParameterTypeError, lambda: getattr(tk, name)(*first, zzz=0), said)


@pytest.mark.parametrize("signature", ["a, b=1, *, c, d=2", "a, /, b=1", "a, *, b=1, **c", "a, /, b, *c"])
def test_a_call_is_accepted_if_it_binds(signature: str) -> None:
    function = eval(f"lambda {signature}: 0")
    for given, mask in itertools.product(range(4), range(32)):
        options = {name: 0 for place, name in enumerate("abcde") if mask >> place & 1}
        try:
            require_fitting_call(function, (0,) * given, options)
            fits = True
        except tk.errors.ParameterTypeError:
            fits = False
        try:
            function(*(0,) * given, **options)
        except TypeError:
            assert not fits
        else:
            assert fits


def test_type_hints_of_public_names_can_be_read() -> None:
    """As documentation and dependency injection read them, where no extra need be loaded."""
    spaces = [getattr(tk, space) for space in NAMESPACES]
    for found in [getattr(space, name) for space in (tk, *spaces) for name in space.__all__]:
        methods = [one for one in vars(found).values() if inspect.isfunction(one)] if isinstance(found, type) else []
        for one in [found, *methods]:
            if callable(one):
                typing.get_type_hints(one)


# The library says which version runs.


def test_the_version_is_the_installed_one() -> None:
    assert tk.__version__ == metadata.version("opendp_topk")
    assert "__version__" in dir(tk)


def test_sources_that_nobody_installed_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert tk.__version__ == "unknown"
