"""What the verifier and audits make of a solver that is wrong.

Random clusters, four examples and three hard questions meet every fault. All other examples, the random full nodes and
what is small enough of hard questions and plan scenarios meet two or three faults each.

``PYTHONPATH=tests python tests/properties/test_faults.py 40`` takes so many seeds of each family.
"""

import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import process_time

import inference_scenarios
import pytest
from full_nodes import full_node
from support.families import FAMILIES
from support.faults import FAULTS
from support.groups import device_class
from support.moving import random_scene
from support.plan_building import classes, cluster
from support.preempting import PreemptingScene, preempting_scene
from support.random_clusters import load
from support.random_groups import Instance
from support.random_plans import FAMILIES as PLAN_FAMILIES
from support.random_plans import plan_manifests

from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import InputError
from drasat.models.kubernetes.karpenter import NodePool
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.scenarios import fragmented, machines, one_node, openb, queues, quota
from drasat.scenarios.lattices import SHAPE_QUESTIONS
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import VerificationError
from drasat.solver.allocate.load import load as load_cluster
from drasat.solver.capacity.capacity import capacity
from drasat.solver.explain.explain import explain
from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.master_problem import IntegerPlan
from drasat.solver.plan.moves import plan_with_moves
from drasat.solver.plan.plan import plan

SECONDS = 600.0
# What contradicts itself may keep a search going.
ENDLESS, LIMIT = ("values", "a column"), 2.0


class Allocation:
    """Which units of a cluster are refused, up to the first that differs."""

    def __init__(self, cluster):
        self._cluster, self.engine = cluster, "cp-sat"
        self.right = self.asked(None, None)

    def asked(self, audit, limit):
        found = allocate(self._cluster, engine=self.engine, time_limit=limit, audit=audit)
        return [
            (unit.outcome is Status.ALLOCATED, bool(unit.proof_kind and unit.proof_kind.is_checked))
            for unit in found.units
        ]

    def is_wrong(self, found):
        """Whether something is refused that fits; later units meet other devices in use."""
        return self._first(found) is not None

    def is_certified(self, found):
        return self._first(found)[1]

    def _first(self, found):
        pairs = zip(self.right, found, strict=True)
        first = next(((right, one) for right, one in pairs if right[0] != one[0]), None)
        return first[1] if first and first[0][0] else None


class Explained(Allocation):
    """Which units of a cluster are refused, and for which sets of reasons."""

    def asked(self, audit, limit):
        found = explain(self._cluster, time_limit=limit, audit=audit)
        return [
            (
                unit.outcome == Status.ALLOCATED,
                all(one.certified for one in unit.failures),
                tuple((one.names, one.reasons) for one in unit.failures),
            )
            for unit in found.units
        ]


class Counted:
    """How many copies of the first thing that asks for devices fit each node."""

    def __init__(self, cluster):
        self._cluster, unit = cluster, requested_units(cluster)[0]
        # Claims that a pod names, and does not have, cannot be copied with it.
        named = next(("/".join(one.key) for one in unit.claims if not one.generated), "")
        self._copied = {"claim": named} if named else {"pod": f"{unit.namespace}/{unit.name}"}
        self.right = self.asked(None, None)

    def asked(self, audit, limit):
        found = capacity(self._cluster, **self._copied, limit=COPIES, time_limit=limit, audit=audit)
        return {
            name: (one.room.fits, one.room.bound, one.proof_kind.is_checked)
            for one in found.nodes
            for name in one.nodes
            if not one.room.unbounded
        }

    def is_wrong(self, found):
        """Whether more copies fit a node than its bound says."""
        return bool(self._wrong(found))

    def is_certified(self, found):
        return any(found[name][2] for name in self._wrong(found))

    def _wrong(self, found):
        pairs = ((name, fits, found.get(name, (0, None))[1]) for name, (fits, _, _) in self.right.items())
        return [name for name, fits, bound in pairs if bound is not None and bound < fits]


class Planned:
    """What the stages of a plan come to."""

    def __init__(self, cluster):
        self._cluster, self._buys = cluster, bool(cluster.node_templates or cluster.objects(NodePool))
        self.right = self.asked(None, None)

    def asked(self, audit, limit):
        objective = ("priority", "admitted", "cost" if self._buys else "fewest-nodes")
        return plan(self._cluster, objective=objective, buy=self._buys, gap=0, time_limit=limit, audit=audit).objective

    def is_wrong(self, found):
        """Whether a stage is said to be proven and is not the best."""
        return self._first(found) is not None

    def is_certified(self, found):
        return self._first(found).proof.is_checked

    def _first(self, found):
        for right, one in zip(self.right, found, strict=False):
            if right.stage != one.stage or right.value != one.value:
                # Later stages are about other plans; of pods that are not seen as victims there is no stage.
                return one if right.stage == one.stage and one.proven else None
        return None


class Leaving(Planned):
    """What the stages of a plan come to in which running pods move or lose their places."""

    def __init__(self, cluster, *, preempts=False, moves=True):
        self._options = MoveOptions(preempts=preempts, moves=moves)
        super().__init__(cluster)

    @classmethod
    def of_scene(cls, scene):
        preempts = isinstance(scene, PreemptingScene)
        cluster_ = cluster(*classes(), *scene.objects())
        return cls(cluster_, preempts=preempts, moves=not preempts or scene.moves)

    def asked(self, audit, limit):
        found = plan_with_moves(self._cluster, self._options, gap=0, time_limit=limit, audit=audit)
        # The last one counts nodes of pods that may move, which are not always the same ones.
        return tuple(one for one in found.objective if one.stage != "fewest-nodes")


def questions(seeds):
    """The questions of each verb: random clusters of all families, examples, and some of the hard set."""
    families = [load(family, seed) for family in FAMILIES for seed in range(seeds)]
    examples = [load_cluster(EXAMPLES_PATH / name) for name in EXAMPLES]
    hard = [load_cluster(one_node.QUESTIONS[name].objects()) for name in HARD]
    documents = [plan_manifests(family, seed) for family in PLAN_FAMILIES for seed in range(seeds)]
    leaving = [Leaving.of_scene(made(seed)) for made in SCENES for seed in range(4 * seeds)]
    plans = [Planned(Cluster.build(read_manifests([one])[0])) for one in documents]
    return {
        "allocate": [Allocation(one) for one in (*families, *examples, *hard)],
        "explain": [Explained(one) for one in (*families[::2], *examples, *hard[:1])],
        "plan": [*plans, *leaving, *(Planned(load_cluster(EXAMPLES_PATH / name)) for name in PLANNED_EXAMPLES)],
        "capacity": [Counted(one) for one in (*families[1::2], *examples)],
        "tied": [Allocation(tied_cluster(seed)) for seed in range(12 * seeds)],
    }


def tied_cluster(seed):
    """A random cluster whose units are tied by groups."""
    return Cluster.of([device_class(), *Instance(seed).objects()])


def others():
    """What else is small enough: the verb, and how its question is asked. Those of one kind stand side by side."""
    folders = [one for one in sorted({path.parent for path in EXAMPLES_PATH.rglob("*.yaml")}) if is_cluster(one)]
    asking = [one for one in folders if requested_units(load_cluster(one))]
    for verb, question in (("allocate", Allocation), ("explain", Explained), ("capacity", Counted)):
        for one in asking:
            if verb == "capacity" and one.name in LONG_COUNTS:
                # All others meet the faults that they would meet beside it.
                yield verb, None
                continue
            tied = verb == "allocate" and load_cluster(one).constraint_groups
            yield "tied" if tied else verb, lambda one=one, question=question: question(load_cluster(one))
    for one in folders:
        yield "plan", lambda one=one: Planned(load_cluster(one))
    for name, options in LEAVING_EXAMPLES.items():
        yield "plan", lambda name=name, options=options: Leaving(load_cluster(EXAMPLES_PATH / name), **options)
    for objects in (*(one.objects for name, one in QUESTIONS.items() if name not in LONG), *FULL_NODES):
        yield "allocate", lambda objects=objects: Allocation(load_cluster(objects()))
    for objects in PLAN_SCENARIOS.values():
        yield "plan", lambda objects=objects: Planned(load_cluster(objects()))


def is_cluster(folder):
    """Whether a folder's manifests are enough to be read."""
    try:
        load_cluster(folder)
    except InputError:
        return False
    return True


@cache
def others_of(share):
    """One of ``SHARES`` equal parts of the other questions, each with its right answer."""
    return [(verb, ask()) for number, (verb, ask) in enumerate(others()) if ask and number % SHARES == share]


def with_others(asked, fault):
    """The questions with those others that meet this fault; to be asked before the fault is there."""
    more = others_of(list(FAULTS).index(fault) % SHARES)
    return {verb: [*own, *(one for of, one in more if of == verb)] for verb, own in asked.items()}


SHARES = 10
# Their audits take seconds each, on their own or with a model that a fault has made larger.
LONG = ("33 claims of 4, each of one of 16 groups of 8", "32 of 64 without such a value")
# To count boxes of a torus takes minutes, with and without a fault.
LONG_COUNTS = ("torus-topology",)
QUESTIONS = {**one_node.QUESTIONS, **SHAPE_QUESTIONS}
FULL_NODES = [lambda seed=seed: full_node(seed, 4).objects for seed in range(16)]
LEAVING_EXAMPLES = {
    "consolidate": {},
    "make-room": {},
    "preempt": {"preempts": True, "moves": False},
    "pod-rules": {"preempts": True, "moves": False},
}
# So small that a plan and its audit take a second; what is measured has a hundred times as many nodes.
PLAN_SCENARIOS: dict[str, Callable] = {
    "gangs": lambda: queues.gang_queue(6),
    "a fleet": lambda: queues.fleet(5),
    "openb": lambda: openb.manifests(openb.openb("plain", 1.1, 4)),
    "machines of pools": lambda: machines.machines(20, 20, kinds=5),
    "quota": lambda: quota.quota(6, 6, 3, 15),
    "services": lambda: inference_scenarios.inference(inference_scenarios.inference_services("few services"), 3),
    **{f"fragmented {kind}": lambda kind=kind: fragmented.fragmented(kind, 3) for kind in fragmented.GENERATORS},
}
SCENES = preempting_scene, random_scene
EXAMPLES_PATH = Path(__file__).parents[2] / "examples"
EXAMPLES = ("mig-partitions", "tainted-devices", "whole-gpus", "shared-cpus")
PLANNED_EXAMPLES = ("plan-queue", "plan-buy")
HARD = ("13 of 12 devices", "8 of 64, then an impossible one", "8 x 3g and 16 x 2g on 8 GPUs, counts")
# Of a node; the families have fewer devices.
COPIES = 12


def reaching(question, audit, limit):
    """What becomes of an answer: whether it is stopped, wrong, right or the very same; and wrong but certified."""
    try:
        found = question.asked(audit, limit)
    except VerificationError:
        return "stopped", False
    if found == question.right:
        return "same", False
    wrong = question.is_wrong(found)
    return "wrong" if wrong else "right", wrong and question.is_certified(found)


def counted(asked, fault):
    """How many answers of each verb are stopped, wrong and right, and wrong but certified: plain, and audited."""
    plain, audited = Counter(), Counter()
    for verb, own in asked.items():
        for question in own:
            # Otherwise the search would answer before the solver is asked.
            question.engine = "auto" if fault == SEARCH else "cp-sat"
            limit = LIMIT if fault.startswith(ENDLESS) else None
            what, certified = reaching(question, None, limit)
            # What is the same as without the fault has nothing that an audit could find.
            again = (what, certified) if what == "same" else reaching(question, SECONDS, limit)
            # No outcome tells that a set of reasons is wrong.
            if verb == "explain" and what == "right" and again[0] == "stopped":
                what = "wrong"
            plain[verb, what] += 1
            plain[verb, "certified"] += certified
            audited[verb, again[0]] += 1
            audited[verb, "certified"] += again[1]
    return plain, audited


@pytest.fixture(scope="module")
def asked():
    return questions(1)


def test_a_plan_does_not_say_that_nodes_are_free_where_pods_stay(monkeypatch):
    """The search found no place for pods that stay, and counted no node: nothing is less, so it was called proven."""
    scene = Leaving.of_scene(random_scene(1))
    FAULTS["values are off by one"](monkeypatch)
    # The search leaves out plans that break a row of the master problem, and the verifier does not rely on it.
    scene.asked(None, None)
    monkeypatch.setattr(IntegerPlan, "is_feasible", lambda *_: True)
    with pytest.raises(VerificationError, match="fewest-nodes is said to be 0, and is 1"):
        scene.asked(None, None)


def test_units_that_a_group_ties_are_not_placed_in_part(monkeypatch):
    """One was placed where it leaves no place for the other, of which a witness said so: the refusal was certified."""
    tied = Allocation(tied_cluster(5))
    FAULTS["groups tie nothing"](monkeypatch)
    with pytest.raises(VerificationError, match="ua is refused, and b, which a group ties to it, is placed"):
        tied.asked(None, None)


VERBS = ("allocate", "explain", "plan", "capacity", "tied")
# So many wrong answers of each verb reach the user without an audit.
REACHING = {
    "the solver always says infeasible": (21, 14, 11, 0, 5),
    "the first solution is called optimal": (0, 0, 12, 0, 0),
    "models are too tight by one variable": (7, 2, 6, 0, 0),
    "candidates are lost": (0, 7, 18, 2, 0),
    "the search ends early": (7, 3, 0, 3, 5),
    "bounds of columns are zero": (0, 0, 1, 0, 0),
    "different devices are one class": (5, 10, 2, 0, 1),
    "nodes of tied units are lost": (0, 0, 0, 0, 3),
    "entries of groups cover other requests": (0, 0, 0, 0, 2),
    "the encoder sharing is missing": (0, 1, 1, 0, 0),
}
SEARCH = "the search ends early"


@pytest.mark.parametrize("fault", FAULTS)
def test_no_wrong_answer_is_certified_where_it_is_audited(fault, asked, monkeypatch, record_property):
    """And no fault ends in anything but an answer or a VerificationError."""
    asked = with_others(asked, fault)
    FAULTS[fault](monkeypatch)
    plain, audited = counted(asked, fault)
    shown = tuple(plain[verb, "wrong"] for verb in VERBS)
    asked_of = ", ".join(f"{plain[verb, 'wrong']} of {len(asked[verb])} {verb}" for verb in VERBS)
    record_property("table of wrong answers that reach the user without an audit", f"{fault}: {asked_of}")
    assert all(found <= most for found, most in zip(shown, REACHING.get(fault, (0,) * len(VERBS)), strict=True)), shown
    assert not any(audited[verb, "certified"] for verb in VERBS)
    # A refusal, a set of reasons or a bound that an audit finds to be wrong is no answer. Places that it finds for tied
    # units show no defect, so that their refusal stays, and rests on the solver.
    assert not any(audited[verb, "wrong"] for verb in VERBS if verb != "tied")
    assert audited["tied", "wrong"] <= plain["tied", "wrong"]


def main(seeds, *names):
    """A long run: what each fault, or each of these, comes to without an audit and with one."""
    asked = questions(seeds)
    for name, fault in FAULTS.items():
        if names and name not in names:
            continue
        started, own = process_time(), with_others(asked, name)
        with pytest.MonkeyPatch.context() as patch:
            fault(patch)
            plain, audited = counted(own, name)
            print(name, "plain", dict(plain), "audited", dict(audited), f"{process_time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
