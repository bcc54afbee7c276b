"""The units of a plan's document: made when they are looked at, and written by one text where they are alike."""

import json
import tracemalloc
from dataclasses import replace

import msgspec
import pytest
from support.manifests import claim, cluster, entry, maker, node, pod, template
from support.plan_outcomes import outcome

import drasat
from drasat.models.manifests.writer import to_yaml
from drasat.models.results.common import Reason
from drasat.models.results.plan import PlanDocument, PlannedUnit
from drasat.models.workload.expansion import UnitExpander, UnitRanges, UnplacedRun, encoded_units, expand_units
from drasat.models.workload.expansion import unit_parts as parts_of
from drasat.models.workload.queue import read_queue
from drasat.reports import plan as report
from drasat.solver.plan.outcome import PlannedUnits, ReasonsByUnit, SharedReasons, planned_units
from drasat.verbs.plan import PlanResult

POD_CLAIM = {"resource.kubernetes.io/pod-claim-name": "gpu"}


def units_of(*objects, says="too few devices", found=None, audited=(), prefix=None):
    """The units of a queue of which nothing is placed, as a document has them."""
    built = cluster(*objects, template())
    sets = [one if prefix is None else one._replace(name_prefix=prefix) for one in read_queue(built)]
    queue = expand_units(built, sets)
    assert isinstance(queue, UnitRanges)
    firsts = {one.unit_set.signature: one.unit for one in reversed(queue)}
    reasons = {key: (Reason("devices", f"default/{unit.claims[0].name}", says),) for key, unit in firsts.items()}
    shared = {key: SharedReasons(own, firsts[key]) for key, own in reasons.items()}
    units = PlannedUnits.of(queue, {}, ReasonsByUnit(queue, found or {}, shared))
    return planned_units(replace(outcome(), units=units, audited=frozenset(audited)))


def web(number=40, name="web"):
    return maker("Deployment", name, entry("gpu", template="t"), entry("all", claim="c"), spec={"replicas": number})


def written(units):
    return [msgspec.json.decode(msgspec.json.encode(one), type=PlannedUnit) for one in encoded_units(units)]


@pytest.fixture
def made(monkeypatch):
    """The names of the units that are made."""
    names, make = [], UnitExpander.unit

    def unit(self, planned, number):
        names.append(planned.unit_name(number))
        return make(self, planned, number)

    monkeypatch.setattr(UnitExpander, "unit", unit)
    return names


JOBS = {
    "replicatedJobs": [
        {"name": name, "replicas": 3, "template": {"spec": {"parallelism": 7, "completionMode": mode, "template": {
            "spec": {"containers": [], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}}}}}
        for name, mode in (("a", "Indexed"), ("b", "NonIndexed"))
    ]
}  # fmt: skip
LATE = (Reason("time", "", "the time limit ended"),)


@pytest.mark.parametrize(
    ("objects", "options"),
    [
        pytest.param([web(), web(12, "other")], {}, id="claims of templates and shared ones"),
        pytest.param([web(9)], {"says": "8 of 8 devices, web-8-gpu"}, id="name and number stand in the reason"),
        pytest.param([web()], {"prefix": 'we"b\\'}, id="a name that is escaped"),
        pytest.param([web(name="39")], {}, id="a name that is a number"),
        pytest.param(
            [{**web(), "kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2", "spec": JOBS}], {}, id="sets"
        ),
        pytest.param([claim("loose", REPLICAS="30")], {}, id="copies of a loose claim"),
        pytest.param([pod("p", entry("gpu", template="t"), REPLICAS="30")], {}, id="copies of a pod"),
        pytest.param([web()], {"found": {3: LATE, 4: LATE, 20: ()}}, id="reasons of their own"),
        pytest.param([web()], {"audited": range(10, 30)}, id="some are audited"),
        pytest.param(
            [web(), claim("old", owner=("Pod", "web-17"), meta={"annotations": POD_CLAIM})], {}, id="a claim was made"
        ),
    ],
)
def test_units_are_written_as_they_are(objects, options):
    units = units_of(*objects, **options)
    listed = [*units]
    assert written(units) == listed == [units[place] for place in range(len(units))] == list(units[:])
    for part in parts_of(units):
        if isinstance(part, UnplacedRun):
            assert len({(one.proof, tuple(reason.message for reason in one.reasons)) for one in part}) == 1
    assert sum(len(one) if isinstance(one, UnplacedRun) else 1 for one in parts_of(units)) == len(listed)


def test_a_claim_that_was_made_for_a_pod_before_is_told_by_its_name():
    units = units_of(web(), claim("old", owner=("Pod", "web-17"), meta={"annotations": POD_CLAIM}))
    others = [(one.name, one.unit) for one in written(units) if one.claims[0].name != f"{one.unit}-gpu"]
    # Nobody else has it, so that it is no unit of its own.
    assert others == [("web", "web-17")]
    assert [len(part) for part in parts_of(units)] == [40]


def test_units_that_are_alike_are_written_without_being_made(made):
    units = units_of(web(5_000))
    made.clear()
    assert len(units) == 5_000
    assert made == []
    assert (units[4_000].unit, made) == ("web-4000", ["web-4000"])
    assert written(units)[4_000].claims[0].name == "web-4000-gpu"
    assert len(set(made)) <= 3


def planned(number, nodes=2):
    room = [node(f"n{place}", cpu="3", pods="110") for place in range(nodes)]
    spec = {"replicas": number}
    objects = [*room, maker("Deployment", "web", cpu="2", spec=spec), maker("Deployment", "big", cpu="4", spec=spec)]
    return drasat.plan(cluster(*objects), time_limit=None)


@pytest.mark.parametrize("number", [20, 1_500])
def test_a_document_that_is_made_while_it_is_written_is_the_same_text(number):
    lazy, eager = planned(number), planned(number)
    assert isinstance(eager.document.units, tuple)
    assert eager.document is eager.document
    assert not isinstance(lazy.units, tuple)
    assert lazy.units == eager.document.units == lazy.units
    assert eager.document.units == lazy.units
    assert lazy.units != eager.document.units[1:]
    text = msgspec.json.format(msgspec.json.encode(eager.document), indent=2).decode() + "\n"
    assert lazy.to_json() == eager.to_json() == text
    assert lazy.to_dict() == eager.to_dict() == json.loads(text)
    assert msgspec.json.decode(lazy.to_json(), type=PlanDocument) == lazy.document == eager.document
    assert repr(planned(20).units) == repr(planned(20).document.units)


def test_yaml_of_a_document_that_is_made_while_it_is_written_is_the_same_text():
    lazy = planned(300)
    parts = [*lazy.yaml_parts()]
    assert len(parts) > 10
    assert "".join(parts) == to_yaml([lazy.to_dict()]) == lazy.to_yaml()
    assert drasat.plan(cluster(), time_limit=None).to_yaml().count("units: []\n") == 1


def test_tables_count_runs_of_units():
    lazy = planned(1_200)
    eager = PlanResult(planned(1_200).document)
    assert isinstance(eager.written.units, tuple)
    for said in (report.rows, report.reasons, report.owner_cells, report.unit_rows, report.summary):
        assert [*said(lazy.written)] == [*said(eager.written)]
    assert [row[3:5] for row in report.rows(lazy.written)] == [(1_200, 2), (1_200, 0)]


def test_the_units_are_never_all_in_memory():
    found = planned(15_000)
    tracemalloc.start()
    try:
        length = sum(map(len, found.json_parts()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert length > 10_000_000
    assert peak < length / 2
