"""The examples of groups, as their pages tell them."""

import json

import pytest

ENGINES = pytest.mark.parametrize("engine", ["backtracking", "cp-sat", "auto"])


def placed(drasat, *arguments):
    """Exit code, and by pod its node and the devices."""
    done = drasat("allocate", *arguments, "-o", "json")
    units = json.loads(done.out)["units"]
    found = {
        unit["pod"]: (
            unit["node"],
            {
                result["device"]
                for one in unit["claims"]
                if one["allocation"]
                for result in one["allocation"]["devices"]["results"]
            },
        )
        for unit in units
    }
    reasons = {reason["id"] for unit in units for reason in unit["reasons"]}
    return done.code, found, reasons


@ENGINES
def test_pods_of_a_job_are_on_the_island_with_room(drasat, examples, engine):
    folder = examples / "same-island"
    code, found, _ = placed(drasat, "-f", folder / "cluster.yaml", "-f", folder / "claims.yaml", "--engine", engine)
    assert code == 0
    assert {node for node, _ in found.values()} == {"right-1", "right-2"}


@ENGINES
def test_no_island_has_room_for_a_third_pod(drasat, examples, engine):
    code, found, reasons = placed(drasat, "-f", examples / "same-island", "--engine", engine)
    assert code == 1
    assert {node for node, _ in found.values()} == {None}
    assert reasons == {"constraintGroup", "matchAttribute"}


@ENGINES
def test_ranks_are_on_the_only_rail_that_is_free_on_both_nodes(drasat, examples, engine):
    code, found, _ = placed(drasat, "-f", examples / "rails", "--engine", engine)
    assert code == 0
    assert {node for node, _ in found.values()} == {"rail-1", "rail-2"}
    assert [devices for _, devices in found.values()] == [{"gpu-2", "nic-2"}] * 2


def test_one_node_is_not_two(drasat, examples):
    code, _, reasons = placed(drasat, "-f", examples / "rails", "--node", "rail-1")
    assert code == 1
    assert "distinctAttribute" in reasons
