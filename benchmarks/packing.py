"""Pack instances of the literature as purchases: ``packing.py [variable] [priced] [vectors] [triplets]``, or all.

Each instance is a queue and kinds of nodes to buy (``packing_instances.py``). It is posed in three ways, and all three
must come to the same cost. Times are CPU seconds of the plan after reading, and by the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter, process_time

from packing_instances import (
    FIVE_SIZES,
    FORMS,
    LEAST_SIZES,
    PRICES,
    THREE_SIZES,
    PackingInstance,
    packing,
    priced,
    triplets,
    variable_sized,
    vectors,
)
from tables import machine, show

from drasat.reports.comparison import display_duration
from drasat.solver.allocate.load import load
from drasat.solver.plan.outcome import OPTIMAL, PlanOutcome
from drasat.solver.plan.plan import plan

COLUMNS = ("instance", "units", "cost", "bound", "known", *FORMS, "CPU")
LIMITS = {"variable": 30.0, "priced": 30.0, "vectors": 60.0, "triplets": 60.0}
VARIABLE_ITEMS, PRICED_ITEMS, VECTOR_ITEMS, TRIPLET_ITEMS = (
    (25, 100, 200, 1000),
    (25, 50, 100, 200, 500, 1000, 2000),
    (25, 50, 100),
    (60, 120),
)
VECTOR_CLASSES, DIMENSIONS = range(1, 11), (2,)


def variable(seeds: int) -> Iterator[PackingInstance]:
    """Monaci's instances."""
    for items in VARIABLE_ITEMS:
        for sizes in (THREE_SIZES, FIVE_SIZES):
            for least in LEAST_SIZES:
                yield from (variable_sized(items, least, sizes, seed=seed) for seed in range(seeds))


def by_price(seeds: int) -> Iterator[PackingInstance]:
    """Those with linear, convex and concave prices."""
    for items in PRICED_ITEMS:
        for shape in PRICES:
            yield from (priced(items, shape, seed=seed) for seed in range(seeds))


def in_dimensions(seeds: int, numbers: Sequence[int] = DIMENSIONS) -> Iterator[PackingInstance]:
    """Vectors of all classes, in these numbers of dimensions."""
    for dimensions in numbers:
        for items in VECTOR_ITEMS:
            for kind in VECTOR_CLASSES:
                yield from (vectors(items, kind, dimensions, seed=seed) for seed in range(seeds))


def by_three(seeds: int) -> Iterator[PackingInstance]:
    """Triplets."""
    for items in TRIPLET_ITEMS:
        yield from (triplets(items, seed=seed) for seed in range(seeds))


FAMILIES: Mapping[str, Callable[[int], Iterator[PackingInstance]]] = {
    "variable": variable,
    "priced": by_price,
    "vectors": in_dimensions,
    "triplets": by_three,
}


def rows(instances: Iterator[PackingInstance], limit: float, forms: Sequence[str] = FORMS) -> Iterator[tuple[str, ...]]:
    """A row an instance: the cost and its bound, and for each way by the clock how long it took, or its gap."""
    yield COLUMNS
    for instance in instances:
        found = {form: _planned(instance, form, limit) for form in forms}
        costs = {_cost(one) for one, _, _ in found.values() if one.outcome == OPTIMAL}
        assert len(costs) <= 1, f"{instance.name}: ways to pose it disagree: {sorted(costs)}"
        assert instance.optimum is None or costs <= {float(instance.optimum)}
        stage = next(stage for stage in next(iter(found.values()))[0].objective if stage.stage == "cost")
        known = "" if instance.optimum is None else str(instance.optimum)
        told = (_told(*found[form]) if form in found else "" for form in FORMS)
        used = display_duration(max(cpu for _, _, cpu in found.values()))
        yield instance.name, str(len(instance.items)), str(stage.value), str(stage.bound), known, *told, used


def _planned(instance: PackingInstance, form: str, limit: float) -> tuple[PlanOutcome, float, float]:
    cluster = load(packing(instance, form))
    clock, cpu = perf_counter(), process_time()
    found = plan(cluster, buy=True, gap=0.0, time_limit=limit)
    assert found.verified
    assert found.placed == len(instance.items)
    return found, perf_counter() - clock, process_time() - cpu


def _cost(found: PlanOutcome) -> float:
    return float(next(stage.value for stage in found.objective if stage.stage == "cost"))


def _told(found: PlanOutcome, seconds: float, _cpu: float) -> str:
    """The time of a proven optimum, and the gap of another plan."""
    gap = max(stage.gap or 0.0 for stage in found.objective)
    return display_duration(seconds) if found.outcome == OPTIMAL else f"{100 * gap:.2f} %"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--seeds", type=int, default=1, help="instances of a kind")
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS, help="numbers of those of vectors")
    parser.add_argument("--limit", type=float, help="of the clock for a plan; default: by family")
    parser.add_argument("--form", action="append", choices=FORMS, help="ways to pose an instance; default: all")
    options = parser.parse_args(arguments)
    print(machine())
    families = {**FAMILIES, "vectors": partial(in_dimensions, numbers=options.dimensions)}
    for name in options.families or families:
        show(rows(families[name](options.seeds), options.limit or LIMITS[name], options.form or FORMS))


if __name__ == "__main__":
    main()
