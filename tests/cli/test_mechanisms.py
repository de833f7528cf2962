"""The table of mechanisms: every one plans and releases, and a wrong one is refused with what to change."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from opendp_topk.apps.planning.catalogue import Mechanism, all_mechanisms
from opendp_topk.apps.planning.release_record import plain_value

from .command import record_of
from .conftest import CANDIDATES, LOANS, Command, Library

EXACT = 10**6
BEST = sorted(CANDIDATES, key=lambda book: -LOANS.get(book, 0))
NAMES = [row.name for row in all_mechanisms()]
ROWS = [(row, release) for row in all_mechanisms() for release in row.releases]


def _constructor(row: Mechanism) -> str:
    return str(row.loaded_constructor.__name__).replace("then_", "")


def test_names_are_distinct_and_defaults_exist() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {"report_noisy_top_k", "canonical"} <= set(NAMES)


@pytest.mark.further
@pytest.mark.quick(target="epsilon")
@pytest.mark.parametrize("target", ["epsilon", "rho"])
@pytest.mark.parametrize(("row", "release"), ROWS, ids=lambda part: getattr(part, "name", part))
def test_every_mechanism_plans_and_releases(
    command: Command, library: Library, row: Mechanism, release: str, target: str
) -> None:
    k = min(row.most or 3, 3)
    options = f"--{target}", EXACT, "--release", release, "--mechanism", row.name
    options = (*options, "--max-items", 6) if row.few else options
    if row.options.get("gaussian") and target == "epsilon":
        command("plan", "--k", k, "--candidates", 6, *options).complains(2, "give --delta, too, or --rho")
        return
    plan = command("plan", "--k", k, "--candidates", 6, *options)
    assert (plan.code, plan.err) == (0, "")
    assert plan.field("mechanism").startswith(f"{row.name} (")
    assert "{" not in plan.out
    assert f"measurements/{_constructor(row)} (" in plan.field("proof")
    cost = float(plan.field("cost").split()[2])
    record = record_of(command(*library.release(*options, "--out", "-", k=k)).out)
    wanted = BEST[:k] if release == "ranking" else [book for book in CANDIDATES if book in BEST[:k]]
    assert record["items"] == wanted
    assert (record["release"], record["mechanism"]["mechanism"]) == (release, _constructor(row))
    assert record["d_out"] <= min(cost, EXACT)
    assert cost <= record["d_out"] * (1 + 1e-11)
    assert "counts" not in record


@pytest.mark.slow
def test_the_options_of_a_row_reach_its_constructor(command: Command, library: Library) -> None:
    def mechanism(name: str, release: str) -> dict[str, Any]:
        options = "--epsilon", EXACT, "--release", release, "--mechanism", name, "--out", "-"
        found: dict[str, Any] = record_of(command(*library.release(*options)).out)["mechanism"]
        return found

    noises = {name: mechanism(name, "set")["noise"] for name in NAMES if name.startswith("report_noisy_top_k_")}
    assert len(set(noises.values())) == 5
    for name, noise in noises.items():
        assert name == "report_noisy_top_k_" + ("half_logistic" if noise == "HalfLogistic" else noise.lower())
    canonical = mechanism("canonical", "set")
    assert (canonical["noise"], canonical["gamma"], canonical["utility"]) == ("Gumbel", 0.5, "margin")
    assert mechanism("canonical_exponential", "set")["noise"] == "Exponential"
    assert mechanism("peeled_exponential", "ranking")["choice"] == "exponential"
    assert mechanism("peeled_permute_and_flip", "ranking")["choice"] == "permute_and_flip"


@pytest.mark.further
def test_defaults(command: Command, library: Library) -> None:
    def mechanism(*options: object) -> str:
        record = record_of(command(*library.release("--epsilon", EXACT, "--out", "-", *options)).out)
        return str(record["mechanism"]["mechanism"])

    assert mechanism() == "report_noisy_top_k"
    assert mechanism("--release", "set") == "canonical_top_k"
    assert mechanism("--counts") == mechanism("--counts", "--release", "set") == "select_then_count"


def test_an_unknown_name_lists_the_names(command: Command, library: Library) -> None:
    for arguments in (
        ("plan", "--k", 2, "--candidates", 9, "--epsilon", 1, "--mechanism", "zyxwv"),
        library.release("--epsilon", 1, "--mechanism", "zyxwv"),
    ):
        command(*arguments).complains(2, "--mechanism must be one of", *NAMES)


@pytest.mark.further
@pytest.mark.parametrize(
    ("options", "fragments", "others"),
    [
        (("--mechanism", "canonical"), ("canonical cannot", "use --release set, or"), ("report_noisy_top_k_laplace",)),
        (("--mechanism", "peeled_exponential", "--release", "set"), ("use --release ranking, or",), ("canonical",)),
        (("--mechanism", "exponential_mechanism"), ("use --k 1, or",), ("peeled_exponential",)),
        (("--mechanism", "permute_and_flip", "--release", "set"), ("use --k 1, or",), ("canonical_exponential",)),
        (("--mechanism", "canonical", "--counts", "--release", "set"), ("leave --counts out, or",), ("report_noisy",)),
        (("--mechanism", "report_noisy_top_k_gumbel", "--counts"), ("leave --counts out, or",), ("report_noisy",)),
        (("--mechanism", "histogram_laplace"), ("give --max-items",), ("report_noisy_top_k",)),
        (("--mechanism", "noisy_top_k_with_gaps", "--counts"), ("leave --counts out, or",), ("report_noisy_top_k",)),
        (("--mechanism", "noisy_top_k_with_gaps", "--release", "set"), ("use --release ranking, or",), ("canonical",)),
    ],
)  # fmt: skip
def test_a_mechanism_that_cannot_is_refused_with_what_to_change(
    command: Command, options: tuple[object, ...], fragments: tuple[str, ...], others: tuple[str, ...]
) -> None:
    result = command("plan", "--k", 2, "--candidates", 9, "--rho", 1, *options)
    result.complains(2, *fragments, *others)
    offered = result.err.split("or choose ")[1].strip().removeprefix("one of ").split(", ")
    assert options[1] not in offered
    for name in offered:
        again = [name if option == options[1] else option for option in options]
        assert command("plan", "--k", 2, "--candidates", 9, "--rho", 1, *again).code == 0


@pytest.mark.further
def test_a_count_goes_with_each_item(command: Command, library: Library) -> None:
    options = "--epsilon", 10**9, "--counts"
    shown = command(*library.release(*options))
    assert shown.code == 0
    lines = [line.split(None, 2) for line in shown.out.splitlines()]
    assert " ".join(lines[0]).split() == ["rank", "noisy", "count", "item"]
    assert [[*line[:2], line[2].strip()] for line in lines[2:5]] == [
        [str(t), str(LOANS[book]), book] for t, book in enumerate(BEST[:3], start=1)
    ]
    record = record_of(command(*library.release(*options, "--out", "-")).out)
    assert (record["items"], record["counts"]) == (BEST[:3], [LOANS[book] for book in BEST[:3]])
    parameters = record["mechanism"]
    assert parameters["count_scale"] == record["scale"]
    each = 3 / Fraction(record["scale"]) + 3 / Fraction(parameters["count_scale"])
    assert each <= Fraction(record["d_out"]) <= 10**9
    in_order = [book for book in CANDIDATES if book in BEST[:3]]
    record = record_of(command(*library.release(*options, "--out", "-", "--release", "set")).out)
    assert (record["items"], record["counts"]) == (in_order, [LOANS[book] for book in in_order])
    shown = command(*library.release(*options, "--release", "set"))
    assert shown.out.splitlines()[2].split(None, 1)[0] == str(LOANS[in_order[0]])
    assert "counts with probability at least 95 %, every noisy count is exactly the true count" in shown.flat


@pytest.mark.further
def test_a_lead_goes_with_each_item(command: Command, library: Library) -> None:
    options = "--epsilon", 10**9, "--mechanism", "noisy_top_k_with_gaps"
    tallies = sorted((LOANS.get(book, 0) for book in CANDIDATES), reverse=True)
    leads = [tallies[t] - tallies[t + 1] for t in range(3)]
    shown = command(*library.release(*options))
    lines = [line.split(None, 2) for line in shown.out.splitlines()]
    assert " ".join(lines[0]).split() == ["rank", "noisy", "lead", "item"]
    assert [[*line[:2], line[2].strip()] for line in lines[2:5]] == [
        [str(t + 1), str(leads[t]), BEST[t]] for t in range(3)
    ]
    record = record_of(command(*library.release(*options, "--out", "-")).out)
    assert record["items"] == BEST[:3]
    assert record["gaps"] == pytest.approx(leads, abs=1e-3)
    assert record["gaps"] != leads
    assert "counts" not in record
    table = library.folder / "leads.csv"
    command(*library.release(*options, "--out", table))
    assert table.read_text(encoding="utf-8").splitlines()[0] == "rank,item,gap"


@pytest.mark.slow
def test_leads_need_a_runner_up(command: Command) -> None:
    everyone = "plan", "--k", 4, "--candidates", 4, "--rho", 1
    named = command(*everyone, "--mechanism", "noisy_top_k_with_gaps")
    named.complains(2, "cannot give this release: use a --k below the number of candidates, or choose one of")
    compared = command(*everyone, "--compare")
    assert compared.code == 0
    assert "noisy_top_k_with_gaps" not in compared.out
    assert "noisy_top_k_with_gaps" in command("plan", "--k", 3, "--candidates", 4, "--rho", 1, "--compare").out


@pytest.mark.further
def test_counts_are_noisy(command: Command, library: Library) -> None:
    drawn = {
        tuple(record_of(command(*library.release("--rho", 1e-6, "--counts", "--out", "-")).out)["counts"])
        for _ in range(3)
    }
    assert len(drawn) == 3  # each noise has a deviation of thousands: two equal triples in fewer than 10^-9 runs


@pytest.mark.further
def test_a_scale_of_counts_beyond_all_floats_is_an_integer(command: Command, library: Library) -> None:
    record = record_of(command(*library.release("--rho", 1e-308, "--counts", "--out", "-")).out)
    assert type(record["mechanism"]["count_scale"]) is float
    assert plain_value(Fraction(2 * 10**308)) == 2 * 10**308
    assert plain_value(Fraction(1, 2)) == 0.5
