"""Extras that are missing or broken, and what is loaded while a process forks."""

import sys
from pathlib import Path

import pytest

from opendp_topk import errors
from opendp_topk.errors.extras import import_extra

from . import forks

NEED = "lemmas need a solver"


def importable(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(text, encoding="utf-8")


def test_a_module_that_is_there_is_given() -> None:
    assert import_extra("json", NEED, "some") is sys.modules["json"]


def test_what_is_not_installed_is_to_be_installed() -> None:
    with pytest.raises(errors.MissingExtraError) as found:
        import_extra("no_such_extra.part", NEED, "opendp_topk[audit]")
    assert str(found.value) == 'lemmas need a solver: pip install "opendp_topk[audit]"'
    assert isinstance(found.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("from secrets import no_such_name", ImportError),
        ("import no_such_part_of_it", ModuleNotFoundError),
        ("1 / 0", ZeroDivisionError),
    ],
)
def test_an_import_that_fails_is_told_as_what_it_is(
    text: str, cause: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importable(tmp_path, "broken_extra", text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(errors.MissingExtraError, match=r"installed but cannot be imported.*secrets\.py") as found:
        import_extra("broken_extra", NEED, "opendp_topk[audit]")
    assert cause.__name__ in str(found.value)
    assert type(found.value.__cause__) is cause
    assert "pip install" not in str(found.value)


@pytest.mark.further
@pytest.mark.parametrize("load", ["load_names", "load_by_functions", "load_extras"])
def test_a_fork_waits_for_what_another_thread_loads(load: str) -> None:
    assert getattr(forks, load)(4) == ["loaded"] * 4


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "duckdb"])
def test_a_table_in_a_forked_process_is_refused_before_it_is_paid(library: str) -> None:
    for package in ("polars", "narwhals", library):
        pytest.importorskip(package, reason="frames are counted in a child")
    assert forks.count_tables(library, 2) == ["refused before the debit"] * 2
