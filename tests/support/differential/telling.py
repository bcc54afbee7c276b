"""A difference in words: the smallest manifests that show it, and both answers."""

from collections.abc import Sequence

from support.differential.members import compare
from support.differential.shrinking import shrunk
from support.differential.sources import gates_of, named, objects_of

from drasat.models.gates import FeatureGates
from drasat.models.writing import to_yaml
from drasat.peers.kube_scheduler import KubeScheduler
from drasat.scenarios.objects import Mapped


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
