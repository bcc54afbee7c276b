"""Figures of docs/background/decisions.md: ``python benchmarks/decisions.py [objects|yaml|cel|vectors|solver ...]``.

Each table compares a part of drasat with a library that could replace it. Times are CPU times, the least of some runs
in one process, so that ratios hold on a busy machine. The extra ``test`` brings the libraries; pydantic is measured
where it is installed.
"""

from __future__ import annotations

import itertools
import json
import operator
import random
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
import orjson
import yaml
from ortools.sat.python import cp_model

from drasat import cel, scenarios
from drasat.cel.devices import DeviceShapes
from drasat.cel.program import Program
from drasat.cel.selector import Selector
from drasat.models.formats.decode import Model
from drasat.models.formats.errors import Unreadable
from drasat.models.formats.yaml import yaml_documents
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.models.manifests.reader import read_manifests

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
REPEATS = 5
DEVICES = 12
DRIVER = "gpu.example.com"
SELECTOR = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].productName.startsWith("H100")'


def least(work: Callable[[], object]) -> float:
    """Return the least CPU seconds of some runs."""
    return min(_seconds(work) for _ in range(REPEATS))


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def table(head: str, rows: list[tuple[str, ...]]) -> None:
    """Print a table in Markdown."""
    columns = head.split("|")
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def slices(nodes: int) -> list[Any]:
    """Slices of so many nodes, with twelve GPUs of eight attributes each."""
    return [item for item in scenarios.gpu_nodes(nodes, DEVICES, seed=1) if item["kind"] == "ResourceSlice"]


# Reading API objects.


def pydantic_models() -> Callable[[type], Any]:
    """Return a function that makes the pydantic model of a type of ours: same fields, names, defaults and bounds."""
    import pydantic

    made: dict[type, Any] = {}

    def translate(hint: Any) -> Any:
        if isinstance(hint, type) and issubclass(hint, Model):
            return model(hint)
        origin, inside = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            (bound,) = (one for one in hint.__metadata__ if isinstance(one, msgspec.Meta))
            return typing.Annotated[inside[0], pydantic.Field(ge=bound.ge, le=bound.le)]
        if origin in (types.UnionType, typing.Union):
            return typing.Union[tuple(map(translate, inside))]  # noqa: UP007 - made of a tuple
        return origin[tuple(one if one is ... else translate(one) for one in inside)] if origin and inside else hint

    def model(struct: type) -> Any:
        if struct not in made:
            hints = typing.get_type_hints(struct, include_extras=True)
            fields: dict[str, Any] = {}
            for one in msgspec.structs.fields(struct):
                default: dict[str, Any] = {"default": one.default} if one.default is not msgspec.NODEFAULT else {}
                if one.default_factory is not msgspec.NODEFAULT:
                    default = {"default_factory": one.default_factory}
                alias = one.encode_name
                fields[one.name] = (translate(hints[one.name]), pydantic.Field(alias=alias, **default))
            config = pydantic.ConfigDict(frozen=True, protected_namespaces=())
            made[struct] = pydantic.create_model(struct.__name__, __config__=config, **fields)
        return made[struct]

    return model


def objects(nodes: int = 1000) -> None:
    """Print how long it takes to make typed objects of slices, from bytes and from mappings."""
    plain = slices(nodes)
    text = orjson.dumps(plain)
    decoder = msgspec.json.Decoder(list[ResourceSlice])
    ways: dict[str, Callable[[], object]] = {
        "msgspec, from bytes": lambda: decoder.decode(text),
        "msgspec, from mappings": lambda: msgspec.convert(plain, list[ResourceSlice]),
        "orjson, mappings only": lambda: orjson.loads(text),
    }
    try:
        from pydantic import TypeAdapter
    except ImportError:
        print("pydantic is not installed", file=sys.stderr)
    else:
        adapter = TypeAdapter(list[pydantic_models()(ResourceSlice)])  # type: ignore[misc]
        assert len(adapter.validate_json(text)) == len(decoder.decode(text))
        ways["pydantic, from bytes"] = lambda: adapter.validate_json(text)
        ways["pydantic, from mappings"] = lambda: adapter.validate_python(plain)
    seconds = {name: least(way) for name, way in ways.items()}
    base = seconds["msgspec, from bytes"]
    devices = nodes * DEVICES
    rows = [(name, f"{one / devices * 1e6:.1f}", f"{one / base:.1f}") for name, one in seconds.items()]
    table("typed objects of slices|us a device|ratio", rows)


# Reading YAML.

ODDITIES = {
    "octal": "a: 0644",
    "octal of YAML 1.2": "a: 0o644",
    "no": "a: no",
    "y": "a: y",
    "sexagesimal": "a: 12:30",
    "exponent": "a: 1e3",
    "date": "a: 2024-01-31",
    "key of a number": "1: a",
    "duplicate key": "a: 1\na: 2",
    "infinity": "a: .inf",
    "second document is broken": "a: 1\n---\nb: [\n---\nc: 3",
}
# What ``YAMLToJSONStrict`` of sigs.k8s.io/yaml v1.6.0, the reader of Kubernetes, makes of single documents.
KUBERNETES = {
    "octal": '{"a":420}',
    "octal of YAML 1.2": '{"a":420}',
    "no": '{"a":false}',
    "y": '{"a":true}',
    "sexagesimal": '{"a":"12:30"}',
    "exponent": '{"a":1000}',
    "date": '{"a":"2024-01-31"}',
    "key of a number": '{"1":"a"}',
    "duplicate key": "refused",
    "infinity": "refused",
}


def bomb(levels: int = 9, width: int = 9) -> str:
    """Write a document whose aliases stand for ``width ** levels`` strings."""
    lines = ["l0: &l0 [x]"]
    lines += [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * width)}]" for level in range(1, levels + 1)]
    return "\n".join(lines)


def ours(text: str) -> str:
    """Read by drasat: JSON of each document, or "refused"."""
    return " ".join(map(_shown, yaml_documents(text.encode())))


def theirs(text: str) -> str:
    """Read by PyYAML's C loader: JSON of each document, or "refused"."""
    found = []
    documents: Iterator[Any] = yaml.load_all(text, Loader=yaml.CSafeLoader)
    try:
        found.extend(map(_shown, documents))
    except yaml.YAMLError:
        found.append("refused")
    return " ".join(found)


def _shown(document: Any) -> str:
    if isinstance(document, Unreadable):
        return "refused"
    if isinstance(document, dict):
        document = {key: _whole(one) for key, one in document.items()}
    try:
        return json.dumps(document, separators=(",", ":"), allow_nan=True)
    except TypeError:
        return f"no JSON: {document!r}"


def _whole(value: Any) -> Any:
    """Give an int for a float without a fraction: JSON does not tell them apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_yaml(nodes: int = 100) -> None:
    """Print the time to read slices, and what becomes of texts that readers differ about."""
    text = yaml.dump_all(slices(nodes), Dumper=yaml.CSafeDumper, sort_keys=False)
    data = text.encode()
    assert list(yaml_documents(data)) == list(yaml.load_all(data, Loader=yaml.CSafeLoader))
    ways: dict[str, Callable[[], object]] = {
        "drasat": lambda: list(yaml_documents(data)),
        "PyYAML, CSafeLoader": lambda: list(yaml.load_all(data, Loader=yaml.CSafeLoader)),
    }
    seconds = {name: least(way) for name, way in ways.items()}
    slow = text[: len(text) // 10].rpartition("---")[0]
    seconds["PyYAML, SafeLoader"] = 10 * _seconds(lambda: list(yaml.load_all(slow, Loader=yaml.SafeLoader)))
    rows = [
        (name, f"{one / (nodes * DEVICES) * 1e6:.0f}", f"{one / seconds['drasat']:.1f}")
        for name, one in seconds.items()
    ]
    table("YAML of slices|us a device|ratio", rows)
    table(
        "text|Kubernetes|drasat|PyYAML",
        [(f"{name}: `{one!r}`", KUBERNETES.get(name, "-"), ours(one), theirs(one)) for name, one in ODDITIES.items()],
    )
    assert {name: ours(ODDITIES[name]) for name in KUBERNETES} == KUBERNETES
    found = ours(bomb())
    print(f"\n{len(bomb())} characters of aliases that stand for {9**9:,} strings: {found}")


# Expressions.


def _native(attribute: dict[str, Any]) -> Any:
    """Return the plain value of an attribute."""
    (value,) = attribute.values()
    return value


def expressions(nodes: int = 20) -> None:
    """Print the time of a selector on one device by each implementation, and how many vectors they decide otherwise."""
    import celpy
    from cel_expr_python import cel as cpp
    from celpy.adapter import json_to_cel

    manifests, _, _ = read_manifests([slices(nodes)])
    raw = [device for one in slices(nodes) for device in one["spec"]["devices"]]
    plain = [
        {"driver": DRIVER, "attributes": {DRIVER: {name: _native(one) for name, one in device["attributes"].items()}}}
        for device in raw
    ]
    shapes = DeviceShapes()
    objects_ = [one.object for one in manifests if isinstance(one.object, ResourceSlice)]
    prepared = [shapes.prepare(device, one.spec.driver) for one in objects_ for device in one.spec.devices or ()]
    assert all(device.cel_value is not None for device in prepared)
    selector = Selector.compile(SELECTOR)
    environment = celpy.Environment()
    program = environment.program(environment.compile(SELECTOR))
    contexts = [{"device": json_to_cel(one)} for one in plain]
    other = cpp.NewEnv(variables={"device": cpp.Type.DYN})
    compiled = other.compile(SELECTOR)

    def evaluate_cpp() -> list[bool]:
        return [bool(compiled.eval(data={"device": one}).value()) for one in plain]

    want = [selector.evaluate(device) for device in prepared]
    assert want == evaluate_cpp() == [bool(program.evaluate(one)) for one in contexts]
    ways: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "drasat": (lambda: [selector.evaluate(one) for one in prepared], lambda: Program(SELECTOR)),
        "cel-python": (
            lambda: [program.evaluate(one) for one in contexts],
            lambda: environment.program(environment.compile(SELECTOR)),
        ),
        "cel-expr-python": (evaluate_cpp, lambda: other.compile(SELECTOR)),
    }
    seconds = {name: (least(evaluate) / len(plain), least(make)) for name, (evaluate, make) in ways.items()}
    base = seconds["drasat"][0]
    rows = [
        (name, f"{each * 1e6:.2f}", f"{each / base:.1f}", f"{make * 1e6:.0f}") for name, (each, make) in seconds.items()
    ]
    table("a selector of two clauses|us an evaluation|ratio|us to compile", rows)


SIMPLE = re.compile(r"(?:dyn|int|string|bool|double|list|map|[(), ])+")


def cases() -> Iterator[tuple[str, dict[str, Any], str, str]]:
    """Yield expressions with plain inputs and with what cel-go gave for them in Kubernetes' environment.

    Of the recorded vectors those whose variables any implementation can take: no uint, bytes, time or Kubernetes type.
    """
    for group in json.loads((DATA / "cel-vectors.json").read_text(encoding="utf-8")):
        for expression, result, _ in group["vectors"]:
            text = re.sub(r'"(?:[^"\\]|\\.)*"', "", expression)
            used = {name: one for name, one in group["variables"].items() if re.search(rf"\b{name}\b", text)}
            if all(SIMPLE.fullmatch(one["type"]) and "$type" not in json.dumps(one["value"]) for one in used.values()):
                kinds = json.dumps({name: one["type"] for name, one in used.items()})
                yield expression, {name: _input(one) for name, one in used.items()}, kinds, result


def _input(declared: dict[str, Any]) -> Any:
    value = declared["value"]
    if declared["type"].startswith("map") and isinstance(value, list):
        return dict(value)
    return float(value) if declared["type"] == "double" else value


def recorded(value: Any) -> str:
    """Write a plain value as the vectors do."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | cel.CelMap):
        return "{" + ", ".join(sorted(f"{recorded(key)}: {recorded(one)}" for key, one in value.items())) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(recorded, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def disagreements() -> None:
    """Print in how many of the recorded vectors an implementation decides otherwise than cel-go."""
    import celpy
    from cel_expr_python import cel as cpp

    names = celpy.celtypes

    def by_drasat(expression: str, inputs: dict[str, Any], kinds: str) -> Any:
        return cel.compile(expression, variables=json.loads(kinds)).evaluate(inputs)

    def by_cpp(expression: str, inputs: dict[str, Any], _kinds: str) -> Any:
        environment = cpp.NewEnv(variables=dict.fromkeys(inputs, cpp.Type.DYN))
        result = environment.compile(expression).eval(data=inputs)
        if result.type() == cpp.Type.ERROR:
            raise ValueError(result.value())
        return result.plain_value()

    def native(value: Any) -> Any:
        if isinstance(value, names.MapType):
            return {native(key): native(one) for key, one in value.items()}
        if isinstance(value, names.ListType):
            return [native(one) for one in value]
        own = {names.BoolType: bool, names.IntType: int, names.DoubleType: float, names.StringType: str}
        return own.get(type(value), lambda one: one)(value)

    def by_celpy(expression: str, inputs: dict[str, Any], _kinds: str) -> Any:
        environment = celpy.Environment()
        values = {name: celpy.json_to_cel(one) for name, one in inputs.items()}
        return native(environment.program(environment.compile(expression)).evaluate(values))

    plain = re.compile(r'null|true|false|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|".*"|\[.*\]|\{.*\}', re.DOTALL)
    opaque = re.compile(r"duration\(|timestamp\(|optional\.|quantity\(")
    found = [
        case
        for case in cases()
        if case[3].startswith("error") or (plain.fullmatch(case[3]) and not opaque.search(case[3]))
    ]
    rows = []
    for name, way in {"drasat": by_drasat, "cel-python": by_celpy, "cel-expr-python": by_cpp}.items():
        refused = wrong = accepted = 0
        for expression, inputs, kinds, want in found:
            try:
                got = recorded(way(expression, inputs, kinds))
            except Exception:  # any error of any implementation counts as one
                refused += not want.startswith("error")
                continue
            accepted += want.startswith("error")
            wrong += not want.startswith("error") and got != want
        rows.append((name, *map(str, (len(found), refused, wrong, accepted))))
    table("|expressions|an error, cel-go has a value|another value|a value, cel-go has an error", rows)


# The solver.

_VARIABLES = 6


def inclusions(models: int = 1500) -> None:
    """Print how often CP-SAT misses the optimum of a random model, by size of its coefficients (or-tools #5293).

    A model has six booleans, one row over all of them and one over some with the same coefficients; most rows are
    enforced by a literal. All assignments are tried to know the optimum.
    """
    rows = []
    for power in (0, 20, 29, 31, 33, 40):
        wrong = [sum(not _agrees(seed, 1 << power, guarded) for seed in range(models)) for guarded in (False, True)]
        rows.append((f"2^{power}", str(models), *map(str, wrong)))
    table("coefficients of about|models|wrong by default|wrong without the pass", rows)


def _agrees(seed: int, size: int, guarded: bool) -> bool:
    chance = random.Random(seed)
    model = cp_model.CpModel()
    variables = [model.new_bool_var("") for _ in range(_VARIABLES + 2)]
    chosen, guards = variables[:_VARIABLES], variables[_VARIABLES:]
    coefficients = [chance.choice([1, 2, 3]) * size + chance.randrange(3) for _ in chosen]
    rows: list[tuple[list[int], int, int, int | None]] = []
    for inside in (list(range(_VARIABLES)), chance.sample(range(_VARIABLES), chance.randrange(2, _VARIABLES))):
        total = sum(coefficients[one] for one in inside)
        low = chance.randrange(total + 1)
        high = chance.randrange(low, total + 1)
        guard = chance.randrange(2) if chance.random() < 0.8 else None
        rows.append((inside, low, high, guard))
        row = model.add_linear_constraint(sum(coefficients[one] * chosen[one] for one in inside), low, high)
        if guard is not None:
            row.only_enforce_if(guards[guard])
    worth = [chance.randrange(-5, 6) for _ in variables]
    model.minimize(sum(one * variable for one, variable in zip(worth, variables, strict=True)))

    def holds(values: tuple[int, ...]) -> bool:
        return all(
            (guard is not None and not values[_VARIABLES + guard])
            or low <= sum(coefficients[one] * values[one] for one in inside) <= high
            for inside, low, high, guard in rows
        )

    every = filter(holds, itertools.product((0, 1), repeat=len(variables)))
    best = min((sum(map(operator.mul, worth, values)) for values in every), default=None)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if guarded:
        solver.parameters.presolve_inclusion_work_limit = 0
    status = solver.solve(model)
    return best == (None if status == cp_model.INFEASIBLE else round(solver.objective_value))


def main(*names: str) -> None:
    """Print the tables of the parts named, all without a name."""
    parts = {"objects": objects, "yaml": read_yaml, "cel": expressions, "vectors": disagreements, "solver": inclusions}
    for name in names or parts:
        parts[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
