"""Catalogues of instance types have the size that is asked for, are valid, and the same for the same seed."""

from drasat.models.kubernetes.karpenter import InstanceType, NodePool
from drasat.scenarios.machines import machines


def test_a_catalogue_has_nine_offerings_a_type_and_three_pools(load):
    cluster = load(machines(50, 100, kinds=8))
    types = cluster.objects(InstanceType)
    assert (len(types), len(cluster.objects(NodePool))) == (50, 3)
    assert {len(one.spec.offerings) for one in types.values()} == {9}


def test_a_seed_gives_one_catalogue_and_a_larger_one_begins_with_it():
    made = machines(50, 100, kinds=8, seed=3)
    assert made == machines(50, 100, kinds=8, seed=3)
    assert made != machines(50, 100, kinds=8, seed=4)
    assert machines(80, 100, kinds=8, seed=3)[:50] == made[:50]
