"""The measurements of plans: what is measured and told; how long anything takes is not tested."""

import subprocess
import sys

import plan as program
import plan_once
import pytest

from drasat.scenarios.queues import GANG_MEMBERS, fleet_demand, gang_count

PHASES = ["queue", "build", "solve", "assign", "fill", "explain", "verify"]


@pytest.fixture(scope="module")
def small():
    return program.run("fleet", 5)


def made_up(nodes, seconds, gap=0.0):
    return {
        "nodes": nodes,
        "devices": 12 * nodes,
        "seconds": {"read": seconds, "validate": seconds, "index": seconds},
        "phases": dict.fromkeys(PHASES, seconds / 10),
        "clock": seconds,
        "cpu": seconds,
        "asked": 5 * nodes,
        "placed": 4 * nodes,
        "peakMiB": 100.0 + nodes,
        "stages": [{"gap": 0.0}, {"gap": gap}],
    }


def test_a_fleet_is_planned_from_its_manifests(small):
    assert (small["nodes"], small["devices"]) == (5, 60)
    assert list(small["seconds"]) == ["read", "validate", "index"]
    assert small["phases"].keys() >= {"solve", "verify"}
    assert small["asked"] == sum(sum(asked.values()) for asked in fleet_demand(5).values())
    assert 0 < small["placed"] < small["asked"]
    kinds = sum(count > 0 for asked in fleet_demand(5).values() for count in asked.values())
    assert small["classes"] == {"units": kinds, "nodes": 3}
    assert small["peakMiB"] > 1
    assert [stage["sense"] for stage in small["stages"]] == ["max", "max", "min"]
    for stage in small["stages"]:
        assert stage["value"] <= stage["bound"] if stage["sense"] == "max" else stage["value"] >= stage["bound"]


def test_a_stage_says_what_was_asked_for():
    found = program.run("fleet", 5, ["admitted=devices"], 20)
    (stage,) = found["stages"]
    assert stage["stage"] == "admitted=devices"
    assert found["placed"] <= stage["value"] <= 60


def test_the_fleet_has_a_column_a_size_and_a_row_a_phase(small):
    head, *rows = program.fleet_rows([small, {**small, "nodes": 10}])
    assert head == ("", "5 nodes", "10 nodes", "growth", "at most")
    assert {len(row) for row in rows} == {len(head)}
    names = [row[0] for row in rows]
    assert names[0] == "read, index"
    assert [name for name in names if name.startswith("plan: ")] == [f"plan: {phase}" for phase in small["phases"]]
    assert names[-3:] == ["placed", "largest gap", "peak memory"]


def test_replicas_of_one_pod_are_planned_with_phases_in_seconds_of_the_processor():
    found = program.run("replicas", 850, cpu=True)
    assert (found["asked"], found["placed"], found["classes"]) == (850, 800, {"units": 1, "nodes": 1})
    assert sum(found["phases"].values()) <= found["cpu"] + 0.1


def test_targets_stand_beside_the_figures():
    rows = {row[0]: row for row in program.fleet_rows([made_up(1000, 1.0), made_up(10_000, 12.0, 0.0005)])}
    assert rows["plan"] == ("plan", "1 s", "12 s", "1.08", "5 s, 1.05")
    assert rows["largest gap"] == ("largest gap", "0.000 %", "0.050 %", "", "0.100 %")
    assert rows["peak memory"][-1] == "2048 MiB"
    # Three phases of reading, 12 s each, for 120,000 devices.
    assert rows["read, index"][-1] == "30 us a device (it is 300 us)"


@pytest.mark.parametrize(("large", "exponent"), [(10.0, "1.00"), (100.0, "2.00"), (1.0, "0.00")])
def test_growth_is_the_slope_between_the_smallest_and_the_largest(large, exponent):
    runs = [made_up(nodes, 1.0) for nodes in (1000, 3000, 10_000)]
    assert program.growth(runs, [1.0, 3.0, large]) == exponent


def test_one_size_does_not_grow():
    assert program.growth([made_up(1000, 1.0)], [1.0]) == ""
    assert program.growth([made_up(1000, 1.0), made_up(10_000, 1.0)], [0.0, 1.0]) == ""


def test_a_stage_without_a_bound_has_no_gap():
    assert program.gap_of(made_up(10, 1.0, 0.25)) == 0.25
    unbounded = made_up(10, 1.0, None)
    assert program.gap_of(unbounded) is None
    assert program.percent(program.gap_of(unbounded)) == "none"


@pytest.mark.parametrize("name", ["two requests, matchAttribute", "32 requests, lists"])
def test_workloads_stand_beside_first_fit_and_the_real_allocator(name):
    head, row = program.perf_rows(2, 10.0, [name])
    assert len(head) == len(row)
    told = dict(zip(head, row, strict=True))
    placed, asked = told["placed"].split(" of ")
    assert placed == asked == str(2 * program.WORKLOADS[name].pods_a_node)
    assert told["gap"] == "0.000 %"
    assert told["first fit"] != "none in time"


def test_an_allocator_that_is_not_built_is_not_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(program, "run", lambda *_: made_up(1, 1.0))
    head, row = program.perf_rows(1, 10.0, ["pods"])
    told = dict(zip(head, row, strict=True))
    assert (told["walking"], told["given the node"], told["at most"]) == ("not built", "not built", "")


def test_gangs_are_planned_by_number_and_by_devices():
    head, *rows = program.gang_rows(20, 10.0)
    assert [row[1] for row in rows] == ["admitted", "admitted=devices"]
    for row in rows:
        told = dict(zip(head, row, strict=True))
        assert told["gangs"] == str(gang_count(20))
        value, bound = (int(told[name].replace(",", "")) for name in ("value", "bound"))
        assert 0 < value <= bound
        assert told["at most"] == "1.000 %"
    # As many members as whole gangs have.
    assert int(rows[0][2].replace(",", "")) % GANG_MEMBERS == 0


def test_programs_are_chosen_by_name(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(
        program, "run", lambda name, nodes, *_, **_options: asked.append((name, nodes)) or made_up(nodes, 1.0)
    )
    program.main(["fleet", "--nodes", "10", "--nodes", "20"])
    assert asked == [("fleet", 10), ("fleet", 20)]
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {6}


def test_an_instance_that_is_not_known_is_refused():
    done = subprocess.run([sys.executable, plan_once.__file__, "nothing", "5"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "invalid choice: 'nothing'" in done.stderr
