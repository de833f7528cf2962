"""The exact draw of joint rankings and sets: layers, laws, decisions at high precision, extreme inputs."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

from opendp_topk.sampling.samplers import bins as head
from opendp_topk.sampling.samplers import joint
from opendp_topk.sampling.samplers.bins import BinnedScores
from opendp_topk.sampling.samplers.ladder import sort_scores
from tests.oracles import joint as oracle
from tests.oracles.chi_square import assert_follows

from .streams import Streams


@pytest.fixture(params=["paths", "walks"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of few ranks are counted exactly; walks must give the same law."""
    monkeypatch.setattr(joint, "_FEW", 32 if request.param == "paths" else 0)


def draws(
    n: int, scores: Sequence[Any] | np.ndarray, k: int, scale: Fraction, ordered: bool, sign: int = 1
) -> Counter[tuple[int, ...]]:
    entropy, values = Streams(f"{scores} {k} {ordered}"), np.asarray(scores)  # type: ignore[arg-type]
    found = islice(joint.draw_outputs(values, scale, k, sign=sign, ordered=ordered, entropy=entropy), n)
    return Counter(tuple(chosen.tolist()) for chosen in found)


CASES = [
    ([5, 3, 3, 1, 0], 2, Fraction(3, 2)),
    ([0, 4, 1, 6, 3, 3], 3, Fraction(2)),
    ([0.5, 4.25, 1.0, 6.0], 3, Fraction(5, 2)),
    ([2, 2, 2, 2, 2], 2, Fraction(1)),
    ([7, 1, 5], 1, Fraction(4)),
    ([0, 1, 5, 2], 2, Fraction(1, 2)),
    ([0, 40, 90, 10, 11], 3, Fraction(100)),
    ([2**60 + 1, 2**60, 2**60 + 3, 2**60 + 2], 2, Fraction(1)),
    ([9.0, 1.0, 4.0, 5.0, 8.0], 2, Fraction(10**300)),
]


WIDE = [
    ([5, 3, 3, 1, 0, 4], 2, Fraction(3, 2)),
    ([0.5, 4.25, 1.0, 6.0, 5.5], 3, Fraction(5, 2)),
    ([30, 0, 2, 1, 31, 3], 3, Fraction(1, 2)),
]


@pytest.mark.further
@pytest.mark.quick(ordered=True, k=2, scale="1")
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("scores", "k", "scale"), CASES)
def test_frequencies_follow_the_law(scores: list[Any], k: int, scale: Fraction, ordered: bool) -> None:
    assert_follows(draws(4000, scores, k, scale, ordered), oracle.law(scores, k, scale, ordered), detects=1.5)


@pytest.mark.slow
@pytest.mark.usefixtures("close_head")
@pytest.mark.parametrize(("ordered", "sign"), [(True, -1), (False, 1)])
def test_those_beyond_the_head_have_their_part(ordered: bool, sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last layer begins so early that some of its outputs, with ranks that were not sorted at first, count."""
    monkeypatch.setattr(joint, "_SPARE", 0)
    joint._last_layer_start.cache_clear()
    scores, scale = [0, 4, 1, 6, 3, 3, 2], Fraction(1)
    start = joint._loss_from_bits(joint._last_layer_start(7, 2, ordered)) * scale
    assert head.order_best_scores(np.array(scores), 1, 2, start, scale).who is not None
    found = draws(3000, [sign * x for x in scores], 2, scale, ordered, sign)
    joint._last_layer_start.cache_clear()
    assert_follows(found, oracle.law(scores, 2, scale, ordered), detects=0.5)


@pytest.mark.slow
@pytest.mark.usefixtures("wide_bins")
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("scores", "k", "scale"), WIDE)
def test_candidates_in_bins_have_their_part(scores: list[Any], k: int, scale: Fraction, ordered: bool) -> None:
    depth = joint._loss_from_bits(joint._last_layer_start(len(scores), k, ordered)) * scale
    assert isinstance(head.order_best_scores(np.array([-x for x in scores]), -1, k, depth, scale), BinnedScores)
    found = draws(1500, [-x for x in scores], k, scale, ordered, sign=-1)
    assert_follows(found, oracle.law(scores, k, scale, ordered), detects=1.5)


@pytest.mark.quick(scale=1, ordered=True, each_way="paths")
@pytest.mark.slow
@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(6), Fraction(50)])
def test_levels_of_many_candidates_follow_their_law(scale: Fraction, ordered: bool) -> None:
    """Too many outputs to list: they are compared by their loss. Layers are wide, narrow, and all-embracing."""
    scores = [-(3 * i + i % 4) for i in range(60)]
    found: Counter[Fraction] = Counter()
    for output, times in draws(2500, scores, 8, scale, ordered).items():
        found[oracle.loss(scores, output, ordered)] += times
    assert_follows(found, oracle.level_law(scores, 8, scale, ordered), detects=0.95)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("scores", "k", "scale"), [*CASES, (list(range(0, 900, 100)), 3, Fraction(7))])
def test_layers_are_right_and_shares_bound_weights(scores: list[Any], k: int, scale: Fraction, ordered: bool) -> None:
    nested = joint.build_layers(joint.SelectionTask(sort_scores(np.asarray(scores), 1), scale, k, ordered))
    starts, limits = [layer.start for layer in nested], [layer.limit for layer in nested]
    shares = list(map(Fraction, joint._proposal_shares(starts)))
    weights, exponent = joint._integer_weights(joint._proposal_shares(starts), [layer.log_size for layer in nested])
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert nested[-1].outputs.ceilings.tolist() == [len(scores)] * k
    sizes = Counter[int]()
    for output in oracle.outputs(len(scores), k, ordered):
        loss = oracle.loss(scores, output, ordered)
        inside = [loss <= limit for limit in limits]
        sizes.update(i for i, held in enumerate(inside) if held)
        first = starts[inside.index(True)]
        assert sum(share for share, held in zip(shares, inside, strict=True) if held) == Fraction(1, 2**first)
        assert oracle.exp(-loss / scale) <= mpmath.mpf(1) / 2**first
        assert first == 0 or loss / scale > first * joint._LN2
    for i, layer in enumerate(nested):
        assert sizes[i] <= mpmath.mpf(2) ** layer.log_size
        assert weights[i] * Fraction(2) ** exponent >= shares[i] * sizes[i]


@pytest.mark.slow
@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("ordered", [True, False])
def test_outcomes_equal_high_precision(ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is the first proposal whose injected V lies below e^-loss / ratio, both computed afresh.

    V agrees with this threshold to up to three words, so that one word does not decide.
    """
    generator = random.Random(8)
    proposals: list[tuple[bytes, np.ndarray, Fraction]] = []
    uniforms: list[tuple[mpmath.mpf, Fraction]] = []
    plain_outputs, plain_accepted = joint._outputs_under_ceilings, joint.accept_proposal

    class Recorded:
        def __init__(self, plain: Any) -> None:
            self._plain, self.ceilings = plain, plain.ceilings

        def log_bound(self) -> float:
            return self._plain.log_bound()

        def draw_ranks(self, entropy: Any) -> Any:
            drawn = self._plain.draw_ranks(entropy)
            proposals.append((self.ceilings.tobytes(), drawn[0], Fraction(drawn[1])))
            return drawn

    def accepted(log_weight: Any, ratio: Any, clock: Any, entropy: Any) -> bool:
        goal = oracle.exp(Fraction(log_weight)) / (mpmath.mpf(int(ratio.numerator)) / int(ratio.denominator))
        assert goal <= 1
        digits = int(min(goal, 1 - mpmath.mpf(2) ** -300) * mpmath.mpf(2) ** 256)
        agreeing = generator.choice([0, 1, 2, 3])
        words = [(digits >> shift) & (2**64 - 1) for shift in (192, 128, 64, 0)][:agreeing]
        words += [generator.getrandbits(64) for _ in range(12 - agreeing)]
        value = mpmath.fsum(mpmath.mpf(word) / mpmath.mpf(2) ** (64 * (i + 1)) for i, word in enumerate(words))
        uniforms.append((value, Fraction(ratio)))
        return plain_accepted(log_weight, ratio, clock, Streams(auxiliary=words))

    monkeypatch.setattr(joint, "_outputs_under_ceilings", lambda *a: [Recorded(each) for each in plain_outputs(*a)])
    monkeypatch.setattr(joint, "accept_proposal", accepted)
    rounds = 0
    with mpmath.workdps(300):
        for trial in range(150):
            d = generator.randint(1, 7)
            k = generator.randint(1, min(3, d))
            scores = [generator.choice([generator.randint(0, 9), generator.randint(0, 3) / 4]) * 1.0 for _ in range(d)]
            scale = Fraction(generator.randint(1, 60), generator.randint(1, 20))
            nested = joint.build_layers(joint.SelectionTask(sort_scores(np.array(scores), 1), scale, k, ordered))
            starts = [layer.start for layer in nested]
            weights, exponent = joint._integer_weights(
                joint._proposal_shares(starts), [layer.log_size for layer in nested]
            )
            proposals.clear()
            uniforms.clear()
            found = joint.draw_output(np.array(scores), scale, k, sign=1, ordered=ordered, entropy=Streams(trial))
            order = sorted(range(d), key=lambda i: (-scores[i], i))
            assert len(proposals) == len(uniforms), "all conditions of so few ranks are kept"
            for (label, ranks, chance), (value, ratio) in zip(proposals, uniforms, strict=True):
                output = tuple(order[r] for r in ranks.tolist())
                loss = oracle.loss(scores, output, ordered)
                first = next(layer.start for layer in nested if loss <= layer.limit)
                afresh = []
                for i, layer in enumerate(nested):
                    end = Fraction(1, 2 ** starts[i + 1]) if i + 1 < len(nested) else Fraction(0)
                    if layer.outputs.ceilings.tobytes() == label:
                        share = Fraction(1, 2**layer.start) - end
                        afresh.append(weights[i] * Fraction(2) ** exponent * chance / share / 2**first)
                assert ratio in afresh
                weight = oracle.exp(-loss / scale)
                taken = value < weight / (mpmath.mpf(ratio.numerator) / ratio.denominator)
                assert taken == (ranks is proposals[-1][1]), trial
            assert found.tolist() == (list(output) if ordered else sorted(output))
            rounds += len(proposals)
    assert rounds > 170


def test_a_set_that_its_layer_does_not_hold_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every layer draws the worst set of all, which only the last one holds: no other proposal is even decided."""
    drawn: list[bool] = []

    class Worst:
        def __init__(self, ceilings: np.ndarray) -> None:
            self._holds = int(ceilings[0]) == 5

        def log_bound(self) -> float:
            return 2.0

        def draw_ranks(self, entropy: Any) -> Any:
            drawn.append(self._holds)
            return np.array([3, 4]), mpq(1, 10)

    def accepted(*_: Any) -> bool:
        assert drawn[-1]
        return True

    monkeypatch.setattr(joint, "_outputs_under_ceilings", lambda ceilings, *_: [Worst(each) for each in ceilings])
    monkeypatch.setattr(joint, "accept_proposal", accepted)
    found = joint.draw_output(np.arange(5) * 10**6, Fraction(1), 2, sign=1, ordered=False, entropy=Streams(1))
    assert found.tolist() == [0, 1]
    assert len(drawn) > 1


@pytest.mark.slow
@pytest.mark.parametrize("detail", [1, 5])
def test_sets_beyond_a_layer_are_passed_over(detail: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks that keep few conditions draw sets that their layer does not hold; levels follow their law all the same."""
    monkeypatch.setattr(joint, "_DETAIL", detail)
    monkeypatch.setattr(joint, "_CLOSE", 1000.0)
    monkeypatch.setattr(joint, "_FEW", 0)
    scores = [-(i * i) for i in range(40)]
    found: Counter[Fraction] = Counter()
    for output, times in draws(2500, scores, 10, Fraction(20), False).items():
        found[oracle.loss(scores, output, False)] += times
    assert_follows(found, oracle.level_law(scores, 10, Fraction(20), False), detects=3)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    ("values", "scale", "likely"),
    [
        (np.array([2**53 + 1, 2**53 + 2, 2**53, 0]), Fraction(1, 100), (1, 0)),
        (np.array([1e308, -1e308, 1e308 * (1 - 2**-52), 5e307]), Fraction(1, 10**308), (0, 2)),
        (np.array([5e-324, 1e-323, 0.0, 1.5e-323]), Fraction(1, 10**330), (3, 1)),
        (np.array([2**64 - 1, 2**64 - 2, 0, 1], dtype=np.uint64), Fraction(1, 50), (0, 1)),
        (np.array([10**400, 10**400 + 1, 0, -(10**400)], dtype=object), Fraction(1, 50), (1, 0)),
    ],
)
def test_extreme_scores(values: np.ndarray, scale: Fraction, likely: tuple[int, ...], ordered: bool) -> None:
    expected = likely if ordered else tuple(sorted(likely))
    assert draws(20, values, 2, scale, ordered) == Counter({expected: 20})


@pytest.mark.slow
def test_most_proposals_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few wasted rounds and few layers, for any scale: what the layers are for."""
    scores = np.random.default_rng(0).integers(0, 10**4, 1000)
    for ordered in (True, False):
        for scale in (Fraction(1, 10**3), Fraction(1), Fraction(10), Fraction(1000), Fraction(10**7)):
            results: list[bool] = []
            plain = joint.accept_proposal
            with monkeypatch.context() as patch:
                patch.setattr(
                    joint,
                    "accept_proposal",
                    lambda *a, plain=plain, results=results: results.append(plain(*a)) or results[-1],
                )
                for seed in range(30):
                    joint.draw_output(scores, scale, 20, sign=1, ordered=ordered, entropy=Streams(seed))
            assert len(results) < 300
            assert len(joint.build_layers(joint.SelectionTask(sort_scores(scores, 1), scale, 20, ordered))) < 100


def past_a_tie() -> joint.SelectionTask:
    """The last of 256 winners is one of many equal scores: a rough walk finds far too many sets of some layers."""
    return joint.SelectionTask(
        sort_scores(np.random.default_rng(5000).integers(0, 100, 5000), 1), Fraction(1, 50), 256, False
    )


def assert_light(nested: list[joint.Layer]) -> None:
    """No layer weighs more than 16 times the outputs of the heaviest of those in the most detail, the last aside."""
    most = max(layer.detail for layer in nested)
    heaviest = max(layer.log_size - layer.end for layer in nested[:-1] if layer.detail == most)
    assert all(layer.log_size - layer.start <= heaviest + 4 for layer in nested[:-1])


def test_layers_are_light_in_the_detail_they_are_drawn_in() -> None:
    task = joint.SelectionTask(sort_scores(1e6 / np.arange(1.0, 1001), 1), Fraction(50), 100, False)
    nested = joint.build_layers(task)
    assert max(layer.detail for layer in nested) > joint._DETAIL
    assert_light(nested)
    better = joint.improve_layers(task, nested)
    assert max(layer.detail for layer in better) > max(layer.detail for layer in nested)
    assert_light(better)


def test_few_proposals_are_in_vain_where_a_rough_walk_finds_far_too_many_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two in five are accepted: even if it were one in three, true entropy would fail with less than 10^-11."""
    task = past_a_tie()
    nested, rounds, plain = joint.build_layers(task), [], joint.bisect_right
    monkeypatch.setattr(joint, "bisect_right", lambda *a: rounds.append(a) or plain(*a))
    for seed in range(5):
        assert joint._attempt_draw(task, nested, task.rungs.scores, 1, Streams(seed)) is not None
    assert len(rounds) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_levels_follow_their_law_if_each_failure_makes_layers(ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_PATIENCE": 1, "_DETAIL": 1, "_CLOSE": 1000.0, "_NARROW": 40, "_FEW": 0}.items():
        monkeypatch.setattr(joint, name, value)
    calls, plain = [], joint.improve_layers
    monkeypatch.setattr(joint, "improve_layers", lambda *a: calls.append(len(a)) or plain(*a))
    scores, found = [-10 * (i // 2) for i in range(12)], Counter[Fraction]()
    for output, times in draws(400, scores, 4, Fraction(20), ordered).items():
        found[oracle.loss(scores, output, ordered)] += times
    assert len(calls) > 400
    assert_follows(found, oracle.level_law(scores, 4, Fraction(20), ordered), detects=3)


@pytest.mark.slow
def test_each_layer_is_drawn_in_the_detail_of_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    k, scale, scores = 100, Fraction(50), 1e6 / np.arange(1.0, 1001)
    task = joint.SelectionTask(sort_scores(scores, 1), scale, k, False)
    nested = joint.build_layers(task)
    assert len({layer.detail for layer in nested}) > 1
    for layer, after in pairwise(nested):
        assert layer.limit == task.rungs.difference_limit(joint._loss_from_bits(after.start) * scale)
        assert layer.outputs.ceilings.tolist() == task.rungs.rank_ceilings(k, layer.limit).tolist()
    for layer in nested:
        (afresh,), walk = joint.build_walks([layer.outputs.ceilings], layer.detail), layer.outputs
        sizes = walk.shared.blocks.sizes[:, walk.column]
        assert sizes[sizes > 0].tolist() == afresh.shared.blocks.sizes[:, 0].tolist()
        assert math.isclose(walk.log_bound(), afresh.log_bound(), abs_tol=1e-5)
        assert -layer.log_size * math.log(2) <= -walk.log_bound()
    drawn, plain = [], joint.Walk.draw_ranks
    monkeypatch.setattr(joint, "build_layers", lambda _: nested)
    monkeypatch.setattr(joint.Walk, "draw_ranks", lambda walk, entropy: drawn.append(walk) or plain(walk, entropy))
    for seed in range(3):
        joint.draw_output(scores, scale, k, sign=1, ordered=False, entropy=Streams(seed))
    assert drawn
    assert all(any(walk is layer.outputs for layer in nested) for walk in drawn)
