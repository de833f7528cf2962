"""What somebody writes who uses the library and checks types: right lines, and wrong ones with the kind of their error.

``test_typing.py`` holds ``mypy --strict`` against it; nobody imports it.
"""

from collections.abc import Callable

import opendp_topk as tk

space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
noisy_space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
table_space = tk.FrameDomain("user", "item"), tk.UserDistance()
pages = ["home", "news", "shop"]


def top(k: int, scale: float) -> tk.Measurement:
    return space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=k, scale=scale) >> tk.index_candidates(pages)


def counted() -> tk.Transformation:
    return table_space >> tk.then_count_by_item(candidates=pages)


def chain(scale: float) -> tk.Measurement:
    return counted() >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=scale)


def found() -> tk.Measurement:
    return tk.binary_search_chain(chain, d_in=1, d_out=0.5)


def noise() -> tk.Measurement:
    return noisy_space >> tk.then_laplace(tk.MaxDivergence(), scale=2.0)


def conversation() -> tk.Odometer:
    return space >> tk.then_fully_adaptive_composition(tk.MaxDivergence())


def made_alone() -> tk.Partial[tk.VectorDomain, tk.LInfDistance, tk.Measurement]:
    return tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)


def made(build: Callable[[float], tk.Measurement]) -> float:
    return float(build(2.0).map(1))


made(chain)
version: str = tk.__version__
ranked = counted() >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)
chosen = space >> tk.then_permute_and_flip(tk.PrivacyProfile(), scale=2.0)
epsilon: float = ranked.map(1)
shape: tuple[int, ...] = ranked([3, 1]).shape
index: int = chosen([3, 1])
spelt: str = (chosen >> str)([3, 1])
pair: tuple[float, float] = tk.make_fix_delta(chosen, delta=1e-6).map(1)
own: tk.Measurement[float, int] = tk.make_user_measurement(
    *space, tk.MaxDivergence(), function=len, privacy_map=lambda d_in: d_in
)

space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), kk=2, scale=1.0)  # wrong: call-arg
space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k="2", scale=1.0)  # wrong: arg-type
space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), scale=1.0)  # wrong: call-arg
space >> tk.then_report_noisy_top_k(tk.LInfDistance(), k=2, scale=1.0)  # wrong: arg-type
noisy_space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)  # wrong: operator
table_space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)  # wrong: operator
space >> tk.then_count_by_item(candidates=pages)  # wrong: operator
space[0] >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)  # wrong: operator
counted() >> conversation()  # wrong: operator
counted() >> len  # wrong: operator
tk.then_laplace(tk.MaxDivergence(), scale=2.0) >> len  # wrong: operator
tk.then_laplace(tk.MaxDivergence(), scale=2.0)([1, 2])  # wrong: arg-type
pair = ranked.map(1)  # wrong: assignment
epsilon = chosen.map(1)  # wrong: assignment
index = ranked([3, 1])  # wrong: assignment
ranked >> abs >> str.upper  # wrong: operator
own = chosen  # wrong: assignment
number: int = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)  # wrong: assignment
again: tk.Measurement = table_space >> tk.then_count_by_item(candidates=pages)  # wrong: assignment
