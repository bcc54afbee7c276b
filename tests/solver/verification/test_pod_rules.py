"""The verifier finds each rule of pods about one another that a plan breaks, in the order of the plan."""

import pytest
from support.gates import ALL
from support.manifests import cluster, container, obj, pod

from drasat.models.workload.expansion import expand_units
from drasat.models.workload.queue import read_queue
from drasat.solver.plan.outcome import PlannedUnitOutcome
from drasat.solver.verification.plans import plan_violations

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = [obj("Node", name, labels={HOST: name, ZONE: zone}) for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))]


def broken(*given, order, **places):
    """The rules that a plan breaks; ``places`` are nodes by the names of pods, ``order`` has the names."""
    read = cluster(*NODES, *given)
    queue = list(expand_units(read, read_queue(read, gates=ALL), ALL))
    units = [PlannedUnitOutcome(one, places.get(one.unit.name), (), ()) for one in queue]
    names = [one.unit.name for one in queue]
    found = plan_violations(read, units, ALL, order=[names.index(name) for name in order])
    return [violation.rule for violation in found]


def term(app, key=HOST):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def labelled(name, app="a", **spec):
    return pod(name, spec=spec, labels={"app": app})


def kept(field, *terms):
    return {"affinity": {field: {REQUIRED: list(terms)}}}


APART, NEAR = kept("podAntiAffinity", term("a")), kept("podAffinity", term("b", ZONE))
SPREAD = {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term("a", ZONE)}]}
PORT = {"containers": [container(ports=[{"containerPort": 80, "hostPort": 80}])]}
OTHER = {"containers": [container(ports=[{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}])]}
CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}


def volume_claim(**spec):
    return {**obj("PersistentVolumeClaim", "c", spec), "apiVersion": "v1"}


def volume(node):
    test = {"key": HOST, "operator": "In", "values": [node]}
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [test]}]}}}
    return {**obj("PersistentVolume", "pv", spec), "apiVersion": "v1"}


AWAY, CLOSE = "PLAN-ANTI-AFFINITY", "PLAN-AFFINITY"
TWICE = [AWAY, AWAY]
CASES = {
    "apart": ([labelled("p", **APART), labelled("q", **APART)], "pq", {"p": "n1", "q": "n2"}, []),
    "not apart": ([labelled("p", **APART), labelled("q", **APART)], "pq", {"p": "n1", "q": "n1"}, TWICE),
    "one that is there keeps others away": (
        [labelled("r", nodeName="n1", **APART), labelled("q")], "q", {"q": "n1"}, [AWAY],
    ),
    "near": ([labelled("p", **NEAR), labelled("q", "b")], "qp", {"p": "n1", "q": "n2"}, []),
    "near one who comes later": ([labelled("p", **NEAR), labelled("q", "b")], "pq", {"p": "n1", "q": "n2"}, [CLOSE]),
    "near one in another zone": ([labelled("p", **NEAR), labelled("q", "b")], "qp", {"p": "n1", "q": "n3"}, [CLOSE]),
    "the first opens a zone": (
        [labelled("p", "b", **NEAR), labelled("q", "b", **NEAR)], "pq", {"p": "n1", "q": "n2"}, [],
    ),
    "the second opens none": (
        [labelled("p", "b", **NEAR), labelled("q", "b", **NEAR)], "pq", {"p": "n1", "q": "n3"}, [CLOSE],
    ),
    "even": ([labelled("p", **SPREAD), labelled("q", **SPREAD)], "pq", {"p": "n1", "q": "n3"}, []),
    "uneven": ([labelled("p", **SPREAD), labelled("q", **SPREAD)], "pq", {"p": "n1", "q": "n2"}, ["PLAN-SPREAD"]),
    "even only in the end": (
        [labelled("p", **SPREAD), labelled("q", **SPREAD), labelled("r", **SPREAD)],
        "pqr", {"p": "n1", "q": "n2", "r": "n3"}, ["PLAN-SPREAD"],
    ),
    "even at each step": (
        [labelled("p", **SPREAD), labelled("q", **SPREAD), labelled("r", **SPREAD)],
        "prq", {"p": "n1", "q": "n2", "r": "n3"}, [],
    ),
    "a port twice": ([labelled("p", **PORT), labelled("q", **OTHER)], "pq", {"p": "n1", "q": "n1"}, ["PLAN-PORT"]),
    "a volume that is elsewhere": (
        [volume("n2"), volume_claim(volumeName="pv"), labelled("p", **CLAIM)], "p", {"p": "n1"}, ["PLAN-VOLUME"],
    ),
    "a claim for one pod": (
        [volume_claim(accessModes=["ReadWriteOncePod"]), labelled("p", **CLAIM), labelled("q", **CLAIM)],
        "pq", {"p": "n1", "q": "n2"}, ["PLAN-VOLUME"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rules_of_pods(name):
    given, order, places, expected = CASES[name]
    assert broken(*given, order=order, **places) == expected
