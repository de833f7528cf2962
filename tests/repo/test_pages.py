"""Generated pages fit the package, the documents and the tests, and the checks that say so can fail."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import opendp_topk as tk
from tests.measurements.test_quantiles import oracle as row_by_row
from tests.oracles import above as oracle
from tests.pages import __main__ as command
from tests.pages import above, above_curve, copies, few, page, quantiles
from tests.pages.losses_met import COLUMNS
from tests.pages.page import PAGES, ROOT

HOWTO = "".join(
    path.read_text("utf-8") for room in ("explanation", "howto") for path in (ROOT / "docs" / room).glob("*.md")
)


def rows_below(header: str, columns: int) -> list[list[str]]:
    """The cells of a section of the losses, in the order of their ratios, which are those of the two columns before."""
    lines = PAGES[page.LOSSES].read().partition(header)[2].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    ratios = [row[columns - 1] for row in rows]
    assert ratios == sorted(ratios)
    for *_, claimed, met, ratio in rows:
        assert 0 < float(met) <= float(claimed) * (1 + 1e-5)
        assert float(ratio) == pytest.approx(float(met) / float(claimed), abs=1e-4)
    return rows


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits(path: str) -> None:
    assert PAGES[path].fits(PAGES[path].read()), f"{path} is out of date: {page.COMMAND} {path}"


@pytest.mark.further
@pytest.mark.parametrize(
    ("old", "new"), [("| 3.66359 |", "| 3.66358 |"), ("k=2, noise=Laplace()", "k=3, noise=Laplace()")]
)
def test_a_claim_that_changed_is_noticed(old: str, new: str) -> None:
    text = PAGES["docs/tightness.md"].read()
    assert old in text
    assert not page.has_the_rows(text.replace(old, new, 1))


@pytest.mark.slow
def test_the_losses_below_the_table_are_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page has above them tests/audit/test_shipped.py finds again, a constructor at a time.

    The searches for curves above a threshold take ten minutes: another test tries their claims.
    """
    before, mark, after = PAGES[page.LOSSES].read().partition(above_curve.HEADER + COLUMNS)
    assert mark
    assert page.OPEN in after
    monkeypatch.setattr(page, "SEARCHES", tuple(one for one in page.SEARCHES if one is not above_curve))
    assert before.endswith(page.sections())


def test_the_losses_of_one_constructor_leave_all_others_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    text, name = PAGES[page.LOSSES].read(), "make_permute_and_flip"
    gone = "".join(line for line in text.splitlines(keepends=True) if f"`{name}`" not in line)
    assert gone != text
    assert page.with_losses_of(name, gone) == text
    changed = text.replace("| `make_permute_and_flip` |  | Max", "| `make_permute_and_flip` | 9 | Max")
    assert page.with_losses_of(name, changed) == text


def test_many_copies_exceed_no_claim() -> None:
    """The section's numbers, and its laws by blocks against weights in closed form."""
    assert len(rows_below(copies.HEADER, 5)) >= 20
    scores, sizes = np.array([0.0, -2.0]), np.array([3.0, 50.0])
    weights = sizes * np.exp(scores)
    assert copies.best("Gumbel", 1, True)(scores, sizes) == pytest.approx(weights / weights.sum(), abs=1e-6)
    assert copies.best("Logistic", 2, True)(scores, np.array([2.0, 1.0])).sum() == pytest.approx(1, abs=1e-6)
    flips = copies.best("Exponential", 1, True)(scores, np.array([1.0, 1.0]))
    assert flips[1] == pytest.approx(math.exp(-2) / 2, abs=1e-4)


def test_few_scores_that_move_exceed_no_claim() -> None:
    """The section's numbers; among equal scores all places of one and of two are equally likely."""
    assert len(rows_below(few.HEADER + COLUMNS, 6)) == len(list(few.cases()))
    for noise in ("Laplace", "Logistic"):
        law = few.one_place(few.continuous(noise), 12, 5, 0.0)
        assert law == pytest.approx([1 / 13] * 5 + [8 / 13], rel=0.01)
        both, one, none = few.two_places(few.continuous(noise), 12, 5, 0.0)
        found = (*both[[0, 1, 5]], one[4], both.sum(), one.sum(), none)
        assert found == pytest.approx([n / 91 for n in (1, 1, 1, 9, 10, 45, 36)], rel=0.05)


def test_quantiles_of_many_numbers_meet_their_claims_and_exceed_none() -> None:
    """The section's numbers: all but those for thirds are met to a part in 100."""
    rows = rows_below(quantiles.HEADER + COLUMNS, 6)
    assert len(rows) == len(list(quantiles.cases())) == 9
    for _, told, _, _, _, ratio in rows:
        assert (float(ratio) > 0.99) == (told != "quantiles 1/3, 2/3")


@pytest.mark.further
@pytest.mark.quick(case=0)
@pytest.mark.parametrize("case", range(9))
def test_the_losses_of_many_numbers_are_met_by_todays_claims(case: int) -> None:
    """The claims in the page are those of the package, and a claim of .99 of them is refuted but for thirds."""
    one = list(quantiles.cases())[case]
    assert np.abs(np.subtract(*one.neighbours)).sum() == 1
    least = {tk.MaxDivergence(): 0.87, tk.RangeDivergence(): 0.83, tk.ZeroConcentratedDivergence(): 0.62}
    share = least[one.measure] if one.quantiles[0] == Fraction(1, 3) else 0.99
    assert share * one.claimed < one.largest() <= one.claimed * (1 + 1e-9)


@pytest.mark.parametrize("shares", [(1, 2), (1, 3, 2, 3), (1, 4, 1, 2, 3, 4)], ids=len)
def test_losses_by_parts_are_those_of_all_outcomes(shares: tuple[int, ...]) -> None:
    """The sums over choices, against the law of whole releases where rows are counted one by one."""
    wanted = tuple(itertools.starmap(Fraction, zip(shares[::2], shares[1::2], strict=True)))
    for counts, at in itertools.product(((0, 0, 3, 0), (2, 1, 0, 4), (1, 1, 1, 1)), range(4)):
        before, after = quantiles.pair([(n, 0) for n in counts[:at]], [(n, 0) for n in counts[at:]])
        p, q = (row_by_row(tuple(map(int, rows)), wanted, 1, 1.0) for rows in (before, after))
        one, other = np.array([(p[y], q[y]) for y in p]).T
        log = np.log(other / one)
        expected = log.min(), log.max(), -(one @ log), other @ log
        assert quantiles.losses(before, after, wanted) == pytest.approx(expected, abs=1e-12)


@pytest.mark.further
def test_thirds_lose_no_more_than_the_page_says() -> None:
    """All tables of four numbers with up to three rows each: 7/4 and 5/2 by a row more."""
    thirds, met = (Fraction(1, 3), Fraction(2, 3)), []
    for counts, at in itertools.product(itertools.product(range(4), repeat=4), range(4)):
        before, after = np.array(counts), np.array(counts) + np.eye(4, dtype=int)[at]
        least, most, *_ = quantiles.losses(before, after, thirds)
        met.append((max(most, -least), most - least))
    epsilon, width = np.array(met).max(axis=0)
    assert 0.8 < epsilon <= 7 / 4
    assert 1.1 < width <= 5 / 2


def test_no_conversation_exceeds_a_claim() -> None:
    """The section's numbers; epsilon and the range are met by the library's claims, and by none that are smaller."""
    rows = rows_below(above.HEADER + COLUMNS, 6)
    assert len(rows) == len(list(above.cases()))
    for _, _, measure, _, _, ratio in rows:
        assert (float(ratio) > 0.998) == (measure in ("MaxDivergence", "RangeDivergence"))
    for case in list(above.cases())[:2]:
        assert 0.998 * case.claimed <= case.largest() <= case.claimed * (1 + 1e-9)


def test_the_best_conversation_is_the_best_of_all() -> None:
    """Dynamic programming against every way of asking twice, whose probabilities another function has."""
    talk = above.Talk("Exponential", 1, ((0, 1), (0, 0)), 2)
    found = []
    for first, second in itertools.product(talk.questions, (*talk.questions, None)):
        ways = [(True,), (False,)] if second is None else [(True,), (False, True), (False, False)]
        asked = [first] if second is None else [first, second]
        one, other = (oracle.probabilities("Exponential", leads, 1.0, 1.0, ways) for leads in zip(*asked, strict=True))
        logs = np.log(other / one)
        found.append((np.abs(logs).max(), logs.max() - logs.min(), max(other @ logs, -(one @ logs))))
    epsilon, width, mean = np.array(found).max(axis=0)
    assert talk.loss(tk.MaxDivergence()) == pytest.approx(epsilon, abs=1e-9)
    assert talk.loss(tk.RangeDivergence()) == pytest.approx(width, abs=1e-9)
    assert max(talk._moment(1.0, way) for way in (1, -1)) == pytest.approx(mean, abs=1e-9)


def test_no_curve_of_conversations_exceeds_a_claim() -> None:
    """The section's numbers; small deltas are met by the epsilon that is claimed, large ones by less."""
    rows = rows_below(above_curve.HEADER + COLUMNS, 6)
    assert len(rows) == 36
    for _, _, delta, claimed, met, ratio in rows:
        assert float(met) <= float(claimed)
        assert delta != "epsilon at delta = 1e-06" or float(ratio) > 0.9


@pytest.mark.further
def test_the_best_single_question_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all scores of the grid, whose answers with exponential noise have probabilities in closed form."""

    def law(lead: float) -> list[float]:
        true = 1 - math.exp(-lead) / 2 if lead > 0 else math.exp(lead) / 2
        return [true, 1 - true]

    monkeypatch.setitem(above_curve._LENGTHS, 1, (1,))
    for delta in (0.1, 0.01):
        pairs = [pair for lead in above_curve.LEADS for pair in itertools.permutations((law(lead), law(lead + 1)))]
        met = max(above_curve.epsilon_at(delta, *pair) for pair in pairs)
        found = above_curve.Climb("Exponential", 1, monotonic=True, delta=delta).largest()
        assert found == pytest.approx(met, abs=1e-6)


def test_an_epsilon_at_a_delta() -> None:
    """Randomised response of the loss 1 has delta (e - exp(epsilon)) / (1 + e)."""
    p, q = [1 / (1 + math.e), math.e / (1 + math.e)], [math.e / (1 + math.e), 1 / (1 + math.e)]
    assert above_curve.epsilon_at((math.e - math.exp(0.3)) / (1 + math.e), p, q) == pytest.approx(0.3)
    assert above_curve.epsilon_at(0.5, p, q) == 0


@pytest.mark.slow
def test_no_climb_over_conversations_exceeds_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(above_curve, "_STARTS", 1)
    for case in above_curve.cases():
        if (case.climb.k, case.climb.delta) == (1, 0.1):
            met = case.largest()
            assert 0.15 * case.claimed < met <= case.claimed * (1 + 1e-9), case.start


@pytest.mark.slow
def test_no_longer_conversation_exceeds_a_claim() -> None:
    for case in above.cases():
        assert case.largest() <= case.claimed * (1 + 1e-9), case.start


@pytest.mark.slow
def test_a_claim_on_few_scores_smaller_by_5_per_cent_is_refuted() -> None:
    """What the section says is met again; most rows come so near that a map below them by a twentieth is."""
    near = 0
    for case in few.cases():
        share = case.largest() / case.claimed
        assert share <= 1 + 1e-5, case.start
        near += share > 0.95
    assert near >= 45


@pytest.mark.further
def test_only_what_is_named_is_written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(page, "tightness", lambda _: pytest.fail("nobody asked for it"))
    assert command.main(["proofs/README.md"]) == 0
    assert capsys.readouterr().out == "proofs/README.md: as it was\n"
    with pytest.raises(SystemExit):
        command.main(["docs/nothing.md"])
    assert "docs/nothing.md" in capsys.readouterr().err


def test_every_constructor_is_shown_at_work() -> None:
    for name in (name for name in tk.__all__ if name.startswith("make_")):
        shown = re.search(rf"\b(?:{name}|{name.replace('make_', 'then_', 1)})\b", HOWTO)
        assert shown, f"no page below docs/howto shows {name}"
