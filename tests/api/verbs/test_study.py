"""``study``: variants, figures, what is kept, failures, executors."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from inspect import signature
from itertools import pairwise
from pathlib import Path

import pytest
from loky import ProcessPoolExecutor as LokyExecutor

import drasat
from drasat.verbs.study_run import FIGURES, SharedCluster, compute_variant
from drasat.verbs.study_variants import NOT_OPTIONS, VERBS, cluster_hash, option_readers, read_study, verb_function

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
STUDY = {"verb": "plan", "product": {"scale": [1, 2, 3], "seed": [0, 1]}, "figures": ["placed", "asked", "nodes-used"]}


@pytest.fixture(scope="module")
def cluster():
    return drasat.load(EXAMPLES / "study")


@pytest.fixture(scope="module")
def expected(cluster):
    return drasat.study(cluster, STUDY).to_json()


def figures(result, name):
    return [one.figures.get(name) for one in result.variants]


def test_every_combination_of_a_product_is_a_variant(cluster):
    result = drasat.study(cluster, STUDY)
    assert [one.name for one in result.variants[:3]] == ["scale=1,seed=0", "scale=1,seed=1", "scale=2,seed=0"]
    assert figures(result, "asked") == [6, 6, 12, 12, 18, 18]
    assert figures(result, "placed") == [5, 5, 8, 8, 8, 8]
    assert result.document.figures == tuple(STUDY["figures"])
    assert list(result.to_frame().columns) == ["variant", "scale", "seed", "outcome", *STUDY["figures"], "error"]


def test_listed_variants_are_combined_with_the_product(cluster):
    variants = [{"name": "all", "verb": "allocate"}, {"name": "plan"}]
    result = drasat.study(cluster, {"variants": variants, "product": {"seed": [0, 1]}})
    assert [one.name for one in result.variants] == ["all,seed=0", "all,seed=1", "plan,seed=0", "plan,seed=1"]
    assert [one.verb for one in result.variants] == ["allocate", "allocate", "plan", "plan"]


def test_each_verb_has_figures_of_its_document(cluster):
    """The same numbers as the verb itself."""
    asked = {verb: {"name": verb, "verb": verb} for verb in VERBS}
    asked["capacity"]["template"] = "lab/one-gpu"
    asked["compare"]["engines"] = ["backtracking", "auto"]
    asked["compare-plans"] |= {"planners": ["first-fit", "plan"], "orders": "given", "cel-errors": "strict"}
    result = drasat.study(cluster, {"variants": list(asked.values())})
    found = {one.name: one.figures for one in result.variants}
    assert not result.failed
    assert found["plan"]["placed"] == drasat.plan(cluster).placed
    assert found["allocate"]["placed"] == sum(one.outcome == "Allocated" for one in drasat.allocate(cluster).units)
    assert found["capacity"]["fits"] == drasat.capacity(cluster, template="lab/one-gpu").fits
    assert found["compare"]["backtracking.placed"] == found["compare"]["auto.placed"]
    assert found["compare-plans"]["first-fit/given.placed"] <= found["compare-plans"]["plan.placed"]
    assert found["quota"]["workloads"] == len(drasat.quota(cluster).workloads)
    assert FIGURES.keys() == VERBS.keys()


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_can_vary(verb):
    options = {one.replace("-", "_") for one in option_readers(verb)} - {"kubernetes_version"}
    assert options == signature(verb_function(verb)).parameters.keys() - NOT_OPTIONS


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("objective", ["priority,admitted", ["admitted", "fewest-nodes"]]),
        ("feature-gates", [{"DRAConsumableCapacity": False}, "DRAConsumableCapacity=true"]),
        ("kubernetes-version", ["1.36", 1.37]),
        ("gap", ["1%", 0.0]),
        ("time-limit", ["1m30s", 20, 2.5]),
        ("mix", [str(EXAMPLES / "plan-buy"), [str(EXAMPLES / "study")]]),
        ("constraints", [[], [{"matchAttribute": "gpu.example.com/none"}]]),
    ],
)
def test_options_are_written_as_on_the_command_line(cluster, setting, values):
    common = {"objective": "admitted,fragmentation"} if setting == "mix" else {}
    result = drasat.study(cluster, {"options": common, "product": {setting: values}})
    assert [one.error for one in result.variants] == [""] * len(values)


def test_a_budget_buys_more(cluster):
    result = drasat.study(cluster, EXAMPLES / "study" / "studies" / "budget.yaml")
    placed = figures(result, "placed")
    assert [placed[first : first + 4] for first in (0, 4, 8)] == [[5, 6, 6, 6], [8, 9, 10, 12], [8, 12, 13, 16]]
    assert all(cost <= budget for cost, budget in zip(figures(result, "cost"), [0, 6, 12, 24] * 3, strict=True))


def test_more_moves_let_more_nodes_go():
    study = {"options": {"consolidate": True}, "product": {"moves": [0, 1, 3]}}
    result = drasat.study(drasat.load(EXAMPLES / "consolidate"), study)
    assert figures(result, "moved") == figures(result, "removed") == [0, 1, 3]
    assert figures(result, "removed-price") == [0, 3.6, 10.8]
    assert figures(result, "evicted") == [0, 0, 0]


def test_schedulers_do_not_beat_a_plan(cluster):
    result = drasat.study(cluster, EXAMPLES / "study" / "studies" / "schedulers.yaml")
    placed = dict(zip([one.name for one in result.variants], figures(result, "placed"), strict=True))
    assert placed["plan,scale=2"] == 8
    assert placed["first-fit,scale=2"] <= 8
    assert placed["fewer-nodes,scale=2"] == 4


@pytest.mark.parametrize(
    ("study", "problem"),
    [
        ({}, "(study): a study needs a product or variants"),
        ({"product": {}}, "(study): a study needs a product or variants"),
        ({"verbs": "plan"}, "(study): verbs: Forbidden: unknown field, known are: verb, options"),
        ({"verb": "plam", "variants": [{"seed": 1}]}, '(study): verb: Invalid value: "plam": unknown verb, known are'),
        ({"verb": 3, "variants": [{"seed": 1}]}, "(study): verb: Invalid value: 3: must be a string"),
        ({"product": {"seed": 3}}, "(study): product.seed: Invalid value: 3: must be a list of values"),
        ({"product": {"seed": []}}, "(study): product.seed: Invalid value: []: must be a list of values"),
        ({"product": {"seed": [1, 1]}}, "(study): product.seed: has a value twice"),
        ({"product": {"seed": ["a"]}}, '(study): product.seed[0]: Invalid value: "a": must be an integer'),
        ({"product": {"buy": [True, 1]}}, "(study): product.buy[1]: Invalid value: 1: must be true or false"),
        (
            {"product": {"sead": [1]}},
            "(study): product.sead[0]: Forbidden: unknown option of plan, known are: add-nodes",
        ),
        (
            {"options": {"sead": 1}, "product": {"seed": [1]}},
            "(study): options.sead: Forbidden: unknown option of plan",
        ),
        (
            {"variants": [{"verb": "allocate", "budget": 1}]},
            "(study): variants[0].budget: Forbidden: unknown option of a",
        ),
        (
            {"variants": [{"seed": 1}], "product": {"seed": [2]}},
            "(study): variants[0].seed: is set by the product, too",
        ),
        ({"variants": [{"seed": 1}, {"seed": 1}]}, "(study): variants: two variants are called 'seed=1'"),
        ({"variants": [None]}, "(study): variants: a variant has neither name nor setting"),
        (
            {"product": {"kubernetes-version": [["1.37"]]}},
            '(study): product.kubernetes-version[0]: Invalid value: ["1.37"]: must be a version',
        ),
        (
            {"product": {"kubernetes-version": ["x" * 999]}},
            "(study): product.kubernetes-version[0]: Invalid value: unknown Kubernetes version '" + "x" * 60 + "'",
        ),
        ({"variants": [{}]}, "(study): variants: a variant has neither name nor setting"),
        ({"variants": [{"scale": -1}]}, "(study): variants[0].scale: Invalid value: -1: must be a number from 0 to"),
        (
            {"variants": [{"scale": float("nan")}]},
            "(study): variants[0].scale: Invalid value: nan is not a finite number",
        ),
        ({"variants": [{"gap": "2"}]}, '(study): variants[0].gap: Invalid value: "2": must be a part such as 0.1%'),
        ({"variants": [{"budget": "x"}]}, '(study): variants[0].budget: Invalid value: "x": must be a decimal number'),
        ({"variants": [{"time-limit": "x"}]}, '(study): variants[0].time-limit: Invalid value: "x": must be seconds'),
        ({"variants": [{"mix": "none"}]}, "(study): variants[0].mix: Invalid value: none: No such file"),
        (
            {"variants": [{"feature-gates": {"A": True}}]},
            "(study): variants[0].feature-gates: Invalid value: unknown fe",
        ),
        (
            {"variants": [{"kubernetes-version": "9"}]},
            "(study): variants[0].kubernetes-version: Invalid value: unknown K",
        ),
        (
            {"variants": [{"add-nodes": {"count": 1}}]},
            '(study): variants[0].add-nodes: Invalid value: {"count": 1}: must',
        ),
        (
            {"variants": [{"add-nodes": {"template": "a"}}]},
            '(study): variants[0].add-nodes: Invalid value: {"template"',
        ),
        (
            {"variants": [{"remove-nodes": {"selector": "a b"}}]},
            '(study): variants[0].remove-nodes: Invalid value: {"sel',
        ),
        (
            {"product": {"seed": list(range(400)), "scale": list(range(400))}},
            "(study): has 160,000 variants, and may ha",
        ),
    ],
)
def test_what_is_wrong_in_a_study_is_one_line_with_its_field(cluster, study, problem):
    with pytest.raises(drasat.InputError) as refused:
        drasat.study(cluster, study)
    assert str(refused.value.problems[0]).startswith(problem)
    assert len({one.field for one in refused.value.problems}) == len(refused.value.problems)
    assert "\n" not in str(refused.value.problems[0])


def test_a_variant_that_fails_is_recorded(cluster):
    result = drasat.study(cluster, {"product": {"objective": ["admitted", "none"], "seed": [0, 1]}})
    assert [one.outcome for one in result.variants] == ["Optimal", "Optimal", "Failed", "Failed"]
    assert [one.name for one in result.failed] == ["objective=none,seed=0", "objective=none,seed=1"]
    assert next(iter(result.reasons())).startswith("objective=none,seed=0 and 1 other: unknown stage 'none'")


def test_a_defect_in_a_verb_ends_one_variant_only(cluster, monkeypatch):
    from drasat.verbs import capacity

    def broken(cluster, **options):
        raise RuntimeError("broken\nverb")

    monkeypatch.setattr(capacity, "capacity", broken)
    result = drasat.study(cluster, {"variants": [{"verb": "capacity"}, {"verb": "plan"}]})
    assert result.variants[0].error == "this is a defect of drasat, please report it: RuntimeError: broken\\nverb"
    assert result.variants[1].figures["placed"] == 5


def test_an_unknown_figure_is_said(cluster):
    result = drasat.study(cluster, {"product": {"seed": [0]}, "figures": ["placed", "plased"]})
    assert result.document.figures == ("placed",)
    assert result.document.notices[0].startswith("no variant has a figure 'plased', known are: placed, asked")


def counted(monkeypatch):
    """The names of variants that are computed from now on."""
    from drasat.verbs import study_run

    names = []

    def compute(shared, variant):
        names.append(variant.name)
        return compute_variant(shared, variant)

    monkeypatch.setattr(study_run, "compute_variant", compute)
    return names


def test_finished_variants_are_not_computed_again(cluster, tmp_path, monkeypatch, expected):
    computed = counted(monkeypatch)
    drasat.study(cluster, STUDY | {"product": {"scale": [1, 2], "seed": [0, 1]}}, keep=tmp_path)
    result = drasat.study(cluster, STUDY, keep=tmp_path)
    assert len(computed) == 6
    assert result.kept == 4
    assert result.to_json() == expected


def test_another_cluster_option_or_mix_is_computed_anew(cluster, tmp_path, monkeypatch):
    computed = counted(monkeypatch)
    study = {"product": {"seed": [0]}}
    drasat.study(cluster, study, keep=tmp_path)
    drasat.study(cluster.without(nodes=["gpu-1"]), study, keep=tmp_path)
    drasat.study(cluster, study | {"options": {"gap": "1%"}}, keep=tmp_path)
    mix = tmp_path / "mix.yaml"
    for name in ("queue.yaml", "cluster.yaml"):
        mix.write_text((EXAMPLES / "study" / name).read_text())
        drasat.study(cluster, study | {"options": {"objective": "fragmentation", "mix": str(mix)}}, keep=tmp_path)
    assert len(computed) == 5
    drasat.study(cluster, study | {"figures": ["placed"]}, keep=tmp_path)
    assert len(computed) == 5


def test_failures_are_tried_again_and_damaged_files_computed_anew(cluster, tmp_path, monkeypatch):
    computed = counted(monkeypatch)
    study = {"product": {"objective": ["admitted", "none"]}}
    drasat.study(cluster, study, keep=tmp_path)
    assert drasat.study(cluster, study, keep=tmp_path).kept == 1
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:20])
    assert drasat.study(cluster, study, keep=tmp_path).kept == 0
    assert len(computed) == 5


def test_a_study_goes_on_after_kill_9(cluster, tmp_path):
    """Whatever is in the folder at that time is complete, and the result is that of a study in one go."""
    study = {"product": {"seed": list(range(12))}}
    file, out = tmp_path / "study.json", tmp_path / "out.parquet"
    file.write_text(json.dumps(study))
    words = ["study", "-f", EXAMPLES / "study", "--study", file, "-o", out, "--workers", "2"]
    run = subprocess.Popen([sys.executable, "-m", "drasat", *map(str, words)], stdout=subprocess.DEVNULL)
    kept = tmp_path / "out.parquet.variants"
    while run.poll() is None and (not kept.is_dir() or len(list(kept.glob("[!.]*.json"))) < 2):
        time.sleep(0.02)
    run.kill()
    run.wait()
    there = len(list(kept.glob("[!.]*.json")))
    result = drasat.study(cluster, file, keep=kept)
    assert result.kept == there >= 2
    assert result.to_json() == drasat.study(cluster, study).to_json()


def test_progress_says_what_is_left(cluster):
    told = []
    drasat.study(cluster, STUDY, watch=lambda *said: told.append(said))
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5, 6]
    assert {total for _, total, _ in told} == {6}
    assert told[-1][2] == 0
    assert all(left >= 0 for _, _, left in told)
    assert all(one[0] < other[0] for one, other in pairwise(told))


def test_an_interrupt_gives_what_is_finished(cluster):
    def interrupt(done, total, left):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(drasat.StudyInterrupted) as interrupted:
        drasat.study(cluster, STUDY, watch=interrupt)
    assert [one.name for one in interrupted.value.result.variants] == ["scale=1,seed=0", "scale=1,seed=1"]


@pytest.mark.parametrize("make", [ThreadPoolExecutor, LokyExecutor], ids=["threads", "loky"])
def test_any_executor_gives_the_same(cluster, expected, make):
    with make(2) as executor:
        assert drasat.study(cluster, STUDY, executor=executor).to_json() == expected


def test_processes_give_the_same(cluster, expected):
    assert drasat.study(cluster, STUDY, workers=2).to_json() == expected


def test_each_process_unpacks_the_cluster_once(cluster):
    shared = SharedCluster("digest of this test", cluster)
    make, arguments = shared.__reduce__()
    first = make(*arguments)
    assert first.cluster is not cluster
    assert make(*arguments) is first


class Dying(ThreadPoolExecutor):
    """Takes along what it was given after the first variant."""

    def submit(self, function, shared, variant):
        from concurrent.futures import BrokenExecutor

        if variant.name.endswith("seed=0"):
            return super().submit(function, shared, variant)
        lost = Future()
        lost.set_exception(BrokenExecutor("gone"))
        return lost


def test_variants_of_an_executor_that_ends_are_failures(cluster):
    with Dying(1) as executor:
        result = drasat.study(cluster, STUDY, executor=executor)
    assert [one.outcome for one in result.variants] == ["Optimal", "Failed"] * 3
    assert result.failed[0].error == "the executor ended before the variant was computed"


def _end_this_process(cluster, **options):
    os._exit(9)


def test_a_process_that_ends_fails_its_variant_only(cluster, monkeypatch):
    from drasat.verbs import capacity

    monkeypatch.setattr(capacity, "capacity", _end_this_process)
    variants = [{"name": "a", "verb": "plan"}, {"name": "b", "verb": "capacity"}, {"name": "c", "verb": "allocate"}]
    result = drasat.study(cluster, {"variants": variants}, workers=2)
    assert [one.outcome for one in result.variants] == ["Optimal", "Failed", "Unallocatable"]
    assert result.failed[0].error.startswith("the process that computed it ended")


def test_places_of_computation_exclude_each_other(cluster):
    with pytest.raises(ValueError, match="not on several"):
        drasat.study(cluster, STUDY, workers=2, dask="tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="at least one worker"):
        drasat.study(cluster, STUDY, workers=0)


def test_the_hash_is_that_of_the_content(cluster, tmp_path):
    again = drasat.load(EXAMPLES / "study")
    assert cluster_hash(again) == cluster_hash(cluster)
    assert cluster_hash(cluster.without(nodes=["gpu-2"])) != cluster_hash(cluster)


def test_a_study_is_the_same_in_any_form(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(STUDY))
    assert read_study(file) == read_study(STUDY)
