"""Plans of small queues are the best there are: every stage, against trying everything, and against one model.

To search longer, from a seed on, in all or some families:
``PYTHONPATH=tests python tests/properties/test_plan_against_brute_force.py 0 1000 gangs``. With ``large`` behind it
twice as many units are planned, and the model is asked.
"""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest
from support.plan_by_force import Force, TooLargeError
from support.plan_monolith import Monolith, UndecidedError
from support.random_plans import CHAINS, FAMILIES, plan_manifests

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests
from drasat.solver.plan.plan import plan

_ADMITTED = ("admitted", "admitted=devices")
_SECOND = ("fewest-nodes", "spread", "admitted=devices")
# What depends on devices, and the families that differ in it.
_MEASURES = {
    "alternatives": ("preference", "least-consumption"),
    "partitions": ("least-consumption",),
    "shares": ("least-consumption",),
    "wishes": ("soft", "compact"),
    "ties": ("compact",),
    "network": ("compact",),
}
_SEEDS = 12
# Every so many members are planned with an audit as well, which has far more time than it needs.
_AUDITED, _SECONDS = 4, 600.0


class Question:
    """A member of a family, and what is asked about it."""

    def __init__(self, family, seed, large=False):
        self.documents = plan_manifests(family, seed, large)
        random = Random(f"objective/{family}/{seed}")
        unknown = ("soft", "compact", "least-consumption") if large else ()
        self.stages = [one for one in self._objective(family, random) if one not in unknown]
        self.buys = any(one["kind"] == "NodeTemplate" for one in self.documents)
        self.budget = random.choice((1, 2, 4, 5)) if family == "budget" else None
        self.only_new = self.buys and random.random() < 0.3
        if self.buys and "cost" not in self.stages:
            self.stages.append("cost")

    def _objective(self, family, random):
        first = [*_ADMITTED, "priority"]
        if family == "values":
            first += ["admitted=annotation:drasat.dev/value", "admitted=annotation:team.example/worth"] * 2
        if family == "shares":
            first += ["admitted=capacity:width"] * 2
        found = [random.choice(first)]
        if family == "priorities" or random.random() < 0.2:
            found = list(dict.fromkeys(["priority", *found]))
        more = [*_SECOND, *_MEASURES.get(family, ()) * 2]
        if family.startswith("b") and random.random() < 0.4:
            found.append("cost")
        found += random.sample(more, random.choice((0, 1, 1, 2, 3)))
        return list(dict.fromkeys(found))

    @property
    def cluster(self):
        manifests, problems, _ = read_manifests([self.documents])
        assert not [one for one in (*problems, *validate_manifests(manifests)) if one.severity == "error"]
        return Cluster.build(manifests)

    def reference(self, large):
        """Brute force, or the model for large questions. Raises ``TooLargeError`` for what that does not know."""
        kind = Monolith if large else Force
        found = kind(self.documents, self.stages, buy=self.buys, budget=self.budget, only_new=self.only_new)
        if large and not found.knows():
            raise TooLargeError
        return found

    def plan(self, **options):
        budget = None if self.budget is None else Decimal(self.budget)
        asked = {"objective": self.stages, "buy": self.buys, "budget": budget, "only_new": self.only_new}
        found = plan(self.cluster, **{"gap": 0, "time_limit": None, **asked, **options})
        return replace(found, seconds={})


def chosen(force, outcome):
    """The places of nodes, in the order of units."""
    places = {node.name: place for place, node in enumerate(force.nodes)}
    first = {}
    for one in outcome.units:
        first.setdefault((one.kind, one.name), one.replica)
    there = {(one.kind, one.name, one.replica - first[one.kind, one.name]): one.node for one in outcome.units}
    return [None if there[unit.id] is None else places[there[unit.id]] for unit in force.units]


def troubles(question, large, audit=None):
    """Everything that is wrong with the plan; with an audit a stage is proven only by what the verifier has checked."""
    force, outcome = question.reference(large), question.plan(audit=audit)
    told = {stage.stage: stage for stage in outcome.objective}
    if [*told] != force.names:
        yield f"the stages are {[*told]}, not {force.names}"
        return
    seats = chosen(force, outcome)
    if problem := force.problem(seats):
        yield problem
    for name, value in zip(force.names, force.values(seats), strict=True):
        if abs(told[name].value - float(value)) > 1e-9:
            yield f"{name} is said to be {told[name].value} and is {float(value)}"
    for name, best in zip(force.names, force.solve(), strict=True):
        stage, best = told[name], float(best)
        sign = 1 if stage.sense == "max" else -1
        if audit and stage.proven and not stage.proof.is_checked:
            yield f"{name} is proven, and rests on {stage.proof}"
        if stage.bound is not None and sign * (stage.bound - best) < -1e-9:
            yield f"{name}: the bound {stage.bound} cuts off the best, {best}"
        if stage.proven and abs(stage.value - best) > 1e-9:
            yield f"{name} is {stage.value}, proven, and could be {best}"
        if abs(stage.value - best) > 1e-9:
            yield from () if stage.proven else (f"unproven: {name} is {stage.value} and could be {best}",)
            return
        if not stage.proven:
            yield f"unproven: {name} is {stage.value}, which is best, with bound {stage.bound}"


def tell(family, seed, large=False, audit=None):
    """What is wrong with a member, and in which manner it is unproven."""
    try:
        return [*troubles(Question(family, seed, large), large, audit)]
    except (TooLargeError, UndecidedError):
        return ["too large"]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


@pytest.mark.parametrize("family", [*FAMILIES, *CHAINS])
def test_plans_are_the_best_there_are(family):
    found = Counter()
    for seed in range(_SEEDS):
        told = tell(family, seed)
        wrong = [line for line in told if not line.startswith(("unproven", "too large"))]
        assert wrong == [], f"seed {seed}: {wrong}"
        found[bool(told)] += 1
    assert found[True] <= found[False]


@pytest.mark.parametrize("family", [*FAMILIES, *CHAINS])
def test_audited_plans_are_the_best_there_are(family):
    """No bound of an audit cuts off the best, and no stage that is certified could be better."""
    for seed in range(0, _SEEDS, _AUDITED):
        told = tell(family, seed, audit=_SECONDS)
        assert [line for line in told if not line.startswith(("unproven", "too large"))] == [], seed


def test_audits_close_most_stages():
    """Otherwise the test above says little."""
    found = [Question(family, _AUDITED).plan(audit=_SECONDS).objective for family in FAMILIES]
    closed = Counter(stage.proven for stages in found for stage in stages)
    assert closed[True] > closed[False]


@pytest.mark.parametrize("family", FAMILIES)
def test_plans_are_equal_in_every_run_and_with_any_executor(family):
    for seed in range(2):
        question = Question(family, seed)
        first = repr(question.plan())
        assert repr(question.plan()) == first
        with ThreadPoolExecutor(2) as executor:
            assert repr(question.plan(executor=executor)) == first


def main(first, count, *families, large=False):
    """A long run; prints what is wrong."""
    for family in families or FAMILIES:
        found = Counter()
        for seed in range(first, first + count):
            told = tell(family, seed, large)
            found["unproven" if all(one.startswith("unproven") for one in told) and told else bool(told)] += 1
            for line in told:
                print(family, seed, line, flush=True)
        print(family, dict(found), flush=True)


if __name__ == "__main__":
    small = [one for one in sys.argv[1:] if one != "large"]
    main(int(small[0]), int(small[1]), *small[2:], large="large" in sys.argv)
