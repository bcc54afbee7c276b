"""The result of ``capacity`` in Python: arguments, properties, frames, and lines made from documents by hand."""

import json

import jsonschema
import pytest
from msgspec.structs import replace
from support.gpu_nodes import asking, cluster, devices, made

import drasat as package
from drasat.models.results.capacity import CapacityDocument, CopiedObject, Copies, NodeCopies, SharingNodes
from drasat.models.results.common import Reason
from drasat.reports import capacity as report
from drasat.reports import tables
from drasat.verbs.capacity import CapacityResult

CLAIM = made("ResourceClaim", "c", asking())


def test_everything_that_was_asked_for_is_in_the_document():
    found = package.capacity(
        cluster(CLAIM, nodes=(3, 1)), claim="team/c", node="n0", limit=2, feature_gates={"DRADeviceTaints": False}
    )
    document = found.to_dict()
    assert document["asked"] == {"kind": "ResourceClaim", "namespace": "team", "name": "c"}
    assert document["limit"] == 2
    assert document["featureGates"]["DRADeviceTaints"] is False
    assert document["celErrors"] == "strict"
    assert [one["nodes"] for one in document["nodes"]] == [["n0"]]
    assert "timings" not in document
    assert (found.fits, found.bound, found.proven, found.unbounded) == (2, None, False, False)


def test_timings_are_there_if_they_are_wanted():
    timed = package.capacity(cluster(CLAIM, nodes=(3, 1)), timings=True).to_dict()["timings"]
    assert set(timed) == {"search", "verify"}
    assert all(seconds >= 0 for seconds in timed.values())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"limit": 0}, "above zero"),
        ({"claim": "c"}, "ResourceClaim default/c not found"),
        ({"claim": "team/c", "template": "team/t"}, "give only one of them"),
        ({"feature_gates": {"Magic": True}}, "unknown feature gate"),
        ({"feature_gates": {"DRADeviceTaints": "no"}}, "expected True or False"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(options, problem):
    with pytest.raises(ValueError, match=problem) as raised:
        package.capacity(cluster(CLAIM, nodes=(3, 1)), **options)
    assert len(str(raised.value).splitlines()) == 1


def test_arguments_are_named():
    with pytest.raises(TypeError):
        package.capacity(cluster(CLAIM, nodes=(3, 1)), "team/c")


@pytest.mark.parametrize("seed", [0, 7, 2**63])
def test_the_seed_decides_nothing_about_the_numbers(seed):
    shares = devices("n0", 2, allowMultipleAllocations=True, capacity={"m": {"value": "4"}})
    asked = made("ResourceClaim", "c", asking(capacity={"requests": {"m": "2"}}))
    there = package.load([made("DeviceClass", "gpu", {}), shares, asked])
    document = package.capacity(there, seed=seed).to_dict()
    assert document["total"] == {"fits": 4, "bound": 4, "proven": True, "unbounded": False, "firstFit": 4}


def test_no_time_limit_is_allowed():
    assert package.capacity(cluster(CLAIM, nodes=(3, 1)), time_limit=None).proven


def test_without_time_nothing_is_claimed_but_nothing_is_wrong():
    found = package.capacity(cluster(CLAIM, nodes=(3, 1)), time_limit=0.0)
    assert (found.fits, found.proven, found.unbounded) == (0, False, False)
    assert {reason["id"] for one in found.to_dict()["nodes"] for reason in one["reasons"]} <= {"timeLimit", "undecided"}


def test_where_any_number_fits_numbers_are_null():
    shared = [devices("n0", 1, allowMultipleAllocations=True)]
    found = package.capacity(package.load([made("DeviceClass", "gpu", {}), *shared, CLAIM]))
    assert (found.fits, found.bound, found.proven, found.unbounded) == (None, None, True, True)
    assert repr(found) == "CapacityResult(ResourceClaim team/c: any number of copies fits)"
    assert found.to_dict()["total"]["firstFit"] is None


def test_the_frame_has_types_and_a_row_a_node_in_order_of_names():
    pytest.importorskip("pandas")
    frame = package.capacity(cluster(CLAIM, nodes=(1, 3, 0, 3))).to_frame()
    assert list(frame.columns) == ["node", "fits", "bound", "proven", "unbounded", "firstFit", "stops"]
    assert list(frame["node"]) == ["n0", "n1", "n2", "n3"]
    assert list(frame["fits"]) == [1, 3, 0, 3]
    assert list(frame["proven"]) == [True] * 4
    assert frame["stops"][0] == ["request r needs 1, 0 fit of 1 device: 1 in use"]


def test_notebooks_show_a_table():
    pytest.importorskip("pandas")
    shown = package.capacity(cluster(CLAIM, nodes=(3, 1)))._repr_html_()
    assert shown.count("<tr") == 3
    assert "n0" in shown


def copies(fits=1, bound=1, **fields):
    usual = {"proven": fits == bound, "unbounded": False, "first_fit": fits}
    return Copies(fits=fits, bound=bound, **{**usual, **fields})


def node_copies(*names, **fields):
    usual = {"each": copies(), "reasons": (), "proof": "", "proof_kind": "witness", "certified": True, "requests": ()}
    return NodeCopies(nodes=names, **{**usual, **fields})


def document(*nodes, total=None, sharing=()):
    return CapacityDocument(
        asked=CopiedObject(kind="Pod", namespace="ns", name="p"),
        total=total or copies(),
        nodes=nodes,
        sharing=sharing,
        limit=9,
        feature_gates={},
        cel_errors="strict",
        verified=True,
        statistics={},
    )


@pytest.mark.parametrize(
    ("total", "text"),
    [
        (copies(3, 3), "Pod ns/p: 3 more fit, proven"),
        (copies(3, 3, first_fit=2), "Pod ns/p: 3 more fit, proven; the scheduler's first fit reaches 2"),
        (copies(3, 5), "Pod ns/p: 3 more fit, at most 5 could, not proven"),
        (copies(3, None), "Pod ns/p: 3 more fit, not proven"),
        (copies(3, 5, first_fit=None), "Pod ns/p: 3 more fit, at most 5 could, not proven"),
        (copies(0, 0), "Pod ns/p: 0 more fit, proven"),
        (copies(None, None, unbounded=True), "Pod ns/p: any number of copies fits"),
    ],
)
def test_the_summary_says_how_sure_the_number_is(total, text):
    assert report.summary(document(total=total)) == text
    assert repr(CapacityResult(document(total=total))) == f"CapacityResult({text})"


def test_rows_are_kinds_of_nodes_then_nodes_together_then_all():
    found = document(
        node_copies("a", "b", "c", "d", each=copies(2, None, first_fit=None)),
        node_copies("", each=copies(None, None, unbounded=True)),
        total=copies(8, 9),
        sharing=(SharingNodes(nodes=("a", "b"), together=copies(3, 4)),),
    )
    assert list(report.rows(found)) == [
        ("4", "a, b, c and 1 more", "2", "?", "?", ""),
        ("1", "any node", "any number", "", "", ""),
        ("2", "a, b together", "3", "4", "3", "they reach the same devices or counters"),
        ("5", "all together", "8", "9", "8", ""),
    ]


def test_reasons_name_their_claims_where_there_are_several():
    one, two = (Reason(id="inUse", claim=f"ns/{name}", message="nothing left") for name in "ab")
    assert next(report.rows(document(node_copies("n", reasons=(one,)))))[-1] == "nothing left"
    assert (
        next(report.rows(document(node_copies("n", reasons=(one, two)))))[-1]
        == "ns/a: nothing left; ns/b: nothing left"
    )


def test_proofs_are_told_where_there_are_any():
    found = document(node_copies("a"), node_copies("b", "", proof="too few"))
    assert list(report.proofs(found)) == ["b, any node: too few"]


def test_documents_by_hand_follow_the_schema_and_timings_are_optional(examples):
    published = json.loads((examples.parent / "docs/reference/results.schema.json").read_text())
    found = document(node_copies("a"), sharing=(SharingNodes(nodes=("a", "b"), together=copies(3, None)),))
    jsonschema.validate(CapacityResult(found).to_dict(), published)
    assert list(tables.timing_lines(found)) == []
    timed = replace(found, timings={"search": 0.5, "verify": 0.25})
    assert list(tables.timing_lines(timed)) == ["search 0.500 s, verify 0.250 s"]
    broken = CapacityResult(found).to_dict() | {"total": {"fits": "many"}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, published)
