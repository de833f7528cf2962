"""``plan``: the smallest scale, its exact cost, and the accuracy theorem, without any data."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.cli import show

from ..oracles import rhos
from ..oracles.discrete import masses
from .command import argv
from .conftest import Command, Library

SPREAD = {"add_remove": 1, "replace": 2}
PLANS = [
    ("epsilon", 1.0, 10, 5000, 1, "add_remove", "ranking"),
    ("epsilon", 0.1, 3, 7, 1, "replace", "set"),
    ("epsilon", 0.7, 7, 7, 2, "add_remove", "ranking"),
    ("epsilon", 1e-300, 1, 2, 1, "add_remove", "ranking"),
    ("epsilon", 1e300, 2, 9, 3, "add_remove", "ranking"),
    ("rho", 0.5, 10, 5000, 1, "add_remove", "ranking"),
    ("rho", 0.01, 4, 10**15, 1, "replace", "set"),
    ("rho", 3.3, 5, 5, 7, "replace", "ranking"),
]


@pytest.mark.parametrize(("target", "budget", "k", "n", "users", "neighbors", "release"), PLANS)
def test_the_scale_is_the_smallest_that_meets_the_target(
    command: Command, target: str, budget: float, k: int, n: int, users: int, neighbors: str, release: str
) -> None:
    result = command(
        *("plan", "top-k", "--k", k, "--candidates", n, f"--{target}", budget),
        *("--users", users, "--neighbors", neighbors, "--release", release),
        *(("--mechanism", "canonical") if release == "set" else ()),
    )
    assert (result.code, result.err) == (0, "")
    scale = float(result.field("scale").split()[0])
    spread = users * SPREAD[neighbors]

    def loss(tau: float) -> Fraction:
        r = Fraction(spread) / Fraction(tau)
        steps = 1 if release == "set" else min(k, n - 1)  # a set is one choice among all sets
        return steps * (r if target == "epsilon" else rhos.of_range(r))

    stated = Fraction(str(budget))  # what a person writes is a decimal
    assert loss(scale) <= stated
    larger = loss(math.nextafter(scale, 0))
    shown = float(larger) if float(larger) >= larger else math.nextafter(float(larger), math.inf)
    assert shown > stated
    cost = float(result.field("cost").split()[2])
    assert loss(scale) <= Fraction(cost) <= loss(scale) * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize(("target", "noises"), [("epsilon", 1), ("rho", 4)])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_guarantee_is_the_accuracy_theorem(command: Command, target: str, noises: int, alpha: float) -> None:
    result = command("plan", "top-k", "--k", 4, "--candidates", 900, f"--{target}", 0.25, "--alpha", alpha)
    tau = mpmath.mpf(result.field("scale").split()[0])
    bound = int(mpmath.floor(tau * mpmath.log(900 * noises / mpmath.mpf(str(alpha)))))
    percent = {0.05: "95", 0.3: "70"}[alpha]
    assert result.field("accuracy") == (
        f"with probability at least {percent} %, for every t from 1 to 4 the t-th released item "
        f"has a count within {bound} users of the t-th largest count; "
        f"so an item more than {bound} users below the 4th largest count would not be released"
    )


@pytest.mark.further
def test_the_guarantee_of_a_set_speaks_of_no_rank_in_the_release(command: Command) -> None:
    asked = "plan", "top-k", "--k", 4, "--candidates", 900, "--epsilon", 1, "--release", "set", "--mechanism"
    result = command(*asked, "report_noisy_top_k")
    assert "the t-th most frequent of the released items has a count within" in result.field("accuracy")
    bound = int(mpmath.floor(2 * mpmath.log(mpmath.binomial(900, 4) / mpmath.mpf("0.05"))))
    assert command(*asked, "canonical").field("accuracy") == (
        f"with probability at least 95 %, every released item has a count within {bound} users of the 4th largest "
        f"count; so an item more than {bound} users below the 4th largest count would not be released"
    )
    assert "a count within 19 users of the largest count" in command(*asked, "canonical", "--k", 1).field("accuracy")
    certain = command(*asked, "canonical", "--epsilon", 1000).field("accuracy")
    assert "has at least the 4th largest count; so an item below the 4th largest count would not" in certain


@pytest.mark.parametrize(
    ("k", "rank"), [(2, "2nd"), (3, "3rd"), (11, "11th"), (13, "13th"), (21, "21st"), (112, "112th")]
)
def test_ranks_are_ordinals(command: Command, k: int, rank: str) -> None:
    asked = "plan", "top-k", "--k", k, "--candidates", 900, "--epsilon", 1, "--release", "set"
    result = command(*asked, "--mechanism", "canonical")
    assert f"of the {rank} largest count" in result.field("accuracy")


def test_sets_too_many_to_count_have_no_guarantee(command: Command) -> None:
    asked = "plan", "top-k", "--k", 10**8, "--candidates", 10**9, "--epsilon", 1, "--release", "set"
    result = command(*asked, "--mechanism", "canonical")
    assert result.field("accuracy") == "not computed: the number of possible releases is too large"
    assert result.field("scale").startswith("1.0 ")


@pytest.mark.parametrize(
    ("alpha", "percent"), [("0.001", "99.9 %"), ("1e-9", "1 - 1e-09"), ("1e-320", "1 - 1e-320"), ("0.3333", "66.67 %")]
)
def test_the_probability_is_never_rounded(command: Command, alpha: str, percent: str) -> None:
    result = command("plan", "top-k", "--k", 1, "--candidates", 9, "--epsilon", 1, "--alpha", alpha)
    assert f"with probability at least {percent}, for" in result.field("accuracy")


@pytest.mark.further
def test_a_bound_below_one_user_is_exact_and_an_infinite_one_is_none(command: Command) -> None:
    exact = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1000)
    assert "the t-th released item has exactly the t-th largest count" in exact.field("accuracy")
    hopeless = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 2e-308)
    assert hopeless.field("accuracy").startswith("none")
    assert "within 1 user of" in command("plan", "top-k", "--k", 1, "--candidates", 9, "--epsilon", 4).field("accuracy")


def test_the_plan_names_mechanism_noise_measure_and_proofs(command: Command) -> None:
    pure = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1)
    assert "report_noisy_top_k (ranking, best first): independent exponential noise" in pure.field("mechanism")
    assert pure.field("cost").endswith("for 1 user added or removed (MaxDivergence: pure differential privacy)")
    concentrated = command(
        "plan", "top-k", "--k", 2, "--candidates", 9, "--rho", 1, "--users", 3, "--neighbors", "replace"
    )
    assert "independent Gumbel noise" in concentrated.field("mechanism")
    assert "for 3 users replaced (ZeroConcentratedDivergence: zero-" in concentrated.field("cost")
    rows = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1, "--rows-per-person", 3)
    assert rows.field("cost").startswith("epsilon = 1.0 for 3 rows added or removed (")
    asked = "plan", "top-k", *argv("--k 1 --candidates 9 --epsilon 0.5 --delta 1e-6 --mechanism permute_and_flip")
    words = command(*asked).field("cost").split()
    assert (words[:6], float(words[6])) == (["epsilon", "=", "0.5", "at", "delta", "="], pytest.approx(1e-6))
    for document in ("transformations/count_by_item", "measurements/report_noisy_top_k", "core/chaining"):
        assert f"{document} (" in pure.field("proof")


@pytest.mark.further
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize(("target", "formula"), [("epsilon", "laplace"), ("rho", "gaussian")])
def test_counts_have_their_own_scale_and_guarantee(command: Command, target: str, formula: str, neighbors: str) -> None:
    """One replaced user moves counts by 1 and differences of counts by 2."""
    asked = "plan", "top-k", "--k", 4, "--candidates", 900, f"--{target}", 0.5, "--counts", "--neighbors", neighbors
    result = command(*asked)
    assert result.code == 0
    scale, count_scale = (Fraction(float(result.field("scale").split()[at].rstrip(","))) for at in (0, 2))
    assert count_scale == (scale if target == "epsilon" else 2 * scale) / SPREAD[neighbors]
    r, each = SPREAD[neighbors] / scale, 1 / count_scale
    exact = 4 * (r + each) if target == "epsilon" else 4 * (rhos.of_range(r) + each * each / 2)
    assert Fraction(1, 2) * (1 - Fraction(1, 10**12)) < exact <= Fraction(1, 2)
    law, bound = masses(formula, count_scale), 0
    within = law[0]
    while within**4 < mpmath.mpf("0.95"):
        bound += 1
        within += 2 * law[bound]
    assert result.field("counts") == (
        f"with probability at least 95 %, every noisy count is within {bound} users of the true count"
    )
    assert f"discrete {formula.capitalize()} noise on each winner's count" in result.field("mechanism")
    assert "measurements/select_then_count (" in result.field("proof")


def test_counts_without_a_choice_cost_only_themselves(command: Command) -> None:
    result = command("plan", "top-k", "--k", 3, "--candidates", 3, "--epsilon", 1, "--release", "set", "--counts")
    assert result.code == 0
    assert result.field("scale").startswith("3.0, and 3.0 for the counts")


def test_a_hopeless_scale_of_the_counts_has_no_guarantee(command: Command) -> None:
    result = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 3e-308, "--counts")
    assert result.field("counts").startswith("none")


def test_candidates_may_be_a_file(command: Command, library: Library) -> None:
    listed = command("plan", "top-k", "--k", 2, "--candidates", library.candidates, "--epsilon", 1)
    assert listed == command("plan", "top-k", "--k", 2, "--candidates", 6, "--epsilon", 1)


@pytest.mark.parametrize("name", ["--epsilon", "--rho", "--k", "--users", "--alpha"])
def test_an_argument_that_cannot_be_read_is_named(command: Command, name: str) -> None:
    result = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1, name, "abc")
    assert (result.code, result.out) == (2, "")
    assert f"Invalid value for '{name}'" in result.err.replace("'-k' / ", "").replace('"', "'")


def test_a_cost_is_shown_in_twelve_digits_that_are_never_too_small(command: Command) -> None:
    result = command("plan", "top-k", "--k", 3, "--candidates", 10, "--epsilon", 0.1)
    assert result.field("cost").startswith("epsilon = 0.1 for")
    for loss in (0.1 - 2**-57, 1 / 3, 5e-324, 1.7e308):
        shown = float(show.rounded_up(loss))
        assert loss <= shown <= loss * (1 + 1e-11) + 1e-323


def in_six_digits(number: float) -> str:
    """Rounded up, as the command shows it."""
    return f"{float(Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(number))):.6g}"


def least_scale(then: Any, measure: Any, d_in: int, d_out: Any, most: int | None = None) -> str:
    """The least scale of a selection from 50 candidates by the public functions, if ``most`` items of a user count."""
    table = tk.FrameDomain("user", "item"), tk.UserDistance()
    counts = table >> tk.then_count_by_item(candidates=range(50), max_items=most)
    found = tk.binary_search_chain(lambda scale: counts >> then(measure, scale=scale), d_in, d_out)
    return in_six_digits(found.parameters["scale"])


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "options", "measure", "d_in", "d_out"),
    [
        ("no user has", "--epsilon .7", tk.MaxDivergence(), 1, 0.7),
        ("no user has", "--epsilon 1 --users 3", tk.MaxDivergence(), 3, 1),
        ("each row has", "--rho .3 --rows-per-person 2", tk.ZeroConcentratedDivergence(), 2, 0.3),
        ("", "--rho .3 --max-items 20", tk.ZeroConcentratedDivergence(), 1, 0.3),
    ],
)
def test_the_plan_says_what_a_contribution_bound_does_to_the_scale(
    command: Command, given: str, options: str, measure: Any, d_in: int, d_out: float
) -> None:
    def ranking(measure: Any, scale: float) -> Any:
        return tk.then_report_noisy_top_k(measure, k=10, scale=scale)

    whole = f"scale {least_scale(ranking, measure, d_in, d_out)}"
    said = command("plan", "top-k", "--k", 10, "--candidates", 50, *options.split()).field("max items")
    if not given:
        assert whole == f"scale {least_scale(ranking, measure, d_in, d_out, 20)}"
        assert said == f"{whole} also without --max-items: omit it, so that all items of a user count"
        return
    one = f"scale {least_scale(tk.then_noisy_histogram, measure, d_in, d_out, 1)}"
    word = "one item, so" if d_in == 2 else "more than one item,"
    start = f"if {given}" if d_in != 2 else given
    assert said == f"{start} {word} --max-items 1 leaves out nothing and gives {one} instead of {whole}"


def test_several_releases_are_a_table_a_legend_and_commands(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    asked = "plan", "top-k", "--k", 2, "--candidates", 9, "--releases", 3
    result = command(*asked, "--epsilon", 1)
    parts = result.out.split("\n\n")
    starts = "3 times: ", "way  ", "pure  ", "# pure: ", "# zCDP: ", "# (epsilon, delta): "
    assert [part.startswith(start) for start, part in zip(starts, parts, strict=True)] == [True] * 6
    assert {len(line.rstrip()) for line in parts[1].splitlines()} == {len(parts[1].partition("\n")[0])}
    assert parts[2].splitlines()[-1].startswith("least noise       (epsilon, delta): scale ")
    assert parts[3].splitlines()[1] == "opendp-topk ledger create budget.ledger --dataset NAME --epsilon 1"
    assert command("ledger", "create", "b", "--dataset", "d", "--epsilon", 3, "--user", "reader").code == 0
    last = command(*asked, "--ledger", "b").out.splitlines()[-1]
    words = "release top-k TABLE --user reader --item ITEM --candidates FILE --k 2 --epsilon 1 --ledger b  # 3 times"
    assert last == f"opendp-topk {words}"


@pytest.mark.quick
@pytest.mark.parametrize(
    "options",
    ["top-k --k 1 --candidates 9", "top-k --k 5 --candidates 9 --max-items 1", "gap --k 2 --candidates 9 --delta .1"],
)
def test_a_contribution_bound_that_changes_nothing_is_not_mentioned(command: Command, options: str) -> None:
    result = command("plan", *options.split(), "--epsilon", 1)
    assert result.code == 0
    assert "--max-items" not in result.flat


@pytest.mark.further
def test_without_a_list_both_thresholds_are_named(command: Command) -> None:
    result = command("plan", "unknown-domain", "--k", 3, "--epsilon", 1, "--delta", 1e-6)
    one = tk.FrameDomain("user", "item"), tk.UserDistance()
    counts = one >> tk.then_count_by_item(candidates=None, max_items=1)
    histogram = counts >> tk.then_stable_histogram(tk.Approximate(tk.MaxDivergence()), epsilon=1, delta=1e-6)
    least, own = histogram.parameters, [float(result.field(name).split()[0]) for name in ("scale", "threshold")]
    assert result.field("max items").endswith(
        f"gives scale {in_six_digits(least['scale'])} and threshold {least['threshold']} "
        f"instead of scale {in_six_digits(own[0])} and threshold {in_six_digits(own[1])}"
    )
