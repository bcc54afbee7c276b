"""Random trees of queues and cohorts, with usage that may be above quota."""

import random
from fractions import Fraction

from drasat.integrations.kueue.quota_tree import NodeQuota, QuotaLimits

GPU, CPU, OTHER = ("f", "gpus"), ("f", "cpu"), ("g", "gpus")


def random_tree(seed):
    """Queues and cohorts with random limits, up to four levels deep, and usage that may be above its quota."""
    chance = random.Random(seed)

    def described(name, parents):
        parent = chance.choice(parents)
        limits = {}
        for pair in (GPU, CPU, OTHER):
            if chance.random() < 0.8:
                borrowing, lending = (
                    chance.randint(0, 6) if parent and chance.random() < 0.4 else None for _ in range(2)
                )
                limits[pair] = QuotaLimits(chance.randint(0, 9), borrowing, lending)
        return NodeQuota(name, parent, limits, Fraction(chance.choice([1, 1, 2, 3])))

    cohorts = [NodeQuota("root")]
    for index in range(chance.randint(0, 4)):
        cohorts.append(described(f"c{index}", [one.name for one in cohorts]))
    queues = [described(f"q{index}", ["", *(one.name for one in cohorts)]) for index in range(chance.randint(1, 6))]
    used = {
        one.name: {pair: chance.randint(0, 9) for pair in (GPU, CPU, OTHER) if chance.random() < 0.7} for one in queues
    }
    return queues, cohorts, used
