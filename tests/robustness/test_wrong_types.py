"""A value of every type in every field of every kind: refused with the field's path, or read, and then answered."""

import pytest
from support.kinds import BY_MODEL
from support.mappings import CLASS, claim, pod, pool
from support.whole_objects import places, spelt, whole, with_value

import drasat

VALUES = [None, True, 1, 1.5, "x", [], {}, [None], {"key": None}]
# Fields of quantities, which are texts or numbers, and of content that may be anything.
QUANTITIES = {"value", "default", "min", "max", "step", "validValues", "requests", "consumedCapacity", "allocatable"}
QUANTITIES |= {"limits", "overhead", "price", "allocationMultiplier", "deviceMultiplier", "capacityMultiplier"}
QUANTITIES |= {"perPod", "perContainer", "quantity"}
QUANTITIES |= {"nominalQuota", "borrowingLimit", "lendingLimit", "weight", "resourceUsage", "outputs"}
OPAQUE = {"parameters", "coscheduling", "volcano"}
# Parts of pods, which are tried with the kinds of Kubernetes.
POD_PARTS = {"affinity", "containers", "initContainers", "tolerations", "resourceClaims", "overhead", "resources"}


def answered(cluster):
    """Ask, and look at every view of the answer."""
    found = drasat.allocate(cluster, time_limit=5)
    assert found.to_json()
    assert found.to_yaml()
    return found


def own_part(kind):
    """An object with all fields; of kinds of other projects without those of pods."""
    return _without_pod_parts(whole(kind)) if BY_MODEL[kind].is_custom else whole(kind)


def _without_pod_parts(value):
    if isinstance(value, list):
        return [_without_pod_parts(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_pod_parts(one) for key, one in value.items() if key not in POD_PARTS}


@pytest.mark.parametrize("kind", BY_MODEL)
def test_every_field_has_a_type(kind):
    """With the right types all over, no value is said to have the wrong one; with others it is said where."""
    assert not any("must be a" in one.message for one in drasat.validate(whole(kind), skip_validation=True).problems)
    made = own_part(kind)
    for path, there in places(made):
        for value in VALUES:
            problems = drasat.validate(with_value(made, path, value), skip_validation=True).problems
            said = [str(problem) for problem in problems]
            assert all(text.isprintable() for text in said)
            if value is None or path[0] in ("kind", "apiVersion") or _may_be(path, there, value):
                continue
            assert any(spelt(path) in text and "must be" in text for text in said), (path, value, said)


def _may_be(path, there, value):
    if type(value) is type(there) or OPAQUE & {str(part) for part in path}:
        return True
    of_node = "capacity" in path[-2:-1] and "devices" not in path
    amounts = of_node or (path[0] == "status" and "resources" in path[:-1])
    quantity = amounts or bool(QUANTITIES & {str(part) for part in path})
    return quantity and type(value) in (str, int, float)


# They mean nothing without some of their fields, so that a name and one field are not enough.
WHOLE_ONLY = {"DeviceTopology", "ConstraintGroup", "InstanceType"}


# Kinds that have neither ``spec`` nor ``status``.
FLAT = {"Namespace", "PriorityClass", "WorkloadPriorityClass", "PodTemplate", "Configuration"}
FLAT |= {"StorageClass", "RuntimeClass"}


@pytest.mark.parametrize("kind", [kind for kind in BY_MODEL if kind not in FLAT])
def test_what_is_read_is_answered(kind):
    """Beside a cluster that works, an object with nothing but a name and one strange field is no reason to fail."""
    made = own_part(kind)
    beside = [CLASS, pool(), claim(), pod("p", "c")]
    named = {key: made[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": "odd", "namespace": "default"}}
    read = refused = 0
    for path, _ in places({key: part for key, part in made.items() if key in ("spec", "status")}):
        for value in (None, [], {}, "x", 1):
            odd = {**named, path[0]: with_value(made[path[0]], path[1:], value)}
            try:
                cluster = drasat.load([*beside, odd], skip_validation=True)
            except drasat.InputError:
                refused += 1
            else:
                read += 1
                assert any(unit.pod == "default/p" for unit in answered(cluster).units)
    assert bool(read) == (kind not in WHOLE_ONLY)
    assert refused
