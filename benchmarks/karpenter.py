"""What Karpenter's round costs beside the least: ``karpenter.py [PODS] [SEEDS] [LIMIT] [plan]`` prints a table.

The scenario is ``machines``: types in three zones with spot, on-demand and reserved offerings, three pools, and pods of
forty kinds that wait. Karpenter itself is asked where it is built, its round in Python otherwise. With ``plan`` only
the plan is made.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import inf
from statistics import mean, median
from time import process_time

from tables import machine, show

from drasat import compare_purchases, plan
from drasat.integrations.karpenter.comparison import GREEDY, KARPENTER, PLAN
from drasat.peers.programs import find_program
from drasat.scenarios.machines import machines
from drasat.solver.allocate.load import load

TYPES = 400


def rows(pods: int, seeds: int, limit: float) -> Iterator[tuple[str, ...]]:
    """A row a seed, and one for all of them."""
    yield "seed", "planner", "pods placed", "its cost", "least cost", "bound", "gap", "more than the least", "refused"
    asked = KARPENTER if find_program(KARPENTER) else GREEDY
    shares, gaps = [], []
    for seed in range(seeds):
        found = compare_purchases(load(machines(TYPES, pods, seed=seed)), [asked, PLAN], time_limit=limit)
        theirs, least = found.planners
        bound = least.bound or 0.0
        gaps.append(1 - bound / least.cost if least.cost else 0.0)
        placed = f"{theirs.placed} and {least.placed} of {pods}"
        share = theirs.cost / least.cost - 1 if least.cost else 0.0
        if theirs.placed == least.placed:
            shares.append(share)
        costs = f"{theirs.cost:.2f}", f"{least.cost:.2f}", f"{bound:.2f}", f"{gaps[-1]:.2%}"
        yield str(seed), f"{asked} {theirs.version}".strip(), placed, *costs, f"{share:+.1%}", str(len(theirs.refused))
    if shares:
        told = (
            f"mean {mean(shares):+.1%}, median {median(shares):+.1%}, least {min(shares):+.1%}, most {max(shares):+.1%}"
        )
        yield "all", "", f"{len(shares)} alike", "", "", "", f"most {max(gaps):.2%}", told, ""


def plan_rows(pods: int, seeds: int, limit: float) -> Iterator[tuple[str, ...]]:
    """A row a seed: how far the plan is from its bounds."""
    yield "seed", "cost", "bound", "gap", "nodes", "bound", "CPU"
    for seed in range(seeds):
        cluster, began = load(machines(TYPES, pods, seed=seed)), process_time()
        found = plan(cluster, buy=True, time_limit=limit)
        stages = {one.stage: one for one in found.document.objective}
        cost, nodes = stages["cost"], stages["fewest-nodes"]
        gap = float(cost.value) / float(cost.bound) - 1 if cost.bound else inf
        amounts = f"{float(cost.value):,.2f}", f"{float(cost.bound or 0):,.2f}", f"{gap:.3%}"
        yield str(seed), *amounts, f"{nodes.value:,}", f"{nodes.bound or 0:,}", f"{process_time() - began:.1f} s"


if __name__ == "__main__":
    wanted = [*sys.argv[1:], *["2000", "20", "120"][len(sys.argv) - 1 :]]
    print(machine())
    made = plan_rows if wanted[3:] == ["plan"] else rows
    show(made(int(wanted[0]), int(wanted[1]), float(wanted[2])))
