"""Conversions, compositions, filters and conversations: what measurements made of measurements cost, and answer."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..digits import scripted
from ..grid import DISTANCES, MEASURES, METRICS, PROFILE, THIRD, WITH_DELTA, vectors
from ..names import tk
from ..shown import Rough, law

SPACE = vectors(), METRICS["linf+"]
SCORES = [40, 30, 20, 10]
KEYED = tk.KeyedCountsDomain(), tk.KeyedCountDistance(3)
TABLE = {"umbrella": 900, "rain coat": 700, "scarf": 500, "my own name": 1}
CONVERSIONS = ["make_approximate", "make_pureDP_to_range", "make_pureDP_to_zCDP", "make_range_to_approxDP"]
CONVERSIONS += ["make_range_to_pureDP", "make_range_to_zCDP", "make_zCDP_to_approxDP"]


def cases() -> Iterator[Case]:
    yield from _conversions()
    yield from _compositions()
    yield from _conversations()
    yield from _paid()
    yield from _chosen()
    yield from _by_group()
    yield from _best_runs()


def choice(measure: Any, scale: Any = 4, k: int = 1) -> Any:
    return SPACE >> tk.then_report_noisy_top_k(measure, k=k, scale=scale)


def _sources() -> Iterator[tuple[str, Callable[[], Any]]]:
    for word, measure in MEASURES.items():
        for scale in (4, THIRD, 0):
            yield named("selection", word, scale=scale), partial(choice, measure, scale)
    for word, measure in WITH_DELTA.items():
        for bound in ((1, 1e-6), (0.1, 0)):
            yield named("own", word, bound=bound), partial(_own, measure, bound)
    yield "profile", partial(choice, PROFILE["profile"])
    yield "keyed", lambda: KEYED >> tk.then_unknown_domain_top_k(WITH_DELTA["approx-zcdp"], k=2, scale=4, limit=5,
                                                                delta=1e-6)  # fmt: skip


def _own(measure: Any, bound: Any) -> Any:
    return tk.make_user_measurement(*SPACE, measure, function=len, privacy_map=lambda d_in: bound)


def _losses_of(build: Callable[[], Any]) -> Callable[[], list[Any]]:
    return lambda: _losses(build())


def _losses(link: Any) -> list[Any]:
    found = []
    for d_in in DISTANCES if link.input_metric == SPACE[1] else (0, 1, 2):
        loss = link.map(d_in)
        if isinstance(loss, tk.PrivacyCurve):
            if d_in in (1, 0.1):
                found.append(Rough([loss.delta(epsilon) for epsilon in (0, Fraction(1, 2), 2)]))
        else:
            found.append(loss)
    return found


def _conversions() -> Iterator[Case]:
    for words, source in _sources():
        for role in CONVERSIONS:
            convert = getattr(tk, role)
            yield named(role, words), _losses_of(lambda c=convert, s=source: c(s()))
        for delta in (0, 1e-6, 0.5, 1, -1) if "scale=4" in words else ():
            for role in ("make_range_to_approxDP", "make_zCDP_to_approxDP"):
                fixed = lambda r=role, s=source, d=delta: tk.make_fix_delta(getattr(tk, r)(s()), delta=d)  # noqa: E731
                yield named("make_fix_delta", role, words, delta=delta), _losses_of(fixed)
        for post in (str, len):
            yield named(words, ">>", post.__name__), _losses_of(lambda s=source, post=post: s() >> post)
    for role in CONVERSIONS:
        yield named(role, "of none"), partial(getattr(tk, role), None)
        source = "range" if "range_to" in role else "zcdp" if "zCDP_to" in role else "max"
        yield named(role, "shown"), lambda role=role, source=source: getattr(tk, role)(choice(MEASURES[source]))


def _compositions() -> Iterator[Case]:
    for word, measure in (MEASURES | WITH_DELTA).items():
        build = partial(choice, measure) if word in MEASURES else partial(_own, measure, (1, 1e-6))
        for times in (1, 2, 3, 10, 1000, 0):
            make = lambda build=build, n=times: tk.make_repeat(build(), times=n)  # noqa: E731
            yield named("make_repeat", word, times=times), _losses_of(make)
        for n in (0, 1, 2, 5):
            make = lambda build=build, n=n: tk.make_composition([build() for _ in range(n)])  # noqa: E731
            yield named("make_composition", word, n=n), _losses_of(make)
        make = lambda build=build: tk.make_padded(build(), seconds=0.5)  # noqa: E731
        yield named("make_padded", word), _losses_of(make)
        timed = lambda build=build: tk.make_padded(build(), seconds=0.5, missed=1e-9)  # noqa: E731
        yield named("make_padded", word, missed=1e-9), _losses_of(timed)
    unequal = lambda: tk.make_composition([choice(MEASURES["range"], scale) for scale in (4, THIRD, 7)])  # noqa: E731
    mixed = lambda: tk.make_composition([choice(MEASURES["range"]), choice(MEASURES["max"])])  # noqa: E731
    yield "composed of unequal", _losses_of(unequal)
    yield "composed of two measures", _losses_of(mixed)
    yield "law of a composition", lambda: law(unequal().distribution(SCORES))
    yield "law repeated", lambda: law(tk.make_repeat(choice(MEASURES["max"]), times=2).distribution(SCORES))
    yield "composition shown", unequal
    yield "accuracy of a composition", lambda: unequal().accuracy(10)
    for times in (2, 8):
        profile = lambda n=times: tk.make_repeat(choice(PROFILE["profile"]), times=n)  # noqa: E731
        yield named("curve repeated", times=times), _losses_of(profile)


def _asked(talk: Any, queries: list[Any], account: bool = False) -> list[Any]:
    """What is answered, refused and lost, query by query."""
    found: list[Any] = []
    with scripted("a conversation"):
        queryable = talk(SCORES if talk.input_metric == SPACE[1] else TABLE)
        for query in queries:
            try:
                found.append(queryable(query))
            except tk.errors.TopKError as error:
                found.append(f"{type(error).__name__}: {error}")
            if account:
                found += [queryable.privacy_loss(d_in) for d_in in (0, 1, 2)]
    return found


def _conversations() -> Iterator[Case]:
    for word, measure in MEASURES.items():
        queries = [choice(measure, scale, k) for scale, k in ((8, 1), (4, 2), (100, 1), (1, 1), (16, 4))]
        budget = 0.5 if word != "zcdp" else 0.02
        filtered = lambda m=measure, b=budget: tk.make_privacy_filter(  # noqa: E731
            tk.make_fully_adaptive_composition(*SPACE, m), d_in=1, d_out=b
        )
        adaptive = lambda m=measure, b=budget: tk.make_adaptive_composition(*SPACE, m, d_in=1, d_mids=[b, b, b])  # noqa: E731
        odometer = lambda m=measure: tk.make_fully_adaptive_composition(*SPACE, m)  # noqa: E731
        for name, talk in (("filter", filtered), ("adaptive", adaptive)):
            yield named(name, word, "asked"), lambda talk=talk, q=queries: _asked(talk(), q)
            yield named(name, word, "map"), _losses_of(talk)
            yield named(name, word, "shown"), talk
        yield named("odometer", word, "asked"), lambda talk=odometer, q=queries: _asked(talk(), q, account=True)
        yield named("odometer", word, "shown"), odometer
        for d_mids in ([], [0.1], [0.1, -1], [1, "1"], None):
            make = partial(tk.make_adaptive_composition, *SPACE, measure, d_in=1, d_mids=d_mids)
            yield named("adaptive", word, d_mids=d_mids), _losses_of(make)


def _pair(indices: Any) -> tuple[int, tuple[int, ...]]:
    return int(sum(indices)) % 2, tuple(map(int, indices))


def _best_runs() -> Iterator[Case]:
    often = [tk.TruncatedNegativeBinomial(shape, 0.05) for shape in (-0.5, 0, 1, THIRD)] + [tk.Poisson(4)]
    sources = {"max": partial(choice, MEASURES["max"]), "profile": partial(choice, PROFILE["profile"])}
    sources["approx-max"] = partial(_own, WITH_DELTA["approx-max"], (1, 1e-6))
    sources["zcdp"] = partial(choice, MEASURES["zcdp"])
    for word, build in sources.items():
        for runs in often:
            make = lambda build=build, runs=runs: tk.make_private_selection(build() >> _pair, repetitions=runs)  # noqa: E731
            yield named("make_private_selection", word, repr(runs)), _losses_of(make)
        for threshold in (0.5, None, "high"):
            options = {"stop_probability": 0.05, "threshold": threshold}
            make = lambda build=build, o=options: tk.make_select_private_candidate(build() >> _pair, **o)  # noqa: E731
            yield named("make_select_private_candidate", word, threshold=threshold), _losses_of(make)
    pairs = lambda: choice(MEASURES["max"]) >> _pair  # noqa: E731
    best = lambda: tk.make_private_selection(pairs(), repetitions=often[1])  # noqa: E731
    first = lambda: tk.make_select_private_candidate(pairs(), stop_probability=THIRD, threshold=1)  # noqa: E731
    for word, make in (("best", best), ("first", first)):
        yield named("law of the", word), lambda make=make: law(make().distribution(SCORES))


def _paid() -> Iterator[Case]:
    for word, measure in WITH_DELTA.items():
        for steps, calls in ((4, 3), (10, 10), (2, 3), (0, 1)):
            options = {"d_in": 1, "steps": steps, "width": 0.25, "calls": calls, "delta": 1e-6}
            make = partial(tk.make_pay_what_you_get, *KEYED, measure, **options)
            yield named("make_pay_what_you_get", word, steps=steps, calls=calls), _losses_of(make)

    def best(k: int, scale: float = 4.0) -> Any:
        return KEYED >> tk.then_unknown_domain_top_k(WITH_DELTA["approx-max"], k=k, scale=scale, limit=9, delta=1e-7)

    options = {"d_in": 1, "steps": 6, "width": 0.25, "calls": 3, "delta": 1e-6}
    make = partial(tk.make_pay_what_you_get, *KEYED, WITH_DELTA["approx-max"], **options)
    for name, ks in (("one", [4, 3, 2]), ("two", [1, 1, 1, 1]), ("three", [7, 2])):
        yield named("paid", name), lambda ks=ks: _asked(make(), [best(k) for k in ks])
    yield "paid, too wide", lambda: _asked(make(), [best(1, 1.0)])
    odometer = partial(tk.make_fully_adaptive_composition, *KEYED, WITH_DELTA["approx-max"])
    yield "odometer of keys", lambda: _asked(odometer(), [best(4), best(1)], account=True)


def _chosen() -> Iterator[Case]:
    for word, measure in MEASURES.items():
        for bound in (0.25, 0.5, 0, "1"):
            make = lambda m=measure, b=bound: tk.make_followed_by(  # noqa: E731
                choice(m), follow=lambda found: choice(m, 8 if found[0] else 100), d_in=1, d_out=b
            )
            yield named("make_followed_by", word, d_out=bound), _losses_of(make)
            yield named("make_followed_by", word, "released", d_out=bound), partial(_replayed, make)
    none = lambda: tk.make_followed_by(choice(MEASURES["max"]), follow=len, d_in=1, d_out=1)  # noqa: E731
    yield "follow no measurement", partial(_replayed, none)


def _replayed(make: Callable[[], Any]) -> Any:
    with scripted("followed"):
        return make()(SCORES)


def _by_group() -> Iterator[Case]:
    inner = tk.FrameDomain("reader", "book"), tk.UserDistance()
    count = inner >> tk.then_count_by_item(candidates=["a", "b"])
    for word, measure in MEASURES.items():
        for kind in ("add_remove", "replace"):
            space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance(kind)
            for scales in ((2, 2), (2, 0.5), (2,)):
                made = {
                    town: count >> tk.then_report_noisy_top_k(measure, k=1, scale=s) for town, s in enumerate(scales)
                }
                make = partial(tk.make_partition_by, *space, measure, measurements=made)
                yield named("make_partition_by", word, kind, scales), partial(_users, make)
                yield named("make_partition_by", word, kind, scales, "shown"), make
            thrice = dict.fromkeys(range(3), made[0]) | {3: count >> tk.then_report_noisy_top_k(measure, k=1, scale=1)}
            several = partial(tk.make_partition_by, *space, measure, measurements=thrice, max_groups=2)
            yield named("make_partition_by", word, kind, max_groups=2), partial(_users, several)
    space = tk.FrameDomain("r", "b", group="t"), tk.UserDistance()
    yield "make_partition_by of none", partial(tk.make_partition_by, *space, MEASURES["max"], measurements={})
    yield "a chain shown", lambda: count >> tk.then_report_noisy_top_k(MEASURES["max"], k=1, scale=2)


def _users(make: Callable[[], Any]) -> list[Any]:
    link = make()
    return [link.map(d_in) for d_in in (0, 1, 2, 3)]
