"""The pytest plugin: a claim of differential privacy is a test like any other.

Only pytest is loaded until a test requests ``dp_audit``. All audits of a run together refute a true claim with
probability at most ``--dp-false-alarm``, which is shared equally among the collected tests.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..audit.audited import Audited

_ALARM = 1e-3
_SURE = 1 - 1e-9  # the confidence of a replay: a reported fault should be beyond doubt
_SAMPLES = {"quick": 4_000, "usual": 20_000, "thorough": 1_000_000}
_KEPT = "dp_audit/{}"  # in pytest's cache: the pair of the last refutation, a file for each audit of a test
_SAID = "dp_audit"
_COLOURS = {"bad": "red", "open": "blue", "warn": "yellow"}
_SHARE = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run."""
    group = parser.getgroup("dp_audit", "audits of differential privacy")
    group.addoption("--dp-quick", action="store_true", help=f"{_SAMPLES['quick']:,} samples an audit")
    group.addoption("--dp-thorough", action="store_true", help=f"{_SAMPLES['thorough']:,} samples an audit")
    group.addoption(
        "--dp-replay",
        action="store_true",
        help="audit again the pairs that were refuted in the last run, at an error probability of 1e-9",
    )
    group.addoption(
        "--dp-false-alarm", type=float, metavar="P", help="maximum probability that a run refutes any true claim"
    )
    parser.addini("dp_false_alarm", "the default of --dp-false-alarm", default=str(_ALARM))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and check the probability of a false alarm before any test runs."""
    config.addinivalue_line(
        "markers",
        "dp_audit(epsilon=..., delta=..., rho=..., samples=..., **options): the claim that the fixture dp_audit tests",
    )
    given = config.getoption("--dp-false-alarm")
    try:
        alarm = float(config.getini("dp_false_alarm") if given is None else given)
    except ValueError:
        alarm = math.nan
    if not 0 < alarm <= 0.5:
        raise pytest.UsageError("--dp-false-alarm must be a probability above 0 and at most 0.5")
    if config.getoption("--dp-quick") and config.getoption("--dp-thorough"):
        raise pytest.UsageError("--dp-quick and --dp-thorough cannot be combined")
    config.stash[_SHARE] = alarm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise an error before any test runs if no audit would use a claim, or if the audit does not accept it."""
    marked = [(item, marker) for item in items if (marker := item.get_closest_marker(_SAID))]
    problems = [f"{item.nodeid}: {problem}" for item, marker in marked if (problem := _marker_problem(item, marker))]
    if problems:
        raise pytest.UsageError(*problems)


def _marker_problem(item: pytest.Item, marker: pytest.Mark) -> str:
    """Return the problem with the claim of a test; empty if there is none."""
    if _SAID not in getattr(item, "fixturenames", ()):
        return "the marker dp_audit states a claim that is not tested: use the fixture dp_audit and call it"
    from ..audit.audited import audit_claim

    known = [name for name in inspect.signature(audit_claim).parameters if name not in ("function", "confidence")]
    unknown = [name for name in marker.kwargs if name not in known]
    if marker.args or unknown:
        given = f"no argument {unknown[0]}" if unknown else "named arguments only"
        return f"the marker dp_audit has {given}; its arguments are {', '.join(known)}"
    return ""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give each test that will audit an equal share; every worker of xdist has collected the same tests."""
    auditing = sum(_SAID in getattr(item, "fixturenames", ()) for item in session.items)
    session.config.stash[_SHARE] /= max(1, auditing)


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Iterator[Callable[..., Audited]]:
    """``dp_audit(function, epsilon=..., ...)`` fails a test whose claim is refuted, and skips it if it is not tested.

    The claim may be in the marker ``dp_audit`` of the test instead; arguments are those of
    ``opendp_topk.apps.audit.audit_claim``, except confidence. The j-th audit of a test uses 2^-j of its share.
    """
    share, node = request.config.stash[_SHARE], request.node
    marker = node.get_closest_marker(_SAID)
    stated: dict[str, Any] = dict(marker.kwargs) if marker else {}
    replay = request.config.getoption("--dp-replay")
    made = 0

    def audit_function(function: Callable[..., Any], **options: Any) -> Audited:
        nonlocal made
        from ..audit.audited import audit_claim, audit_pair

        made += 1
        place = _KEPT.format(hashlib.sha256(f"{node.nodeid} {made}".encode()).hexdigest()[:24])
        kept = _load_refuted_pair(request.config, place)
        if replay and kept is None:
            pytest.skip("dp_audit: nothing to replay: this claim was not refuted in the last run")
        settings = {"samples": _sample_count(request.config), **stated, **options}
        confidence = _SURE if replay else math.nextafter(1 - share * 2.0**-made, 1.0)
        settings["confidence"] = confidence
        found = audit_pair(function, kept, **settings) if replay else audit_claim(function, **settings)
        node.user_properties.append((_SAID, found.verdict))
        if found.exit_code == 1:
            if not replay and (cache := getattr(request.config, "cache", None)) is not None:
                cache.set(place, found.pair)  # of a caller's own pairs only the number
            _fail_refuted_test(node.nodeid, found, replay)
        elif found.exit_code:
            pytest.skip(f"dp_audit: {found.lines[0]}; more samples or a smaller claim would")
        return found

    yield audit_function
    if not made and marker:
        pytest.fail("dp_audit: the test has a claim but no audit: call dp_audit(function)", pytrace=False)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the verdicts on the claims, and the false-alarm probability of a run with true claims only."""
    said = [
        word
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, word in getattr(report, "user_properties", ())
        if name == _SAID and getattr(report, "when", "") == "teardown"
    ]
    if said and not config.getoption("--dp-replay"):
        from ..audit.report import NOT_REFUTED, NOT_TESTED, REFUTED, TONES

        terminalreporter.write(f"dp_audit: {len(said)} claims: ")
        for word, after in ((REFUTED, ", "), (NOT_REFUTED, ", "), (NOT_TESTED, "; ")):
            terminalreporter.write(f"{said.count(word)} {word}", **{_COLOURS[TONES[word]]: True})
            terminalreporter.write(after)
        alarm = config.getoption("--dp-false-alarm") or float(config.getini("dp_false_alarm"))
        terminalreporter.write_line(f"if all claims are true, any is refuted with probability at most {alarm:g}")


def _sample_count(config: pytest.Config) -> int:
    wanted = [kind for kind in ("quick", "thorough") if config.getoption(f"--dp-{kind}")]
    return _SAMPLES[wanted[0] if wanted else "usual"]


def _load_refuted_pair(config: pytest.Config, place: str) -> Any:
    cache = getattr(config, "cache", None)
    return None if cache is None else cache.get(place, None)


def _fail_refuted_test(test: str, found: Audited, replay: bool) -> None:
    again = "" if replay else f'\naudit this pair again, at an error probability of 1e-9: pytest "{test}" --dp-replay'
    pytest.fail(f"dp_audit: {found}{again}", pytrace=False)
