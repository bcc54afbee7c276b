"""What Kueue refuses to start with, in its own words (kueue-dra 2.1, V1 to V16, and its corrections)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from .findings import STRUCTURE, FieldProblem, Path, WholeFindings, show_json

_MOST_MAPPINGS, _MOST_CLASSES = 16, 8
_MAPPINGS: Path = ("resources", "deviceClassMappings")
_TRANSFORMATIONS: Path = ("resources", "transformations")
_STRATEGIES = ("Retain", "Replace")
_QUOTA_CHECKS = ("BlockUndeclared", "IgnoreUndeclared")


CompileProblem = Callable[[str], str]
"""Why an expression does not compile; empty if it does."""


def configuration_problems(configuration: Configuration, compile_problem: CompileProblem) -> list[FieldProblem]:
    """Why Kueue does not start; nothing if it does. While gates contradict each other nothing else is checked."""
    found = WholeFindings()
    _check_gates(found, configuration)
    if not found.problems:
        _check_fair_sharing(found, configuration)
        _check_transformations(found, configuration.resources.transformations or ())
        _check_quota_strategy(found, configuration.resources.quota_check_strategy)
        mappings = configuration.resources.device_class_mappings or ()
        found.at_most(_MAPPINGS, mappings, _MOST_MAPPINGS)
        _MappingChecks(found, configuration.gates, compile_problem).check(mappings)
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


class _MappingChecks:
    """The checks of mappings; what earlier ones map is known to later ones."""

    def __init__(self, found: WholeFindings, gates: dict[str, bool], compile_problem: CompileProblem) -> None:
        self._found = found
        self._gates = gates
        self._compile_problem = compile_problem
        self._classes: dict[str, _MappedClass] = {}

    def check(self, mappings: Iterable[DeviceClassMapping]) -> None:
        """V2 to V16 of each mapping."""
        found = self._found
        names: set[str] = set()
        for index, mapping in enumerate(mappings):
            path = (*_MAPPINGS, index)
            self._check_key((*path, "name"), mapping.name)
            if mapping.name in names:
                found.duplicate((*path, "name"), mapping.name)
            names.add(mapping.name)
            self._check_classes((*path, "deviceClassNames"), mapping)
            self._check_sources((*path, "sources"), mapping)

    def _check_key(self, path: Path, text: str) -> None:
        """V2 and V3: the grammar of label keys, and a length."""
        self._found.joined_invalid(path, text, meta.label_key_complaints(text))
        if meta.byte_length(text) > meta.SUBDOMAIN_MAX:
            self._found.invalid(path, text, f"must not exceed {meta.SUBDOMAIN_MAX} characters")

    def _check_classes(self, path: Path, mapping: DeviceClassMapping) -> None:
        """V5 to V9: a class is mapped once, or for different counters; only the first source of a mapping counts."""
        found, names = self._found, mapping.device_class_names or ()
        if not names:
            found.required(path, "at least one device class name is required")
        found.at_most(path, names, _MOST_CLASSES)
        first = next(iter(mapping.sources or ()), None)
        counter = first.counter.name if first is not None and first.counter is not None else ""
        before = {name: frozenset(self._classes[name].counters) for name in names if name in self._classes}
        seen: set[str] = set()
        for index, name in enumerate(names):
            place = (*path, index)
            self._check_key(place, name)
            if name in seen:
                found.duplicate(place, name)
            seen.add(name)
            if name not in before:
                self._classes[name] = _MappedClass(mapping.name, {counter} - {""})
                continue
            known, counters = self._classes[name], before[name]
            if counter and counters and counter not in counters:
                known.counters.add(counter)
            elif counter and counters:
                text = show_json(counter)
                found.invalid(place, name, f"device class already has a counter source for counter {text}")
            elif known.resource != mapping.name:
                found.invalid(place, name, f"device class already mapped to resource {known.resource}")

    def _check_sources(self, path: Path, mapping: DeviceClassMapping) -> None:
        """V10 to V12, V16."""
        found, sources = self._found, mapping.sources or ()
        kinds = set()
        for index, source in enumerate(sources):
            place = (*path, index)
            one = source.counter or source.capacity
            if one is None:
                found.required(place, "exactly one source type must be set per entry")
            elif source.counter is not None and source.capacity is not None:
                found.invalid(place, "counter+capacity", "exactly one source type must be set per entry")
            else:
                kind, gate = _SOURCE_KINDS[source.counter is not None]
                kinds.add(kind)
                if self._gates[gate]:
                    self._check_source((*place, kind), one, is_counter=source.counter is not None)
                else:
                    found.invalid((*place, kind), value=True, detail=f"{kind} sources require {gate} to be enabled")
        if len(kinds) > 1:
            found.invalid(path, len(sources), "cannot mix counter and capacity sources in the same mapping")

    def _check_source(self, path: Path, source: DeviceAmountSource, *, is_counter: bool) -> None:
        """V13 to V15. A counter has the name of a label, a capacity that of a resource of devices (9.13)."""
        found, name, driver = self._found, (*path, "name"), (*path, "driver")
        if source.name and not is_counter:
            found.check_qualified(name, source.name)
        elif not is_counter:
            found.joined_invalid(name, source.name, meta.identifier_complaints(source.name))
        elif source.name:
            found.joined_invalid(name, source.name, meta.label_complaints(source.name))
        else:
            found.required(name)
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
        elif problem := self._compile_problem(selector.expression):
            found.invalid(expression, selector.expression, f"CEL compilation failed: {problem}")


_SOURCE_KINDS = {True: ("counter", PARTITIONABLE_DEVICES), False: ("capacity", CONSUMABLE_CAPACITY)}
