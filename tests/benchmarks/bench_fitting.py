"""How many equal releases fit into a budget (epsilon, delta): ``python -m tests.benchmarks.bench_fitting``.

It prints the table of docs/explanation/composition.md: as often as their rhos fit, as they fit without and with a
``step``, and as their composed privacy curve would allow at the whole of delta.
"""

from fractions import Fraction
from typing import Any

import opendp_topk as tk
from opendp_topk.apps.ledger import amounts
from opendp_topk.apps.ledger.amounts import BudgetAccount, add_amounts, curve_from_loss, largest_rho, open_account
from opendp_topk.spaces.costs import rho_of_pure
from opendp_topk.spaces.stated import pure_of

PROFILE = tk.PrivacyProfile()
SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
EPSILONS, DELTAS = ("1/2", "1", "3", "5"), ("1e-9", "1e-6", "1e-4")
MECHANISMS = {
    "permute-and-flip, scale 2": SPACE >> tk.then_permute_and_flip(PROFILE, scale=2),
    "permute-and-flip, scale 10": SPACE >> tk.then_permute_and_flip(PROFILE, scale=10),
    "exponential mechanism, scale 4": SPACE >> tk.then_exponential_mechanism(PROFILE, scale=4),
    "10 winners, Gumbel noise, scale 20": SPACE >> tk.then_report_noisy_top_k(PROFILE, k=10, scale=20),
    "5 winners, Laplace noise, scale 20": SPACE
    >> tk.then_report_noisy_top_k(PROFILE, k=5, scale=20, noise=tk.noise.Laplace()),
    "canonical, 10 winners, scale 3": SPACE >> tk.then_canonical_top_k(PROFILE, k=10, scale=3),
}


def fitting(account: BudgetAccount, loss: Any) -> int:
    """How many releases of this loss an account admits."""
    spent, cost, count = account.zero_amount, account.charge_for_loss(PROFILE, loss), 0
    while cost is not None and account.is_total_allowed(spent := add_amounts(spent, cost)):
        count += 1
    return count


def row(loss: Any, epsilon: str, delta: str) -> tuple[int, int, int, int]:
    """By rho alone with half of delta kept for other releases, now, now with a step, and by the composed curve."""
    budget = Fraction(epsilon), Fraction(delta)
    curve = curve_from_loss(PROFILE, loss)
    rho = rho_of_pure(Fraction(pure_of(curve)))
    alone = int(largest_rho(budget[0], budget[1] / 2) // rho)
    now, stepped = open_account(PROFILE, budget), open_account(PROFILE, budget, 0, curve)
    return alone, fitting(now, loss), fitting(stepped, loss), amounts.largest_step_count(curve, *budget)[0]


def main() -> None:
    """Print the table."""
    print("| release | epsilon | " + " | ".join(f"delta {one}" for one in DELTAS) + " |")
    print("|---|--:|" + "--:|" * len(DELTAS))
    for name, measurement in MECHANISMS.items():
        for epsilon in EPSILONS:
            cells = [" / ".join(map(str, row(measurement.map(1), epsilon, delta))) for delta in DELTAS]
            print(f"| {name} | {epsilon} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
