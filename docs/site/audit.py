"""The verifier's findings: a table for each constructor, and a page about all of them."""

from __future__ import annotations

from collections.abc import Iterable

from opendp_topk.apps.audit.html.findings import Finding, collect_findings
from opendp_topk.apps.audit.registry import Claim

_MEASURES = {"epsilon": "MaxDivergence", "range": "RangeDivergence", "rho": "ZeroConcentratedDivergence"}
_ROW = (
    "measure",
    "arguments",
    "neighbours",
    "claimed",
    "largest loss found",
    "ratio",
    "pairs",
    "worst pair",
    "verdict",
)
_REPORT = """# Audit report

The state of the proof of each constructor, the number of test files that use it, and the largest ratio of a loss that
the exact verifier found to the claimed loss, over all arguments. A dash marks claims that are not verified by
enumeration. The page of a constructor lists its findings. The site tries two pairs of neighbours for each map;
[the verifier's table](tightness.md) is a longer search. `opendp-topk audit --html FOLDER` writes the same for the
installed version, with your sign-offs.

"""


def findings() -> list[Finding]:
    """The findings with two pairs of neighbours for each map."""
    return collect_findings(2)


def evidence(claim: Claim, found: Iterable[Finding]) -> str:
    """The findings and the tests of a constructor, as Markdown."""
    rows = [
        (
            *(one.measure, one.arguments, one.neighbours, one.claimed, one.loss, _ratio([one]), one.pairs),
            *(f"`{one.worst_pair}`", one.verdict),
        )
        for one in found
        if one.constructor == claim.constructor
    ]
    verified = _table(_ROW, rows) if rows else "Not verified by enumeration.\n"
    tests = "\n".join(f"- `{name}`" for name in claim.tests) or "No test refers to it."
    return f"\n## Verification\n\n{verified}\n## Tests\n\n{tests}\n"


def report(claims: Iterable[Claim], found: Iterable[Finding]) -> str:
    """The page about all constructors, as Markdown."""
    rows = [
        (
            f"[`{claim.constructor}`](api/{claim.constructor}.md)",
            claim.status,
            str(len(claim.tests)),
            *(
                _ratio(one for one in found if (one.constructor, one.measure) == (claim.constructor, measure))
                for measure in _MEASURES.values()
            ),
            f"[{claim.document}](proofs/{claim.document}.md)",
        )
        for claim in claims
    ]
    return _REPORT + _table(("constructor", "state", "tests", *_MEASURES, "proof"), rows)


def _ratio(found: Iterable[Finding]) -> str:
    ratios = [one.ratio for one in found if one.ratio is not None]
    return f"{max(ratios):.4f}" if ratios else "-"


def _table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (headers, ("---",) * len(headers), *rows))
