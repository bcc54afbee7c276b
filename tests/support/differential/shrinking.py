"""A difference in words: the smallest manifests that show it, and both answers."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from support.differential.members import compare
from support.differential.sources import gates_of, named, objects_of

from drasat.models.formats.errors import has_errors
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.manifests.reader import read_manifests
from drasat.models.manifests.writer import to_yaml
from drasat.models.validation.validate import validate_manifests
from drasat.peers.clients import KubeScheduler
from drasat.scenarios.objects import Mapped

Path = tuple[str | int, ...]
Test = Callable[[list[Mapped]], bool]


def shrink(objects: Sequence[Mapped], holds: Test) -> list[Mapped]:
    """Drop objects, then ever smaller parts of them, while the test holds; until nothing more can go."""
    current, before = list(objects), None
    while current != before:
        before = current
        current = _one_pass(current, holds)
    return current


def _one_pass(objects: list[Mapped], holds: Test) -> list[Mapped]:
    paths, position = list(_paths(objects)), 0
    while position < len(paths):
        smaller = _without(objects, paths[position])
        if holds(smaller):
            objects, paths = smaller, list(_paths(smaller))
        else:
            position += 1
    return objects


def _paths(root: Any) -> Iterator[Path]:
    """All parts, the outer ones first; in lists the last first, as what comes first is mostly what matters."""
    level: list[tuple[Path, Any]] = [((), root)]
    while level:
        inner = [((*path, key), part) for path, value in level for key, part in _parts(value)]
        yield from (path for path, _ in inner)
        level = inner


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value))[::-1] if isinstance(value, list | tuple) else []


def _without(root: list[Mapped], path: Path) -> list[Mapped]:
    copy: Any = deepcopy(root)
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return list(copy)


def is_valid(objects: Sequence[Mapped], gates: FeatureGates) -> bool:
    """The API server would accept the objects."""
    manifests, found, _ = read_manifests([objects])
    return not has_errors([*found, *validate_manifests(manifests, gates, False)])


def shrunk(objects: Sequence[Mapped], gates: FeatureGates, peer: KubeScheduler) -> tuple[list[Mapped], FeatureGates]:
    """Shrink a member whose answers differ, and switch on the gates that do not matter; the difference stays."""
    kind = compare(objects, gates, peer).differences[0].kind

    def differs(some: Sequence[Mapped], switched: FeatureGates) -> bool:
        if not is_valid(some, switched):
            return False
        return any(difference.kind == kind for difference in compare(some, switched, peer).differences)

    for gate, on in gates.to_dict().items():
        if not on and differs(objects, gates.with_({gate: True})):
            gates = gates.with_({gate: True})
    return shrink(objects, lambda some: differs(some, gates)), gates


def story(number: int, peer: KubeScheduler) -> str:
    """All about the case of this number, whose answers differ."""
    family, seed = named(number)
    objects, gates = shrunk(objects_of(family, seed), gates_of(family, seed), peer)
    return "\n".join((f"# case {number}: {family}, seed {seed}", *_lines(objects, gates, peer)))


def _lines(objects: Sequence[Mapped], gates: FeatureGates, peer: KubeScheduler) -> list[str]:
    off = ", ".join(name for name, on in gates.to_dict().items() if not on)
    lines = [f"# variant {gates.variant}, gates off: {off or 'none'}", to_yaml(objects)]
    for difference in compare(objects, gates, peer).differences:
        place = difference.case.node.metadata.name
        lines.append(f"# {difference.field} on node {place}")
        lines += [f"#   ours:   {difference.ours}", f"#   theirs: {difference.theirs}"]
    return lines
