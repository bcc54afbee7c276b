"""Witnesses that seem to prove a no, and do not."""

from support.objects import claim, device, device_class, match, node, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import gates_of
from drasat.models.results.common import CountedWitness, WitnessRequest
from drasat.solver.verification.verify import Replay
from drasat.solver.verification.witnesses import NodeWitnesses

SUBJECT = "d.x/numa"


def flaw_of(*constraints):
    """What is wrong with the word that no value has room for a claim for two devices, of one value each."""
    asked, home = claim(want("a"), want("b"), constraints=constraints), node()
    given = [device_class(), home, pool(device("d1", numa=1), device("d2", numa=2)), asked]
    replay = Replay(Cluster.of(given), gates_of(None), "strict", (), True, True, None)
    requests = tuple(WitnessRequest(claim="ns/c", request=name, many=1) for name in "ab")
    told = CountedWitness(kind="claims", subject=SUBJECT, requests=requests, needed=1, available=0)
    return NodeWitnesses(replay.context, [asked], ["ns/c"], home).flaw(told, "exact")


def test_requests_of_different_entries_need_no_value_in_common():
    """CON-1, CON-4."""
    assert flaw_of(match(SUBJECT, "a", "b")) == ""
    assert "2 needed, 2 available: there is enough" in flaw_of(match(SUBJECT, "a"), match(SUBJECT, "b"))
