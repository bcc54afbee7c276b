"""Everything that can be wrong with manifests: the API server's rules, references, expressions, topologies.

Devices that contradict their topology are bad input (TOPO-3). A warning names devices that are equal to an expression
which compares devices (CELC-5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import NamedTuple

from ...cel.devices import ATTRIBUTES, CAPACITY, DeviceShapes, PreparedDevice
from ...cel.environment import TOO_COSTLY
from ...cel.errors import CelCompileError, CelError
from ...cel.meter import COST_LIMIT
from ...cel.program import Program
from ...cel.selector import DeviceSetExpression, compile_selector
from ...cel.values import Value
from ...models.cluster.cluster import Cluster, topology_instances
from ...models.cluster.node_fit import SelectorError, per_device
from ...models.formats.errors import InputProblem, has_errors
from ...models.formats.runtime import gc_young_only
from ...models.kubernetes.claims import DeviceClaim, DeviceClass, DeviceSelector, RequestSpec
from ...models.kubernetes.extensions import DeviceTopology
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, byte_length
from ...models.kubernetes.slices import ResourceSlice
from ...models.manifests.reader import Manifest, read_manifests
from ...models.manifests.sources import InputSource
from ...models.results.common import IgnoredKind
from ...models.topology.places import TopologyError, place_devices
from ...models.validation.entries import EXPRESSION_MAX
from ...models.validation.expressions import LocatedEntry, Purpose, cel_path, expressions, located_entries
from ...models.validation.findings import quote
from ...models.validation.references import input_problem
from ...models.validation.validate import object_checks, validate_manifests
from ...problem.constraints import entry_applies
from ...problem.messages import DeadlineExceededError
from ...problem.selectors import compile_derivation
from ...problem.topology import membership_of
from .published_names import newest_published_devices, unpublished_names


def validate(
    sources: Sequence[InputSource],
    gates: FeatureGates,
    *,
    recursive: bool = False,
    skip_validation: bool = False,
    strict: bool = False,
    max_input_size: int | str | None = None,
) -> tuple[list[InputProblem], list[IgnoredKind]]:
    """Read the sources and report every problem, in reading order, and what is ignored; nothing in the input raises."""
    checks = object_checks(gates, skip_validation)
    manifests, found, _ = read_manifests(
        sources, recursive, strict=strict, max_input_size=max_input_size, checks=checks
    )
    found += manifest_problems(manifests, gates, skip_validation=skip_validation, unreadable=found, good=checks.good)
    if not skip_validation and not has_errors(found):
        found.extend(indistinguishable_devices(manifests))
    ignored = Counter((manifest.kind, manifest.api_version) for manifest in manifests if manifest.object is None)
    return found, [
        IgnoredKind(kind=kind, api_version=version, count=count) for (kind, version), count in sorted(ignored.items())
    ]


@gc_young_only()
def manifest_problems(
    manifests: Sequence[Manifest],
    gates: FeatureGates,
    *,
    skip_validation: bool = False,
    unreadable: Sequence[InputProblem] = (),
    good: Container[int] = (),
) -> list[InputProblem]:
    """Problems of what was read; ``skip_validation`` lifts names and limits, and leaves expressions to the search.

    ``unreadable`` are problems of what could not be read, ``good`` numbers of manifests with nothing wrong.

    In the search an expression that does not compile is fatal for the units that use it only (CEL-6).
    """
    found = validate_manifests(manifests, gates, skip_validation, unreadable, good)
    if not skip_validation:
        found.extend(_expression_problems(manifests))
    if not has_errors(found):
        found.extend(topology_problems(manifests, gates))
        found.extend(unpublished_names(manifests))
    return found


def _expression_problems(manifests: Iterable[Manifest]) -> Iterator[InputProblem]:
    """CLM-6, CEL-5: what admission says of expressions; a warning where it takes too long to look at all of them."""
    steps, left = 0, 0
    first: tuple[Manifest, str] | None = None
    verdicts: dict[tuple[Purpose, str], str] = {}
    for manifest in manifests:
        for field, text, purpose in expressions(manifest.object):
            # What is empty or too long has been refused for that.
            if not text.strip() or byte_length(text) > EXPRESSION_MAX:
                continue
            if (purpose, text) not in verdicts:
                if steps > MOST_COMPILE_STEPS:
                    first, left = first or (manifest, field), left + 1
                    continue
                verdicts[purpose, text], took = _verdict(purpose, text)
                steps += took
            if said := verdicts[purpose, text]:
                yield input_problem(manifest, field, said)
    if first is not None:
        others = f"this one and {left - 1} more were not looked at"
        message = f"expressions before this one take too long to compile: {others}"
        yield input_problem(*first, message, "warning")


def _verdict(purpose: Purpose, text: str) -> tuple[str, int]:
    """What is wrong with an expression, empty if nothing is, and the steps that compiling takes."""
    try:
        program = _COMPILERS[purpose](text)
    except CelCompileError as error:
        message = " ".join(line for line in str(error).splitlines() if not line.startswith(" |"))
        # Kueue says so of its configuration (kueue-dra 2.1, V15).
        said = f"CEL compilation failed: {message}" if purpose == "source" else message
        return f"Invalid value: {quote(text)}: {said}", error.steps
    return (f"Forbidden: {TOO_COSTLY}" if program.estimate.max > COST_LIMIT else ""), program.steps


# Of all expressions together: 5 to 10 s of compiling. Most take no more than a few hundred steps.
MOST_COMPILE_STEPS = 15_000_000
_COMPILERS: dict[Purpose, Callable[[str], Program]] = {
    "selector": lambda text: compile_selector(text).program,
    "source": lambda text: compile_selector(text).program,
    "derivedAttribute": compile_derivation,
    "constraint": lambda text: DeviceSetExpression(text).program,
}


# Seconds for the devices of all topologies.
_TOPOLOGY_SECONDS = 10.0


def topology_problems(
    manifests: Sequence[Manifest], gates: FeatureGates, seconds: float = _TOPOLOGY_SECONDS
) -> Iterator[InputProblem]:
    """Report the first contradiction of each topology; the topologies must be valid.

    Those whose devices are not found within so many seconds have a warning (CEL-11).
    """
    found = [(manifest, manifest.object) for manifest in manifests if isinstance(manifest.object, DeviceTopology)]
    if not found:
        return
    cluster, deadline = Cluster.build(manifests), monotonic() + seconds
    for manifest, topology in found:
        if not isinstance(topology, DeviceTopology):
            continue
        try:
            detail = _topology_contradiction(topology, cluster, gates, deadline)
        except DeadlineExceededError:
            message = f"its devices were not found within {seconds:g} seconds, and not looked at"
            yield input_problem(manifest, "spec.deviceClassName", message, "warning")
            continue
        if detail:
            field = "spec.links.id" if topology.spec.shape == "Links" else "spec.coordinates"
            yield input_problem(manifest, field, detail)


def _topology_contradiction(topology: DeviceTopology, cluster: Cluster, gates: FeatureGates, deadline: float) -> str:
    try:
        belongs = membership_of(topology, cluster.classes, deadline)
        for instance in topology_instances(topology, cluster, gates, belongs):
            place_devices(topology, instance.devices, instance.label)
    except TopologyError as error:
        return str(error).removeprefix(f"DeviceTopology {topology.metadata.name}: ")
    except SelectorError:
        # Nodes cannot be told apart then; questions about a node report that.
        return ""
    return ""


# Seconds for the selectors of all expressions, and pairs that are tried for each: a warning is worth no more.
_SELECTOR_SECONDS = 1.0
_MAX_PAIRS = 1_000
_SelectorTexts = tuple[str, ...]
"""The selectors of a request and its class."""


class _DevicePair(NamedTuple):
    """Two devices of equal content."""

    content: PreparedDevice
    first: DeviceId
    second: DeviceId


def indistinguishable_devices(manifests: Sequence[Manifest]) -> Iterator[InputProblem]:
    """Warn of each expression that compares devices, where two that one allocation may hold are equal to it."""
    comparing = [
        (manifest, placed)
        for manifest in manifests
        for placed in located_entries(manifest.object)
        if placed.entry.cel is not None and DeviceSetExpression(placed.entry.cel.expression).compares_devices
    ]
    if not comparing:
        return
    slices = [one.object for one in manifests if isinstance(one.object, ResourceSlice)]
    classes = {one.object.metadata.name: one.object for one in manifests if isinstance(one.object, DeviceClass)}
    search = _PairSearch(slices, classes)
    for manifest, placed in comparing:
        pair = search.pair_for(placed)
        if pair is not None:
            names = " and ".join("/".join(device) for device in pair[1:])
            message = f"compares devices, and to it {names} are one: driver, attributes and capacity are equal"
            yield input_problem(manifest, cel_path(placed), message, "warning")


class _PairSearch:
    """Finds pairs that requests could get; requests with equal selectors are tried once."""

    def __init__(self, slices: Sequence[ResourceSlice], classes: dict[str, DeviceClass]) -> None:
        self._slices = slices
        self._classes = classes
        self._found: dict[_SelectorTexts, _DevicePair | None] = {}
        self._deadline = monotonic() + _SELECTOR_SECONDS

    @cached_property
    def _together(self) -> list[_DevicePair]:
        return list(islice(_equal_device_pairs(self._slices, anywhere=False), _MAX_PAIRS))

    @cached_property
    def _any_pair(self) -> _DevicePair | None:
        return next(_equal_device_pairs(self._slices, anywhere=True), None)

    def pair_for(self, placed: LocatedEntry) -> _DevicePair | None:
        """A pair that the entry may be about; claims of a group may be on several nodes."""
        if placed.claim is None:
            return self._any_pair
        for selectors in _selectors_of_requests(placed, placed.claim, self._classes):
            if selectors not in self._found:
                self._found[selectors] = next((pair for pair in self._together if self._takes(selectors, pair)), None)
            pair = self._found[selectors]
            if pair is not None:
                return pair
        return None

    def _takes(self, selectors: _SelectorTexts, pair: _DevicePair) -> bool:
        try:
            return all(compile_selector(text).matches(pair.content, deadline=self._deadline) for text in selectors)
        except CelError:
            return False


def _selectors_of_requests(
    placed: LocatedEntry, claim: DeviceClaim, classes: dict[str, DeviceClass]
) -> Iterator[_SelectorTexts]:
    """The selectors of all requests that an entry applies to; a class that is not there has no devices."""
    for request in claim.requests or ():
        specs: list[tuple[str, RequestSpec]] = [(one.name, one) for one in request.first_available or ()]
        if request.exactly is not None:
            specs.append(("", request.exactly))
        for name, spec in specs:
            device_class = classes.get(spec.device_class_name)
            if device_class is not None and entry_applies(placed.entry, request.name, name):
                yield (*_selector_texts(device_class.spec.selectors), *_selector_texts(spec.selectors))


def _selector_texts(selectors: Iterable[DeviceSelector] | None) -> Iterator[str]:
    return (selector.cel.expression for selector in selectors or () if selector.cel is not None)


def _equal_device_pairs(slices: Sequence[ResourceSlice], anywhere: bool) -> Iterator[_DevicePair]:
    """One pair of each content; of devices that one node may use, unless ``anywhere``."""
    shapes, found = DeviceShapes(), set[Hashable]()
    known: dict[Hashable, dict[str, DeviceId]] = {}
    for slice_, device in newest_published_devices(slices):
        content = shapes.prepare(device, slice_.spec.driver)
        key = _content_key(content) if content.error is None else None
        if key is None or key in found:
            continue
        # The only node that may use the device; empty if there may be several.
        own = device.node_name if per_device(slice_) else slice_.spec.node_name
        node = "" if anywhere else own or ""
        nodes, id_ = known.setdefault(key, {}), (slice_.spec.driver, slice_.spec.pool.name, device.name)
        other = nodes.get(node) or nodes.get("") or (next(iter(nodes.values()), None) if not node else None)
        if other is None:
            nodes[node] = id_
        elif other != id_:
            found.add(key)
            yield _DevicePair(content, other, id_)


def _content_key(content: PreparedDevice) -> Hashable:
    """The same for devices that are equal as values (CELC-5)."""
    seen = content.fresh_value()
    fields = frozenset(
        (section, domain, id_, _hashable_value(value))
        for section in (ATTRIBUTES, CAPACITY)
        for domain, ids in seen[section].items()
        for id_, value in ids.items()
    )
    return content.shape.driver, content.shape.shareable, fields


def _hashable_value(value: Value) -> Hashable:
    """A value with its type: in Python True equals 1."""
    return tuple(map(_hashable_value, value)) if isinstance(value, list) else (type(value), value)
