"""A file of each kind that the library writes is kept beside this test and read: its format does not change unnoticed.

The files were written by earlier states of the library. The digests of proofs in the records are theirs.
"""

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import records
from opendp_topk.apps.planning import release_record
from opendp_topk.apps.planning.several import ReleaseSchedule
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record
from tests.concepts.sentinels import raises_exactly

from ..ledger.workers import costing

record_file: Any = pytest.importorskip("opendp_topk.apps.planning.record_file")

HERE = Path(__file__).parent
VERSIONS = (HERE.parents[1] / "docs" / "versions.md").read_text(encoding="utf-8")
NEIGHBOURS = tk.LInfDistance(monotonic=True)


def kept(name: str, folder: Path) -> Path:
    """A copy of a file that is kept, which a test may write to."""
    return Path(shutil.copyfile(HERE / name, folder / name))


def disagreeing(fields: dict[str, Any], ledger: tk.ledger.Ledger | None = None) -> list[str]:
    """What does not agree, but for proofs, which were read again since the record was made."""
    found = verify_record(fields, ledger)
    return [one.what for one in found if one.verdict == DISAGREES and not one.what.startswith("proof ")]


def test_a_ledger_with_filters_and_planned_releases_is_read_and_goes_on(tmp_path: Path) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), NEIGHBOURS
    with tk.ledger.Ledger(kept("filters.ledger.v1", tmp_path)) as ledger:
        assert ledger.verify() == []
        assert [(one.adds, one.limit, one.alive) for one in ledger.filters()[1:3]] == [
            ("epsilon", 2, True), ("steps", 24, True)
        ]  # fmt: skip
        plan = ledger.planned(2)
        assert plan.left() == ("week 1",)
        plan.release("week 1", [1, 2, 3], space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=10))
        assert (ledger.verify(), ledger.count(), ledger.filters()[2].spent) == ([], 4, 3)


def test_a_ledger_with_a_conversation_is_read_and_goes_on(tmp_path: Path) -> None:
    head = "9-b9056caeb014f0edcc1e6402e042ed28d5c321172de2f5998062cbc0a57b6bec"
    with tk.ledger.Ledger(kept("conversation.ledger.v1", tmp_path)) as ledger:
        assert (ledger.head(), ledger.verify(head), ledger.spent()) == (head, [], 1.35)
        states = [(one.cost, one.state, one.operator) for one in ledger.history()]
        assert states == [
            (0.25, "released", "somebody"), (0.1, "failed", "somebody"), (0.5, "released", "somebody"),
            (0.25, "released", "somebody"), (0.5, "reserved", "somebody"),
        ]  # fmt: skip
        ledger.release(costing(0.5), [1])
        assert (ledger.spent(), ledger.verify(head), ledger.accepted) == (1.85, [], ())
        raises_exactly(tk.errors.QueryError, lambda: ledger.resume(3, [1])(costing(0.25)), "closed")


@pytest.mark.further
def test_a_record_and_the_ledger_that_has_paid_for_it_agree(tmp_path: Path) -> None:
    fields = record_file.read_fields(str(HERE / "release.v1.json"))
    with tk.ledger.Ledger(kept("ledger.v1", tmp_path)) as ledger:
        assert (ledger.user, ledger.person, ledger.stated["purpose"]) == ("visitor", "guest", "a plan of buses")
        units = [(one.d_in, one.at_most, one.shared) for one in ledger.history()]
        assert units == [("1", None, None), ("5", 5, False), ("10", 5, True)]
        assert ledger.verify(fields["ledger"]["head"]) == []
        assert disagreeing(fields, ledger) == []
        found = {one.what: one.verdict for one in verify_record(fields, ledger)}
        assert {found[what] for what in ("fields", "measurement", "entry", "words", "digest")} == {AGREES}


def test_a_record_of_quantiles_is_read() -> None:
    fields = record_file.read_fields(str(HERE / "quantiles.release.v1.json"))
    found = release_record.ReleaseRecord.from_dict(fields)
    assert release_record.quantiles_of(found.mechanism) == (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    numbers = list(map(Fraction, found.released.items))
    assert (len(numbers), numbers) == (3, sorted(numbers))
    assert disagreeing(fields) == []


def test_a_record_of_groups_is_read() -> None:
    fields = record_file.read_fields(str(HERE / "groups.release.v1.json"))
    found = release_record.ReleaseRecord.from_dict(fields)
    sizes = [(group, len(one.items)) for group, one in found.released.group_lists]
    assert sizes == [("Ulm", 2), ("Jena", 2), ("Bonn", 2)]
    assert disagreeing(fields) == []


def test_a_plan_of_several_releases_is_read() -> None:
    fields = json.loads((HERE / "plan.v1.json").read_text("utf-8"))
    schedule = ReleaseSchedule.from_dict(fields)
    assert (schedule.as_dict(), schedule.releases, schedule.question.k) == (fields, 52, 10)
    assert schedule.single_release_plan().scale == fields["scale"]


@pytest.mark.parametrize("other", ["v0", "v2", "v10", "v1 ", "", "v\x1b[31m"])
def test_a_record_of_any_other_version_is_refused(tmp_path: Path, other: str) -> None:
    fields = json.loads((HERE / "release.v1.json").read_text("utf-8"))
    path = tmp_path / "release.json"
    path.write_text(json.dumps({**fields, "format": f"opendp_topk.release.{other}"}), "utf-8")
    words = repr(f"opendp_topk.release.{other}"), f"reads only {release_record.FORMAT}", "the version of opendp_topk"
    raises_exactly(tk.errors.TableError, lambda: record_file.read_fields(str(path)), *words)


def test_every_file_is_of_the_version_that_is_written_and_has_a_row() -> None:
    assert f".v{records.VERSION}" == release_record.FORMAT.removeprefix("opendp_topk.release") == ".v1"
    paths = [path for path in HERE.iterdir() if ".v" in path.name]
    assert all(f"`{path.name}`" in VERSIONS and path.name.removesuffix(".json").endswith(".v1") for path in paths)
    assert len(paths) == 7
