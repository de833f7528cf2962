"""The best 3 in each group of a Spark frame, drawn by the driver or by its workers.

``python -m tests.benchmarks.spark_groups GROUPS ITEMS ROWS``: uniform, ten rows a user. Each plan has a session of its
own, whose two executors are other processes than the driver. "counts" makes the counts of all groups and drops them,
as either plan does first. A peak is that of the driver's Python and of its JVM. Needs the extra ``spark`` and Java.
"""

import os
import subprocess
import sys
import time

import opendp_topk as tk
from opendp_topk.combinators import _spark_groups
from opendp_topk.tables.grouping import cells_by_group

from .spark_scores import children, peak, session

PLANS = ("counts", "driver", "workers")


def row(plan: str, groups: int, items: int, rows: int) -> str:
    """One line of the table."""
    _spark_groups.FEW = 0 if plan == "workers" else groups * items
    with session("local-cluster[2,1,1536]", {"spark.driver.memory": "2g"}) as spark:
        table = spark.range(0, rows, 1, 16).selectExpr(
            "pmod(xxhash64(id div 10), 1000000000) as user",
            f"pmod(xxhash64(id), {items}) as item",
            f"pmod(xxhash64(id div 10, 1), {groups}) as town",
        )
        count = (tk.FrameDomain("user", "item"), tk.UserDistance()) >> tk.then_count_by_item(candidates=range(items))
        best = count >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=2.0)
        domain, towns = tk.FrameDomain("user", "item", group="town"), range(groups)
        by_town = tk.make_partition_by(
            domain, tk.UserDistance(), tk.MaxDivergence(), measurements=dict.fromkeys(towns, best)
        )
        start = time.perf_counter()
        if plan == "counts":
            cells_by_group(domain.validate(table), towns, range(items), 1).write.format("noop").mode("overwrite").save()
        else:
            assert len(by_town(table)) == groups
        seconds = time.perf_counter() - start
        peaks = " + ".join(f"{peak(one) / 1000:.2f}" for one in (os.getpid(), *children()))
    return f"| {groups:,} | {items:,} | {rows:,} | {plan} | {seconds:.0f} s | {peaks} GB |"


def main() -> None:
    if sys.argv[1] in PLANS:
        print(row(sys.argv[1], *map(int, sys.argv[2:])), flush=True)
        return
    print("| groups | items | rows | plan | time | driver's peak |\n|--:|--:|--:|---|--:|--:|", flush=True)
    for plan in PLANS:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.spark_groups", plan, *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
