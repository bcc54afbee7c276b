"""The command line with the real allocator."""

import json

import pytest

EXAMPLES = [
    "compute-domain",
    "inventory",
    "mig-partitions",
    "multi-host",
    "nic-and-gpu",
    "shared-cpus",
    "soft-constraints",
    "tainted-devices",
    "whole-gpus",
]
# With hard entries of our own, which the real allocator has never heard of (SOFT-3).
BEYOND = [
    "connected-devices",
    "device-grid",
    "nvlink-links",
    "pcie-lists",
    "rails",
    "ring-topology",
    "same-island",
    "torus-topology",
]
# Queues, which are for plans.
PLANS = [
    "consolidate",
    "coverage",
    "group-questions",
    "make-room",
    "plan-buy",
    "plan-controllers",
    "plan-pools",
    "plan-queue",
    "pod-rules",
    "preferences",
    "preempt",
    "study",
    "tune",
    "whole-or-halves",
]
# For verbs of integrations.
INTEGRATIONS = ["kueue", "overlays", "provisioning"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_answered_alike(real, drasat, examples, name):
    done = drasat("compare", "-f", examples / name, "--exact", "-o", "json")
    document = json.loads(done.out)
    assert (done.code, document["identical"], document["parting"]) == (0, True, None)
    assert document["engines"][1]["version"] == real.handshake.version
    assert document["asked"] > 0


def test_every_example_is_among_them(examples):
    folders = sorted(path.name for path in examples.iterdir() if path.is_dir())
    assert folders == sorted(EXAMPLES + BEYOND + PLANS + INTEGRATIONS)


@pytest.mark.parametrize("name", BEYOND)
def test_what_the_allocator_cannot_honour_is_refused(real, drasat, examples, name):
    """SOFT-3."""
    done = drasat("allocate", "-f", examples / name, "--engine", "kube-scheduler", "--cel-errors", "kube")
    assert (done.code, done.out) == (2, "")
    assert "engine kube-scheduler cannot honour" in done.err


def test_a_gang_that_the_allocator_cannot_have_is_planned(real, drasat, examples):
    """WLG-8: the first pod gets the whole GPU of the allocator, and a plan gives both a half."""
    asked = ("compare", "--plan", "--planners", "kube-scheduler,first-fit,best-fit,fgd,plan", "-o", "json")
    document = json.loads(drasat(*asked, "-f", examples / "whole-or-halves").out)
    assert {one["planner"]: one["admitted"] for one in document["planners"]} == {
        "kube-scheduler": 0,
        "first-fit": 0,
        "best-fit": 0,
        "fgd": 0,
        "plan": 2,
    }


def test_a_single_engine_gives_the_same_result_document(real, drasat, examples):
    asked = ("allocate", "-f", examples / "shared-cpus", "--cel-errors", "kube", "-o", "json", "--engine")
    theirs, ours = (json.loads(drasat(*asked, engine).out) for engine in ("kube-scheduler", "backtracking"))
    assert theirs["engine"] == "kube-scheduler"
    assert theirs["verified"]
    assert theirs["units"] == ours["units"]
    assert drasat(*asked, "kube-scheduler").out == drasat(*asked, "kube-scheduler").out


def test_a_sweep_takes_the_same_steps(real, drasat):
    """SRCH-11."""
    document = json.loads(drasat("compare", "--sweep", "too-many=6,8", "-o", "json").out)
    steps = [[one["steps"] for one in point["engines"]] for point in document["points"]]
    assert steps == [[64, 64], [256, 256]]


def test_a_search_without_end_is_undecided(real, drasat):
    done = drasat("compare", "--sweep", "too-many=30", "--time-limit", "200ms")
    assert done.code == 3


def test_the_peer_is_listed(real, drasat):
    done = drasat("peers")
    assert done.code == 0
    assert real.handshake.version in done.out
