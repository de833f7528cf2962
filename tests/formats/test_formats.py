"""What older states of the library wrote is read, or told in one line: a file of each format lies beside this test.

``ledger.v1.sqlite``, ``ledger.v2`` and the two records were written by the code that wrote their format first.
"""

from __future__ import annotations

import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import ledger as copies
from opendp_topk.apps.ledger import records
from opendp_topk.apps.ledger import stated as units
from opendp_topk.apps.planning import release_record

HERE = Path(__file__).parent
VERSIONS = (HERE.parents[1] / "docs" / "versions.md").read_text(encoding="utf-8")
NEIGHBOURS = tk.LInfDistance(monotonic=True)


def kept(name: str, folder: Path) -> Path:
    """A copy of a file that is kept, which a test may write to."""
    return Path(shutil.copyfile(HERE / name, folder / name))


def test_the_first_ledger_of_this_format_is_read_and_goes_on(tmp_path: Path) -> None:
    with tk.Ledger(kept("ledger.v2", tmp_path)) as ledger:
        assert (ledger.verify(), ledger.spent(), ledger.remaining()) == ([], 1.0, 1.0)
        assert [(one.cost, one.state) for one in ledger.history()] == [(0.5, "released")] * 2
        with ledger.reserve(cost=0.25) as paid:
            paid.settle()
        assert (ledger.verify(), ledger.spent()) == ([], 1.25)


def test_the_first_ledger_with_filters_and_planned_releases_is_read_and_goes_on(tmp_path: Path) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), NEIGHBOURS
    with tk.Ledger(kept("filters.ledger.v3", tmp_path)) as ledger:
        assert ledger.verify() == []
        assert [(one.adds, one.limit, one.alive) for one in ledger.filters()[1:]] == [
            ("epsilon", 2, True), ("steps", 24, True)
        ]  # fmt: skip
        plan = ledger.planned(2)
        assert plan.left() == ("week 1",)
        plan.release("week 1", [1, 2, 3], space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=10))
        assert (ledger.verify(), ledger.count(), ledger.filters()[2].spent) == ([], 4, 3)


def test_a_ledger_of_the_first_format_is_taken_over_with_all_that_was_spent(tmp_path: Path) -> None:
    old, new = kept("ledger.v1.sqlite", tmp_path), tmp_path / "new.ledger"
    with pytest.raises(tk.LedgerError, match="ledger migrate"):
        tk.Ledger(old)
    copies.migrate(old, new, units.Unit.of("votes", NEIGHBOURS, 1))
    with tk.Ledger(new) as ledger:
        assert (ledger.verify(), ledger.spent(), ledger.remaining()) == ([], 1.0, 1.0)
        assert len(ledger.history()) == 2


def test_the_first_record_of_this_format_is_read() -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    found = record_file.read_record(str(HERE / "release.v2.json"))
    assert (found.released.items, found.claim.d_out) == (["Emma", "Ulysses"], 1.0)
    assert found.mechanism["loss"] == "margin"  # as make_canonical_top_k called its utility then


def test_the_first_record_with_a_digest_is_read_and_is_the_one_of_its_ledger(tmp_path: Path) -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    fields = record_file.read_fields(str(HERE / "release.v3.json"))
    with tk.Ledger(kept("sealed.ledger.v2", tmp_path)) as ledger:
        assert ledger.history()[0].record == release_record.digest_of(fields)
        assert ledger.verify(fields["ledger"]["head"]) == []


@pytest.mark.further
def test_the_first_record_and_ledger_that_say_who_a_person_is_agree(tmp_path: Path) -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    from opendp_topk.apps.planning.verification import DISAGREES, verified

    fields = record_file.read_fields(str(HERE / "release.v4.json"))
    with tk.Ledger(kept("ledger.v3", tmp_path)) as ledger:
        assert (ledger.user, ledger.person, ledger.stated["purpose"]) == ("visitor", "guest", "a plan of buses")
        assert [(one.d_in, one.at_most, one.shared) for one in ledger.history()] == [
            ("1", None, None),
            ("5", 5, False),
            ("10", 5, True),
        ]
        found = {one.what: one.verdict for one in verified(fields, ledger)}
        assert DISAGREES not in found.values()
        assert "words" in found, "what people said of it is held against the ledger, as in later records"
        assert ledger.history()[0].record == release_record.digest_of(fields)


def test_the_first_record_of_a_quantile_holds_the_very_number() -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    from opendp_topk.apps.planning.verification import DISAGREES, verified

    fields = record_file.read_fields(str(HERE / "release.v5.json"))
    found = record_file.read_record(str(HERE / "release.v5.json"))
    assert (found.quantiles, found.released.items, Fraction(found.released.items[0])) == (
        (Fraction(9, 10),), ["-0.75"], Fraction(-3, 4)
    )  # fmt: skip
    found_of_today = {one.what: one.verdict for one in verified(fields) if not one.what.startswith("proof ")}
    assert DISAGREES not in found_of_today.values(), "proofs were read again since then"


def test_the_first_record_of_several_quantiles_is_read() -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    from opendp_topk.apps.planning.verification import DISAGREES, verified

    fields = record_file.read_fields(str(HERE / "release.v6.json"))
    found = record_file.read_record(str(HERE / "release.v6.json"))
    assert found.quantiles == (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    numbers = list(map(Fraction, found.released.items))
    assert (len(numbers), numbers) == (3, sorted(numbers))
    found_of_today = {one.what: one.verdict for one in verified(fields) if not one.what.startswith("proof ")}
    assert DISAGREES not in found_of_today.values(), "proofs were read again since then"


def test_the_first_record_of_groups_is_read() -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    from opendp_topk.apps.planning.verification import DISAGREES, verified

    fields = record_file.read_fields(str(HERE / "release.v7.json"))
    found = record_file.read_record(str(HERE / "release.v7.json"))
    assert [(group, len(one.items)) for group, one in found.released.lists] == [("Ulm", 2), ("Jena", 2), ("Bonn", 2)]
    found_of_today = {one.what: one.verdict for one in verified(fields) if not one.what.startswith("proof ")}
    assert DISAGREES not in found_of_today.values(), "proofs were read again since then"


def test_a_record_from_before_is_told_in_one_line() -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    with pytest.raises(tk.TableError, match=r"another format than opendp_topk\.release\.v7") as caught:
        record_file.read_record(str(HERE / "release.v1.json"))
    assert "\n" not in str(caught.value)


def test_a_ledger_and_a_record_from_before_digests_are_held_against_each_other(tmp_path: Path) -> None:
    record_file = pytest.importorskip("opendp_topk.apps.cli.record_file")
    from opendp_topk.apps.planning.verification import AGREES, UNKNOWN, verified

    fields = record_file.read_fields(str(HERE / "paid.v2.json"))
    with tk.Ledger(kept("paid.ledger.v2", tmp_path)) as ledger:
        found = {one.what: one.verdict for one in verified(fields, ledger)}
        assert ledger.history()[0].record is None
    assert {found[what] for what in ("fields", "measurement", "cost", "ledger", "entry", "debit")} == {AGREES}
    assert set(found.values()) == {AGREES, UNKNOWN}, "other sources of this version are no disagreement"
    assert {found[what] for what in ("digest", "what was released")} == {UNKNOWN}


def test_every_format_has_a_file_and_a_row() -> None:
    assert max(int(one) for one in re.findall(r"ledger\.v(\d+)", " ".join(map(str, HERE.iterdir())))) == records.VERSION
    assert json.loads((HERE / "release.v7.json").read_text("utf-8"))["format"] == release_record.FORMAT
    for path in HERE.iterdir():
        if ".v" in path.name:
            assert f"`{path.name}`" in VERSIONS
