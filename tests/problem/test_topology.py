"""Which devices a topology places."""

from types import SimpleNamespace

import pytest
from support.topology_mappings import DRIVER, device, published, topology

import drasat
from drasat.problem.messages import DeadlineExceededError
from drasat.problem.topology import membership_of

SLOW = "[" + ",".join(map(str, range(40))) + "]"


def test_looking_for_members_ends_at_the_deadline():
    """CEL-11: selectors of the topology's class are evaluated until then."""
    costly = f"{SLOW}.map(a, {SLOW}.map(b, a * b)).size() > 0"
    chips = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "chip"},
        "spec": {"selectors": [{"cel": {"expression": costly}}]},
    }
    given = drasat.load([topology(deviceClassName="chip"), chips, published(device("d", u=0, v=0))])
    (one,) = given.topologies.values()
    seen = SimpleNamespace(device=given.slices[0].spec.devices[0], driver=DRIVER)
    with pytest.raises(DeadlineExceededError):
        membership_of(one, given.classes, deadline=0.0)(seen)
    assert membership_of(one, given.classes)(seen) in (True, False)
