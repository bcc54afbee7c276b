"""What Kueue refuses to start with, in its own words (kueue-dra 2.1, V1 to V16, and its corrections)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..kubernetes import meta
from ..kubernetes.kueue_configuration import (
    CONSUMABLE_CAPACITY,
    DEPENDENT_GATES,
    DRA,
    PARTITIONABLE_DEVICES,
    STRATEGY_LISTS,
    Configuration,
    DeviceAmountSource,
    DeviceClassMapping,
    ResourceTransformation,
)
from .findings import STRUCTURE, FieldProblem, Path, WholeFindings, compact_json

_MOST_MAPPINGS, _MOST_CLASSES = 16, 8
_MAPPINGS: Path = ("resources", "deviceClassMappings")
_TRANSFORMATIONS: Path = ("resources", "transformations")
_STRATEGIES = ("Retain", "Replace")
_QUOTA_CHECKS = ("BlockUndeclared", "IgnoreUndeclared")


def configuration_problems(configuration: Configuration) -> list[FieldProblem]:
    """Why Kueue does not start; nothing if it does. While gates contradict each other nothing else is checked."""
    found = WholeFindings()
    _check_gates(found, configuration)
    if not found.problems:
        _check_fair_sharing(found, configuration)
        _check_transformations(found, configuration.resources.transformations or ())
        _check_quota_strategy(found, configuration.resources.quota_check_strategy)
        mappings = configuration.resources.device_class_mappings or ()
        found.at_most(_MAPPINGS, mappings, _MOST_MAPPINGS)
        _check_mappings(found, mappings, configuration.gates)
    return found.problems


def _check_gates(found: WholeFindings, configuration: Configuration) -> None:
    """A gate that depends on another one (9.1). Kueue names several in any order."""
    gates = configuration.gates
    if gates[DRA]:
        return
    texts = [
        f"{gate} is enabled, but depends on features that are disabled: [{DRA}]"
        for gate in DEPENDENT_GATES
        if gates[gate]
    ]
    if texts:
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        found.invalid(("featureGates",), dict(sorted((configuration.feature_gates or {}).items())), text, STRUCTURE)


def _check_fair_sharing(found: WholeFindings, configuration: Configuration) -> None:
    """Strategies have no default (9.12)."""
    if configuration.fair_sharing is None:
        return
    path: Path = ("fairSharing", "preemptionStrategies")
    strategies = configuration.fair_sharing.preemption_strategies or ()
    if not strategies:
        found.required(path, "must be specified", STRUCTURE)
    elif strategies not in STRATEGY_LISTS:
        found.not_supported(path, list(strategies), map(",".join, STRATEGY_LISTS))


def _check_transformations(found: WholeFindings, transformations: Iterable[ResourceTransformation]) -> None:
    seen: set[str] = set()
    for index, one in enumerate(transformations):
        path = (*_TRANSFORMATIONS, index)
        if one.strategy is not None and one.strategy not in _STRATEGIES:
            found.not_supported((*path, "strategy"), one.strategy, _STRATEGIES)
        if one.input in seen:
            found.duplicate((*path, "input"), one.input)
        seen.add(one.input)


def _check_quota_strategy(found: WholeFindings, strategy: str | None) -> None:
    if strategy and strategy not in _QUOTA_CHECKS:
        found.not_supported(("resources", "quotaCheckStrategy"), strategy, _QUOTA_CHECKS)


@dataclass
class _MappedClass:
    """The resource that a class was first mapped to, and the counters that it has a mapping for."""

    resource: str
    counters: set[str] = field(default_factory=set)


def _check_mappings(found: WholeFindings, mappings: Iterable[DeviceClassMapping], gates: dict[str, bool]) -> None:
    names: set[str] = set()
    classes: dict[str, _MappedClass] = {}
    for index, mapping in enumerate(mappings):
        path = (*_MAPPINGS, index)
        _check_key(found, (*path, "name"), mapping.name)
        if mapping.name in names:
            found.duplicate((*path, "name"), mapping.name)
        names.add(mapping.name)
        _check_classes(found, (*path, "deviceClassNames"), mapping, classes)
        _check_sources(found, (*path, "sources"), mapping, gates)


def _check_key(found: WholeFindings, path: Path, text: str) -> None:
    """V2 and V3: the grammar of label keys, and a length."""
    found.joined_invalid(path, text, meta.label_key_complaints(text))
    if meta.byte_length(text) > meta.SUBDOMAIN_MAX:
        found.invalid(path, text, f"must not exceed {meta.SUBDOMAIN_MAX} characters")


def _check_classes(
    found: WholeFindings, path: Path, mapping: DeviceClassMapping, classes: dict[str, _MappedClass]
) -> None:
    """V5 to V9: a class is mapped once, or for different counters; only the first source of a mapping is looked at."""
    names = mapping.device_class_names or ()
    if not names:
        found.required(path, "at least one device class name is required")
    found.at_most(path, names, _MOST_CLASSES)
    first = next(iter(mapping.sources or ()), None)
    counter = first.counter.name if first is not None and first.counter is not None else ""
    before = {name: (known.resource, frozenset(known.counters)) for name, known in classes.items()}
    seen: set[str] = set()
    for index, name in enumerate(names):
        place = (*path, index)
        _check_key(found, place, name)
        if name in seen:
            found.duplicate(place, name)
        seen.add(name)
        if name not in before:
            classes[name] = _MappedClass(mapping.name, {counter} - {""})
            continue
        resource, counters = before[name]
        if counter and counters and counter not in counters:
            classes[name].counters.add(counter)
        elif counter and counters:
            found.invalid(place, name, f"device class already has a counter source for counter {compact_json(counter)}")
        elif resource != mapping.name:
            found.invalid(place, name, f"device class already mapped to resource {resource}")


def _check_sources(found: WholeFindings, path: Path, mapping: DeviceClassMapping, gates: dict[str, bool]) -> None:
    """V10 to V16."""
    sources = mapping.sources or ()
    kinds = set()
    for index, source in enumerate(sources):
        place = (*path, index)
        one = source.counter or source.capacity
        if one is None:
            found.required(place, "exactly one source type must be set per entry")
        elif source.counter is not None and source.capacity is not None:
            found.invalid(place, "counter+capacity", "exactly one source type must be set per entry")
        else:
            kind, gate = (
                ("counter", PARTITIONABLE_DEVICES) if source.counter is not None else ("capacity", CONSUMABLE_CAPACITY)
            )
            kinds.add(kind)
            if gates[gate]:
                _check_source(found, (*place, kind), one, is_counter=kind == "counter")
            else:
                found.invalid((*place, kind), value=True, detail=f"{kind} sources require {gate} to be enabled")
    if len(kinds) > 1:
        found.invalid(path, len(sources), "cannot mix counter and capacity sources in the same mapping")


def _check_source(found: WholeFindings, path: Path, source: DeviceAmountSource, *, is_counter: bool) -> None:
    """V13 to V15. A counter has the name of a label, a capacity that of a resource of devices (9.13)."""
    name = (*path, "name")
    if source.name and not is_counter:
        found.check_qualified(name, source.name)
    elif not is_counter:
        found.joined_invalid(name, source.name, meta.identifier_complaints(source.name))
    elif source.name:
        found.joined_invalid(name, source.name, meta.label_complaints(source.name))
    else:
        found.required(name)
    driver = (*path, "driver")
    if not source.driver:
        found.required(driver)
    else:
        found.joined_invalid(driver, source.driver, meta.subdomain_complaints(source.driver))
        if meta.byte_length(source.driver) > meta.DOMAIN_MAX:
            found.invalid(driver, source.driver, f"must not exceed {meta.DOMAIN_MAX} characters")
    selector = source.device_selector.cel if source.device_selector is not None else None
    expression = (*path, "deviceSelector", "cel", "expression")
    if selector is None or not selector.expression:
        found.required(expression)
    elif problem := _compile_problem(selector.expression):
        found.invalid(expression, selector.expression, f"CEL compilation failed: {problem}")


def _compile_problem(text: str) -> str:
    """Why an expression does not compile; CEL is loaded when there is one."""
    from ...cel.errors import CelCompileError
    from ...cel.selector import compile_selector

    try:
        compile_selector(text)
    except CelCompileError as error:
        return str(error)
    return ""
