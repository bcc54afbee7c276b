"""CEL without one of its emitters, and expressions over devices without a pass of their lowering."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

import msgspec
import solver_phases
from ablating import Part, Row, in_turns
from measuring import GATES
from tables import show

import cel as cel_benchmark
from drasat import scenarios
from drasat.cel import closures, program, selector
from drasat.cel.compiler import Compiled
from drasat.cel.devices import DeviceShapes, PreparedDevice
from drasat.cel.errors import CelCompileError, CelError
from drasat.cel.meter import Meter
from drasat.cel.metering import MeteredEmitter
from drasat.encoders.expressions import joins
from drasat.encoders.expressions import lowering as lowering_module
from drasat.encoders.expressions.formula_nodes import TRUE
from drasat.encoders.expressions.formulas import Formulas
from drasat.encoders.expressions.values import NotLoweredError
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity
from drasat.models.manifests.reader import read_manifests
from drasat.reports.comparison import display_duration
from drasat.scenarios.lattices import RELATED_QUESTIONS, in_a_square, related_node
from drasat.scenarios.queues import fleet
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load
from drasat.solver.allocate.validate import manifest_problems
from drasat.solver.engines.outcome import AllocationOutcome
from drasat.solver.plan.plan import plan as planning

TESTS = Path(__file__).parents[1] / "tests"
DATA = TESTS / "data"

# --- expressions about one device


def _metered_frame(compiled: Compiled, meter: Meter | None, values: Sequence[Any]) -> list[Any]:
    return _FRAME(compiled, meter or Meter(sys.maxsize), values)


_FRAME = Compiled.frame
EMITTERS = (
    Part(
        "shorter ways for paths and ==",
        closures,
        "fast_path",
        lambda _slot, _keys, slow: slow,
        (Part("", closures, "fast_binary", lambda *_: None),),
    ),
    Part(
        "emitter that does not count",
        program,
        "Emitter",
        MeteredEmitter,
        (Part("", Compiled, "frame", _metered_frame),),
    ),
)


def _forget() -> None:
    for one in (selector._compiled, selector._compile_device_set, selector._selector, program._program):  # noqa: SLF001
        one.cache_clear()


def _clocked(work: Callable[[], object]) -> float:
    _forget()
    started = process_time()
    work()
    return process_time() - started


def _corpus() -> dict[str, list[PreparedDevice]]:
    """Selectors with the devices that they are about: those of the tests, and what a fleet's are asked about."""
    found: dict[str, list[PreparedDevice]] = {}
    shapes = DeviceShapes()
    fields = {"int": "int_value", "bool": "bool_value"}

    def prepared(data: Any) -> PreparedDevice:
        attributes = {
            name: DeviceAttribute(**{fields.get(kind, kind): tuple(value) if isinstance(value, list) else value})
            for name, given in data["attributes"].items()
            for kind, value in given.items()
        }
        capacity = {name: DeviceCapacity(value=amount["value"]) for name, amount in data.get("capacity", {}).items()}
        return shapes.prepare(Device(attributes=attributes, capacity=capacity), data["driver"])

    for one in msgspec.json.decode((DATA / "cel-corpus.json").read_bytes()):
        if "device" in one:
            found.setdefault(one["expression"], []).append(prepared(one["device"]))
    vectors = msgspec.json.decode((DATA / "cel-selectors.json").read_bytes())
    devices = [prepared(one) for one in vectors["devices"]]
    for place, expression, *_ in vectors["vectors"]:
        found.setdefault(expression, []).append(devices[place])
    return {text: own for text, own in found.items() if _compiles(text)}


def _compiles(text: str) -> bool:
    try:
        selector.Selector(text)
    except CelError:
        return False
    return True


def _asked(cluster: Cluster) -> dict[str, list[PreparedDevice]]:
    """What allocating evaluates."""
    found: dict[str, list[PreparedDevice]] = {}
    original = selector.Selector.evaluate

    def noting(own: selector.Selector, device: PreparedDevice, **options: Any) -> Any:
        found.setdefault(own.text, []).append(device)
        return original(own, device, **options)

    with patch.object(selector.Selector, "evaluate", noting):
        allocate(cluster, feature_gates=GATES, time_limit=None)
    return found


def _compile(corpus: Mapping[str, Sequence[PreparedDevice]]) -> None:
    for text in corpus:
        program.Program(text).estimate  # noqa: B018


def _evaluate(corpus: Mapping[str, Sequence[PreparedDevice]], times: int) -> float:
    """Seconds of evaluating alone."""
    _forget()
    work = [(selector.Selector(text), devices) for text, devices in corpus.items()]
    started = process_time()
    for _ in range(times):
        for own, devices in work:
            for device in devices:
                own.evaluate(device)
    return process_time() - started


def cel_questions(quick: bool) -> Iterator[tuple[str, Callable[[], float]]]:
    """Name what is measured, in seconds."""
    corpus, nodes = _corpus(), 100 if quick else 1_000
    waiting = scenarios.requests(nodes, {"gpu": 6, "near-gpus": 2, "either-gpu": 1}, seed=1)
    source = scenarios.combine(scenarios.gpu_nodes(nodes, 12, seed=1, fullness=0.3), waiting)
    manifests_read, _, _ = read_manifests([source])
    cluster, ships = load(source), load(fleet(nodes))
    seen = _asked(cluster)
    devices = [one for own in seen.values() for one in own][:20_000]
    yield f"{len(corpus)} selectors of the tests, compiled", lambda: _clocked(lambda: _compile(corpus))
    yield f"{sum(map(len, corpus.values()))} evaluations of them", lambda: _evaluate(corpus, 20)
    text = cel_benchmark.SELECTOR
    yield f"{len(devices):,} evaluations of one with two clauses", lambda: _evaluate({text: devices}, 1)
    yield f"validate, {nodes} nodes", lambda: _clocked(lambda: manifest_problems(manifests_read, GATES))
    yield (
        f"allocate, {nodes} nodes, verified",
        lambda: _clocked(lambda: allocate(cluster, feature_gates=GATES, time_limit=None)),
    )
    yield (
        f"plan, fleet of {nodes} nodes, verified",
        lambda: _clocked(lambda: planning.plan(ships, feature_gates=GATES, time_limit=None)),
    )


def cel(quick: bool, only: str) -> None:
    """Expressions about one device, without the emitter that does not count or its shorter ways."""
    show(chain([("measured", "without", "CPU", "CPU : all on")], _cel_rows(quick, only)))


def _cel_rows(quick: bool, only: str) -> Iterator[Row]:
    for name, measure in cel_questions(quick):
        if only in name:
            measure()
            found = in_turns(EMITTERS, 3 if quick else 9, measure)
            for without, seconds in found.items():
                yield name, without, display_duration(median(seconds)), f"{median(seconds) / median(found['']):.2f}"


# --- expressions over devices


class _NoPlans:
    def __init__(self, *_arguments: Any) -> None: ...

    def plan(self, *_arguments: Any) -> None:
        """All pairs."""


LOWERING = (
    Part("joins", joins, "JoinPlanner", _NoPlans),
    Part("cost pass", lowering_module, "require_within_limit", lambda *_: None),
)


def lowering_questions(quick: bool) -> Iterator[tuple[str, list[Any], str]]:
    """Name questions, with their objects and the encoding that expressions take."""
    for name, question in RELATED_QUESTIONS.items():
        yield name, question.objects(), "auto"
    for side in (8, 16) if quick else (8, 16, 24):
        yield f"story 2 on a square of {side}", related_node((side, side), 4, in_a_square()), "auto"


def lowering(quick: bool, only: str) -> None:
    """Expressions over devices, without joins, without the cost pass."""
    head = "question, without, outcome, lowered, literals, no-goods, lowering, solving, whole, whole : all on"
    show(chain([tuple(head.split(", "))], _lowering_rows(quick, only)))
    if only in "random":
        show(chain([("expression beyond the limit of costs", "by", "is")], _beyond_the_limit()))
        head = "expressions, without, lowered, lowering, lowering : all on"
        show(chain([tuple(head.split(", "))], _random_rows(quick)))


def _lowering_rows(quick: bool, only: str) -> Iterator[Row]:
    for name, items, encoding in lowering_questions(quick):
        if only not in name:
            continue
        cluster = load(items)
        found = in_turns(LOWERING, 3 if quick else 5, lambda own=cluster, way=encoding: _lowered(own, way))
        base = median(one[0] for one in found[""])
        for without, runs in found.items():
            whole, encode, solve = (median(one[place] for one in runs) for place in range(3))
            answer = runs[0][3]
            known = answer.statistics
            taken = known.cel_lowered, known.cel_lowered + known.cel_tabulated + known.cel_lazy
            sizes = f"{taken[0]} of {taken[1]}", f"{known.literals:,}", f"{known.no_goods:,}"
            times = display_duration(encode), display_duration(solve), display_duration(whole), f"{whole / base:.2f}"
            yield name, without, answer.outcome, *sizes, *times


def _lowered(cluster: Cluster, encoding: str) -> tuple[float, float, float, AllocationOutcome]:
    started = process_time()
    answer = allocate(cluster, engine="cp-sat", feature_gates=GATES, time_limit=30.0, cel_encoding=encoding)
    whole = process_time() - started
    phases = solver_phases.measure(cluster).seconds if encoding == "auto" else {"encode": 0.0, "solve": 0.0}
    return whole, phases["encode"], phases["solve"], answer


def _beyond_the_limit() -> Iterator[Row]:
    """An expression that costs too much on 64 equal devices, which one step of lowering stands for."""
    from support.random_expressions import device
    from support.random_expressions import program as over_devices

    found = over_devices("devices.all(a, devices.all(b, devices.all(c, a.@i + b.@i + c.@i >= 0)))")
    outcome = found.measure({"devices": [device(i=0)] * 64})
    yield "64 equal devices", "evaluation", type(outcome.error).__name__

    def told() -> str:
        try:
            formula = lowering_module.lower_expression(found, [device(i=0)], Formulas([64], 64, 64))
        except NotLoweredError as error:
            return str(error)
        return "always true" if formula.true == TRUE else "not always true"

    yield "64 equal devices", "lowered", told()
    with LOWERING[1].off():
        yield "64 equal devices", "lowered without the cost pass", told()


def _random_rows(quick: bool) -> Iterator[Row]:
    from support.random_expressions import Expressions, devices
    from support.random_expressions import program as over_devices

    rng, asked = Random(0), []
    while len(asked) < (300 if quick else 2_000):
        try:
            asked.append((over_devices(Expressions(rng).any(3)), devices(rng)))
        except CelCompileError:
            continue

    def measure() -> tuple[float, int]:
        started, number = process_time(), 0
        for expression, items in asked:
            with suppress(NotLoweredError):
                lowering_module.lower_expression(expression, items, Formulas([2] * len(items), 0, 2 * len(items)))
                number += 1
        return process_time() - started, number

    found = in_turns(LOWERING, 3, measure)
    base = median(seconds for seconds, _ in found[""])
    for without, runs in found.items():
        seconds = median(one for one, _ in runs)
        yield f"{len(asked)} random", without, f"{runs[0][1]}", display_duration(seconds), f"{seconds / base:.2f}"
