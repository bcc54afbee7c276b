"""What sequential schedulers work on: the queue, the nodes, and what is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from ....models.cluster import Cluster
from ....models.core import Node
from ....models.gates import FeatureGates
from ....models.identity import PoolId
from ....models.planned_units import PlannedUnit
from ....models.pod_requests import Requests
from ....models.running_pods import running
from ....models.selection import SelectorError
from ....problem.in_use import Ledger
from ....problem.visible import Visible
from ...attempts import Session
from ...backtracking import Backtracking
from .cases import Case, Cases
from .device_states import DeviceStates
from .floor import Floor, Site
from .fragmentation import Mix
from .trials import Trials


@dataclass(frozen=True, slots=True)
class Input:
    """What is planned on which cluster, under which rules; ``units`` are in the order of the queue.

    ``namespace`` and ``selector`` are what the queue was narrowed to.
    """

    cluster: Cluster
    units: tuple[PlannedUnit, ...]
    gates: FeatureGates
    cel_errors: str
    seed: int = 0
    namespace: str | None = None
    selector: str = ""


class Setting:
    """The beginning: nobody of the queue is placed. What is found out about states is kept here.

    ``deadline`` is a reading of ``time.monotonic``, None for none.
    """

    def __init__(self, given: Input, deadline: float | None) -> None:
        cluster = given.cluster
        nodes = list(cluster.nodes.values())
        self.session = Session(cluster, given.gates, given.cel_errors, given.seed)
        engine = Backtracking(self.session)
        self.cases = Cases(cluster, nodes, engine.compiler)
        classes = self._classes(given.units)
        self.trials = Trials(engine, deadline)
        self.mix = Mix(classes, self.trials, engine.compiler)
        visible = reduce(Visible.joined, (case.question.visible for case, _ in classes), Visible())
        ledger = Ledger(cluster.usage(given.gates))
        self.floor = Floor(list(self._sites(given, nodes)), DeviceStates(engine.views, visible), ledger)

    def _classes(self, units: Iterable[PlannedUnit]) -> Sequence[tuple[Case, int]]:
        counts: Counter[bytes] = Counter()
        firsts: dict[bytes, PlannedUnit] = {}
        for unit in units:
            signature = unit.set.shape.signature
            counts[signature] += 1
            firsts.setdefault(signature, unit)
        return [(self.cases.of(first, {}), counts[signature]) for signature, first in firsts.items()]

    def _sites(self, given: Input, nodes: Sequence[Node]) -> Iterable[Site]:
        rooms = running(given.cluster, given.gates)
        asked = sorted({name for unit in given.units for name in unit.set.shape.requests})
        places = self.cases.places
        for position, node in enumerate(nodes):
            takes = tuple(position in place.members for place in places)
            yield Site(node, _only(rooms[node.metadata.name], asked), takes, _pools(given, node))


def _only(room: Requests | None, names: Iterable[str]) -> Requests | None:
    return None if room is None else {name: room[name] for name in names if name in room}


def _pools(given: Input, node: Node) -> tuple[PoolId, ...]:
    try:
        return tuple(pool.id for pool in given.cluster.pools(given.gates).pools_for(node))
    except SelectorError:
        return ()
