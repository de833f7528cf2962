"""``python -m tests.noises.sixth_answers``: what the library says of a sixth noise, as JSON on standard output."""

import contextlib
import io
import json
import sys
from collections import Counter
from typing import Any

from .sixth import SIXTH, enter

enter()  # before the rooms above are loaded, as it is where a maintainer has added a line

import opendp_topk as tk  # noqa: E402
from opendp_topk.apps.audit import shipped  # noqa: E402
from opendp_topk.apps.cli import main  # noqa: E402
from opendp_topk.spaces.measures import PrivacyProfile  # noqa: E402

SCORES, ROW = [2, 0, 3], "report_noisy_top_k_one_sixth"
COUNTS = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
MEASURES = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
PLAN = "plan", "top-k", "--k", "2", "--candidates", "6", "--epsilon", "1"


def made(measure: tk.Measure, release: str = "ranking") -> tk.Measurement:
    """The two best of three, with the sixth noise."""
    return COUNTS >> tk.then_report_noisy_top_k(measure, k=2, scale=1.5, noise=SIXTH, release=release)


def command(*arguments: str) -> str:
    """The output of the command, on one line."""
    sys.argv, written = ["opendp-topk", *arguments], io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.suppress(SystemExit):
        main()
    return " ".join(written.getvalue().split())


def refusal(build: Any) -> str:
    """The message of the error of the library that is raised."""
    try:
        build()
    except tk.errors.ParameterError as refused:
        return str(refused)
    raise AssertionError("it was not refused")


def audited() -> list[tuple[str, str, float, float]]:
    """Constructor, kind of release, loss that was found, and what is claimed, of all that the audit builds with it."""
    own = [found for found in shipped.shipped_examples((tk.MaxDivergence(),)) if found.arguments.get("noise") == SIXTH]
    return [
        (found.constructor, found.arguments.get("release", ""), float(report.loss), float(found.measurement.map(1)))
        for found, report in shipped.verify_all(budget=4, among=own)
        if report is not None
    ]


def answers() -> dict[str, Any]:
    """All of it."""
    best, own = made(tk.MaxDivergence()), {"quantile": SIXTH.quantile, "survival": SIXTH.survival}
    return {
        "maps": [made(measure).map(1) for measure in MEASURES],
        "curve": made(PrivacyProfile()).map(1).delta(0),
        "accuracy": best.accuracy(50, 0.1),
        "law": {",".join(map(str, outcome)): float(p) for outcome, p in best.distribution(SCORES).items()},
        "success": made(tk.MaxDivergence(), "set").success_probability(SCORES),
        "releases": Counter(",".join(map(str, best(SCORES))) for _ in range(4000)),
        "compared": command(*PLAN, "--compare"),
        "planned": command(*PLAN, "--mechanism", ROW),
        "audit": audited(),
        "refused": refusal(lambda: tk.make_report_noisy_top_k(*COUNTS, tk.MaxDivergence(), k=1, scale=1, noise="no")),
        "taken": refusal(lambda: tk.noise.CustomNoise("Sixth", **own)),
    }


if __name__ == "__main__":
    print(json.dumps(answers()))
