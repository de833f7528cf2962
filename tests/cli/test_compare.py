"""``plan --compare``: every mechanism that fits once, with the numbers of its own plan, the best first."""

import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import opendp_topk as tk
from opendp_topk.apps.cli.plan import _format_user_bound, format_probability
from opendp_topk.apps.planning.catalogue import all_mechanisms, capable_mechanisms
from opendp_topk.apps.planning.comparison import SIZE, Comparison
from opendp_topk.apps.planning.plan import WORDS

from .command import Result, argv, spawn
from .conftest import Command

COUNTS = [41, 31, 23, 13, 7]
REQUESTS = [
    ("epsilon", 0.3, "ranking", 2),
    ("epsilon", 0.3, "set", 1),
    ("rho", 0.01, "ranking", 1),
    ("rho", 0.01, "set", 2),
]


def _rows(result: Result) -> dict[str, list[str]]:
    """The lines of the table, by name."""
    lines = result.out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("mechanism")) + 2
    rows = [line.replace(" *", "").split(None, 1) for line in lines[start : lines.index("", start)]]
    assert len({name for name, _ in rows}) == len(rows)
    return {name: rest.replace("< ", "<").replace("> ", ">").split()[:-1] for name, rest in rows}


def _bounds(result: Result) -> dict[str, str]:
    """The last column of the table, by name."""
    lines = result.out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("mechanism")) + 2
    return {line.split()[0]: line.split()[-1] for line in lines[start : lines.index("", start)]}


@pytest.mark.slow
@pytest.mark.quick(release="ranking", k=1, target="rho")
@pytest.mark.parametrize(("target", "value", "release", "k"), REQUESTS)
def test_the_numbers_are_those_of_each_plan(command: Command, target: str, value: float, release: str, k: int) -> None:
    asked = "plan", "top-k", "--k", k, "--candidates", 900, f"--{target}", value, "--release", release, "--users", 2
    compared = command(*asked, "--compare")
    assert (compared.code, compared.err) == (0, "")
    rows = _rows(compared)
    assert set(rows) == {
        row.name for row in all_mechanisms() if k <= (row.most or 900) and release in row.releases and not row.few
    }
    for name, (scale, cost, within) in rows.items():
        plan = command(*asked, "--mechanism", name)
        for shown, field, at in ((scale, "scale", 0), (cost, "cost", 2)):
            exact = Decimal(plan.field(field).split()[at])
            assert exact <= Decimal(shown) <= exact * (1 + Decimal("1e-5"))
        assert f"a count within {within} users of the" in plan.field("accuracy")
    bounds = [int(within) for _, _, within in rows.values()]
    assert bounds == sorted(bounds)
    starred = [line.split()[0] for line in compared.out.splitlines() if " * " in line]
    assert starred == [command(*asked).field("mechanism").split(" (")[0]]
    assert f"{target} the cost for 2 users added or removed" in compared.flat
    phrase = "for every t from 1" if release == "ranking" else "every released item has"
    assert f"with probability at least 95 %, {phrase}" in compared.field("within")
    assert ("P(exact)" in compared.out, "\norder " in compared.out) == (False, k > 1)


@pytest.mark.further
@pytest.mark.quick(word="range")
@pytest.mark.parametrize(("budget", "word"), [(("--epsilon", 0.5), "loss"), (("--rho", 0.01), "range")])
def test_the_last_column_says_which_bound_decided(command: Command, budget: tuple[object, ...], word: str) -> None:
    result = command("plan", "top-k", "--k", 1, "--candidates", 50, "--compare", *budget)
    bounds = _bounds(result)
    assert bounds["exponential_mechanism"] == word
    for used in set(bounds.values()):
        assert result.field(used) == WORDS[used]
    assert "convolution" not in result.out


@pytest.mark.slow
def test_a_pair_is_a_budget_of_a_comparison_alone(command: Command) -> None:
    asked = "plan", "top-k", "--k", 1, "--candidates", 50, "--epsilon", 0.5, "--delta", 1e-6
    result = command(*asked, "--compare")
    assert "at epsilon = 0.5" in result.field("delta")
    for scale, delta, _ in _rows(result).values():
        assert float(scale) <= 2.00001
        assert 0.99e-6 < float(delta) <= 1e-6
    assert _bounds(result)["permute_and_flip"] == "Laplace"
    assert "at delta = " in command(*asked).field("cost")


@pytest.mark.slow
def test_the_plots_are_written(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra plot)")
    file = tmp_path / "both.png"
    asked = "plan", "top-k", "--k", 1, "--candidates", 50, "--epsilon", 0.5, "--compare"
    with mock.patch.object(Comparison, "plot", autospec=True, side_effect=Comparison.plot) as plot:
        assert command(*asked, "--plot", file).code == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    figure = plot.call_args.args[1]
    assert (tuple(figure.get_size_inches()), figure.get_constrained_layout()) == (SIZE, True)


@pytest.mark.slow
def test_what_is_too_long_to_compute_is_a_dash_and_comes_last(command: Command) -> None:
    asked = "plan", "top-k", "--k", 10**8, "--candidates", 10**9, "--epsilon", 1, "--release", "set", "--compare"
    result = command(*asked)
    rows = _rows(result)
    numbered = [row.name for row in capable_mechanisms(10**8, 10**9, "set") if row.numbered]
    assert {"canonical", "canonical_exponential"} <= set(numbered)
    assert [name for name, (*_, within) in rows.items() if within == "-"] == numbered == list(rows)[-len(numbered) :]
    assert result.field("-") == "not known, or too slow to compute"
    assert "\n- " not in command(*asked, "--k", 3).out


@pytest.mark.slow
def test_huge_bounds_are_rounded_up_and_infinite_ones_are_said(command: Command) -> None:
    asked = "plan", "top-k", "--k", 1, "--candidates", 40, "--compare"
    rows = _rows(command(*asked, "--epsilon", 1e-300))
    within = Decimal(rows["permute_and_flip"][2])
    assert within == Decimal("6.68462e+300")  # ln(40 / 0.05) = 6.684611...
    assert {row[2] for row in _rows(command(*asked, "--epsilon", 2e-308)).values()} == {"inf"}


@pytest.fixture
def proxy(tmp_path: Path) -> Path:
    path = tmp_path / "published.csv"
    path.write_text("item,count\n" + "".join(f"item{count},{count}\n" for count in reversed(COUNTS)))
    return path


def _law(name: str, measure: Any, k: int, scale: float, release: str) -> dict[Any, Any]:
    """The exact law of the items on COUNTS and a sixth candidate of count 0."""
    ranking = "report_noisy_top_k_exponential" if name == "noisy_top_k_with_gaps" else name
    (row,) = [row for row in all_mechanisms() if row.name == ranking]
    space = tk.VectorDomain(tk.AtomDomain(int), size=6), tk.LInfDistance(monotonic=True)
    measurement = space >> row.build_partial(measure, k, scale, release, counts=False)
    return dict(measurement.distribution([*COUNTS, 0]))


@pytest.mark.slow
@pytest.mark.parametrize(("target", "value", "release", "k"), REQUESTS)
def test_the_probability_of_the_exact_release_is_that_of_each_plan(
    command: Command, proxy: Path, target: str, value: float, release: str, k: int
) -> None:
    asked = "plan", "top-k", "--k", k, "--candidates", 6, f"--{target}", value, "--release", release, "--like", proxy
    rows = _rows(command(*asked, "--compare"))
    known = 0
    for name, (*_, shown) in rows.items():
        plan = command(*asked, "--mechanism", name)
        if shown == "-":
            assert "% (standard error" in plan.field("on the shape").partition(";")[0]
            continue
        known += 1
        exact = "the exact top-2, in any order," if k == 2 else "the exact top-1"
        assert plan.field("on the shape").replace("< ", "<").startswith(f"{exact} has probability {shown}; in 200")
    assert known >= 4
    likely = [float(shown.split("-")[0]) for *_, shown in rows.values() if shown != "-"]
    assert likely == sorted(likely, reverse=True)


@pytest.mark.parametrize(
    ("lower", "upper", "shown"),
    [
        (0.25, 0.25, "0.250"),
        (0.12341, 0.12349, "0.123"),
        (0.1234, 0.1236, "0.123-0.124"),
        (0.2, 0.5, "0.200-0.500"),
        (0.0, 1.0, "0.000-1.000"),
        (0.0, 0.0, "0"),
        (0.0, 1e-9, "< 0.001"),
        (0.9999, 1.0, "> 0.999"),
        (1.0, 1.0, "1"),
        (math.nextafter(1, 0), 1.0, "> 0.999"),
    ],
)
def test_probabilities_are_never_rounded_to_certainty(lower: float, upper: float, shown: str) -> None:
    assert format_probability(tk.audit.Enclosure(lower, upper)) == shown


def test_bounds_below_a_billion_are_written_out() -> None:
    shown = list(map(_format_user_bound, (None, 0, 10**9 - 1, 10**9, 10**9 + 1)))
    assert shown == ["-", "0", "999999999", "1e+09", "1.00001e+09"]


@pytest.mark.slow
@pytest.mark.parametrize("error", [tk.errors.NotDeclaredError, tk.errors.CapacityError])
def test_a_probability_that_is_not_known_is_a_dash(
    command: Command, proxy: Path, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tk.Measurement, "success_probability", mock.Mock(side_effect=error("no")))
    asked = "plan", "top-k", "--k", 2, "--candidates", 6, "--rho", 1, "--like", proxy
    compared = command(*asked, "--compare")
    assert {shown for *_, shown in _rows(compared).values()} == {"-"}
    assert len(_rows(compared)) == len(capable_mechanisms(2, 4, "ranking"))
    assert compared.field("-") == "not known, or too slow to compute"
    assert "% (standard error" in command(*asked).field("on the shape").partition(";")[0]


@pytest.mark.further
def test_what_is_not_known_comes_last(command: Command, proxy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unless_joint(self: tk.Measurement, *_: Any) -> tk.audit.Enclosure:
        if self.parameters["mechanism"] == "joint_top_k":
            raise tk.errors.NotDeclaredError("no")
        return tk.audit.Enclosure(0.5, 0.5)

    monkeypatch.setattr(tk.Measurement, "success_probability", unless_joint)
    rows = _rows(command("plan", "top-k", "--k", 2, "--candidates", 6, "--rho", 1, "--compare", "--like", proxy))
    assert [name for name, (*_, shown) in rows.items() if shown == "-"] == ["joint"] == list(rows)[-1:]


@pytest.mark.slow
@pytest.mark.quick(environment="{}")
@pytest.mark.parametrize(
    "environment", [{}, {"COLUMNS": "200"}, {"PYTHONIOENCODING": "ascii"}, {"COLUMNS": "40"}], ids=str
)
def test_a_pipe_gets_plain_lines_that_fit(proxy: Path, environment: dict[str, str]) -> None:
    asked = argv("plan top-k --k 2 --candidates 6 --rho 0.1 --release set --compare --like")
    shown = spawn(*asked, proxy, **environment)
    assert (shown.code, shown.err) == (0, "")
    assert "\x1b" not in shown.out
    width = min(int(environment.get("COLUMNS", 80)), 100)
    assert max(map(len, shown.out.splitlines())) <= width
    if width >= 80:
        assert sum(line.startswith("report_noisy_top_k_half_logistic ") for line in shown.out.splitlines()) == 1


@pytest.mark.slow
def test_what_is_within_reach_is_said_of_the_rows_that_count(command: Command) -> None:
    asked = "plan", "top-k", "--k", 2, "--candidates", 9, "--rho", 0.1, "--compare"
    whole, few = (command(*asked, *own) for own in ((), ("--max-items", 1)))
    assert (whole.code, few.code) == (0, 0)
    told = " ".join(few.out.split())
    assert "counts are those of the truncated data (of each user at most 1 item, drawn at random)" in told
    assert "truncated" not in whole.out
    assert "where joint is among the last" in " ".join(whole.out.split())
