"""An explanation as lines and rows, from documents made by hand."""

from drasat.models.results.common import ProofKind, Reason, RejectedDevices
from drasat.models.results.explanation import (
    DevicesForRequest,
    ExplainedNodes,
    ExplainedUnit,
    ExplanationDocument,
    RelaxationAnswer,
)
from drasat.reports.explanation import COLUMNS, lines, rows


def reason(message, id_="exactCount"):
    return Reason(id=id_, claim="ns/c", message=message)


def nodes(**fields):
    usual = {
        "nodes": 1,
        "names": ("n1",),
        "reasons": (reason("too many"),),
        "minimal": True,
        "proof": ProofKind.WITNESS,
        "certified": True,
        "requests": (),
        "notes": (),
    }
    return ExplainedNodes(**{**usual, **fields})


def request(**fields):
    usual = {
        "claim": "ns/c",
        "request": "r",
        "device_class": "gpu",
        "needed": 2,
        "devices": 8,
        "matching": 8,
        "free": 1,
        "fallen": (),
    }
    return DevicesForRequest(**{**usual, **fields})


def unit(**fields):
    usual = {
        "pod": None,
        "claims": ("ns/c",),
        "node": None,
        "outcome": "Unallocatable",
        "reasons": (),
        "failures": (),
        "relaxations": (),
        "complete": True,
    }
    return ExplainedUnit(**{**usual, **fields})


def document(*units):
    return ExplanationDocument(outcome="Unallocatable", units=units, feature_gates={}, cel_errors="strict")


def told(**fields):
    return list(lines(document(unit(**fields))))


def test_a_pod_and_joined_claims_have_their_names():
    assert told(pod="ns/p", outcome="Allocated", node="n1") == ["pod ns/p: fits on n1"]
    assert told(claims=("ns/a", "ns/b"), outcome="Allocated", node="") == ["claim ns/a, ns/b: fits on any node"]


def test_one_reason_is_impossible_alone():
    assert told(failures=(nodes(),)) == [
        "claim ns/c: Unallocatable",
        "  on n1:",
        "    impossible:",
        "      too many",
        "  no change of one or two things was found that would help",
    ]


def test_doubts_are_told():
    doubtful = nodes(
        reasons=(reason("a"), reason("b")),
        minimal=False,
        notes=("pool p is incomplete", "no second proof of this was found within the limit"),
    )
    assert told(failures=(doubtful,), complete=False)[2:] == [
        "    impossible together, perhaps not all of them needed:",
        "      a",
        "      b",
        "    note: pool p is incomplete",
        "    note: no second proof of this was found within the limit",
        "  no change of one or two things was found that would help",
        "  the search stopped early: there may be more",
    ]


def test_many_nodes_are_counted():
    assert told(failures=(nodes(nodes=9, names=("a", "b")),))[1] == "  on a, b and 7 more:"
    assert told(failures=(nodes(names=("",)),))[1] == "  on any node:"


def test_devices_are_counted_by_what_is_in_the_way():
    fallen = (
        RejectedDevices(filter="inUse", detail="ns/x", devices=3),
        RejectedDevices(filter="taint", detail="k:NoSchedule", devices=1),
        RejectedDevices(filter="inUse", detail="ns/y", devices=2),
        RejectedDevices(filter="deviceNode", detail="", devices=1),
    )
    assert told(failures=(nodes(requests=(request(fallen=fallen),)),))[2] == (
        "    request r of claim ns/c needs 2: 8 of 8 devices match class gpu: "
        "5 in use by claim ns/x, ns/y, 1 taint k:NoSchedule, 1 for other nodes, 1 free"
    )


def test_where_nothing_matches_nothing_is_counted():
    assert told(failures=(nodes(requests=(request(devices=1, matching=0, free=0),)),))[2] == (
        "    request r of claim ns/c needs 2: 0 of 1 device match class gpu"
    )


def test_reasons_about_the_unit_come_first_and_alone():
    assert told(reasons=(reason("device class gpu does not exist", "deviceClass"),)) == [
        "claim ns/c: Unallocatable",
        "  device class gpu does not exist",
    ]


def test_changes_of_a_pair_are_on_one_line_and_on_rows_of_one_number():
    pair = RelaxationAnswer(changes=(reason("do this", "taint"), reason("do that", "count")), cost=3, node="n1")
    assert told(failures=(nodes(),), relaxations=(pair,))[-2:] == [
        "  it would fit with any of these:",
        "    do this, and do that (cost 3, on n1)",
    ]
    made = [dict(zip(COLUMNS, row, strict=True)) for row in rows(document(unit(relaxations=(pair,))))]
    assert [(row["what"], row["relaxation"], row["id"], row["nodes"]) for row in made] == [
        ("relaxation", 1, "taint", ["n1"]),
        ("relaxation", 1, "count", ["n1"]),
    ]


def test_every_unit_has_a_row():
    made = list(rows(document(unit(outcome="Allocated", node="n1"), unit(failures=(nodes(),)))))
    assert [row[:4] for row in made] == [
        (None, ["ns/c"], "Allocated", ["n1"]),
        (None, ["ns/c"], "Unallocatable", ["n1"]),
    ]


def test_units_that_differ_in_their_names_alone_are_told_once():
    def of(name, message):
        failed = nodes(reasons=(reason(message),))
        return unit(pod=f"ns/{name}", claims=(f"ns/{name}-c",), failures=(failed,))

    pods = [of(name, f"claim ns/{name}-c of pod ns/{name} needs 2") for name in ("w-1", "w-10", "w-2")]
    told = list(lines(document(*pods, of("other", "claim ns/w-1-c has it"), unit(outcome="Allocated", node="n1"))))
    heads = [line for line in told if not line.startswith(" ")]
    assert heads == ["pod ns/w-1 and 2 more: Unallocatable", "pod ns/other: Unallocatable", "claim ns/c: fits on n1"]
    assert "      claim ns/w-1-c of pod ns/w-1 needs 2" in told
