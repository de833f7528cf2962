"""Maps of chains, of tables and of searches."""

from __future__ import annotations

import math
from typing import Any

from tests.mutation.library import tk
from tests.mutation.oracles import expect


def check() -> None:
    """A chain costs what its last link costs at the distance that its first link makes of the caller's."""
    for neighbors, monotonic, factor in (("add_remove", True, 1), ("replace", True, 2), ("replace", False, 1)):
        space = tk.FrameDomain("user", "item"), tk.UserDistance(neighbors)
        counts = tk.make_count_by_item(*space, candidates=[1, 2, 3], monotonic=monotonic)
        for users in (1, 3):
            expect(counts.map(users) == factor * users, f"{users} users move counts by another distance: {neighbors}")
        best = tk.make_report_noisy_top_k(counts.output_domain, counts.output_metric, tk.MaxDivergence(), k=1, scale=8)
        expect((counts >> best).map(1) == best.map(factor), "the map of a chain is not the composition of its maps")
        expect((counts >> best >> len).map(1) == best.map(factor), "post-processing changes the map")
    _searches()


def _searches() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)

    def noisy(scale: Any) -> Any:
        return tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=3, scale=scale)

    for budget in (0.3, 1.0):
        scale = tk.binary_search_param(noisy, 1, budget)
        expect(noisy(scale).map(1) <= budget, "a search returns a parameter that does not pass")
        expect(noisy(math.nextafter(scale, 0)).map(1) > budget, "a search returns more noise than is needed")
