"""How a cluster and its queue become an instance, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....models.core import Node
from ....models.planned_sets import Gang as QueueGang
from ....models.pod_requests import Requests
from ....models.running_pods import running
from ....problem.landscape import STANDARD_GROUPINGS, Surveyor
from ....problem.visible import Visible
from ...cp_sat import CpSat
from ..bundles.question import BundleQuestion
from ..instance import Instance, NodeClass, Row, Terms, UnitClass
from .ask import Ask, Posed
from .busy_nodes import busy_nodes
from .enrolling import Enrolled
from .gangs import Choice, GangPosing
from .goals import COMPACT, Goals
from .mix import NAME as FRAGMENTATION
from .node_kinds import NodeKind, Resources, Survey
from .pricers import Pricers
from .questions import Questions
from .roles import Role, Roles
from .shared_claims import entries_of, is_narrowed, is_scattered
from .shared_devices import SharedDevices, shared_devices
from .unit_kinds import Entry, UnitKind, unit_kinds

# How often what all units take may be on one node, where a plan is to leave room for more of them.
_GUESTS = 1000


def pose(ask: Ask) -> Posed:
    """Pose the question. Raises ``SelectorError``, and ``DeadlineExceededError`` through the engine's deadline."""
    return _Posing(ask).posed()


class _Posing:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._cluster = ask.shop.cluster if ask.shop else ask.session.cluster
        session = replace(ask.session, cluster=self._cluster)
        self._engine = CpSat(session)
        self._ledger = ask.ahead.ledger
        self._roles = Roles()
        self._rows: list[Row] = []
        self._narrowed = bool(ask.ahead.places)
        offers = ask.shop.offers if ask.shop else {}
        there = (node for name, node in self._cluster.nodes.items() if name not in offers)
        self._busy = busy_nodes(self._cluster, session.gates, there)

    def posed(self) -> Posed:
        """Units and gangs first, then nodes and what they share, then goals."""
        queued, members = self._units()
        guests = unit_kinds([Entry((), (planned,)) for planned in self._ask.mix or ()], len(queued))
        kinds = [*queued, *guests]
        nodes = self._nodes()
        gangs = GangPosing(self._roles, nodes, self._cluster.nodes)
        gangs.pose(members)
        hosts = [self._roles.of(kind) for kind in guests]
        roles = self._roles.all
        resources = Resources.of(kinds, _GUESTS if FRAGMENTATION in self._ask.objective else 1)
        surveyed = self._surveyed(kinds, nodes, resources, sorted({gang.domain for gang in members if gang.domain}))
        instance = Instance(
            tuple(UnitClass(role.index, len(role.singles), role.kind.size) for role in roles),
            tuple(NodeClass(node.index, node.count) for node in surveyed),
            tuple(gangs.gangs),
        )
        questions = Questions(self._engine, self._ledger, resources, self._surveyor(), hosts)
        made = {node.index: questions.question(node, roles, instance.most()) for node in surveyed}
        shared = shared_devices([questions.reach(node, kinds, made[node.index]) for node in surveyed])
        goals = self._goals(gangs, roles, hosts or roles, surveyed)
        made = {node.index: self._measured(made[node.index], node, shared, goals) for node in surveyed}
        first = len(shared.limits)
        instance = replace(
            goals.instance(instance),
            rows=(*gangs.rows, *self._rows, *shared.rows, *goals.budget(first)),
            meters=first + len(goals.measures),
            sizes=((1,) * first + goals.sizes),
        )
        return Posed(
            instance,
            goals.stages(first),
            Pricers.of(made, len(instance.units)),
            tuple(kinds),
            tuple(roles),
            tuple(gangs.choices),
            tuple(surveyed),
            made,
            shared,
            self._engine,
            self._ledger,
            gangs.hopeless,
            self._narrowed or shared.is_narrowed or is_scattered(surveyed, made),
        )

    def _surveyor(self) -> Surveyor | None:
        return Surveyor(self._cluster) if COMPACT in self._ask.objective else None

    def _goals(
        self, gangs: GangPosing, roles: Sequence[Role], mixed: Sequence[Role], nodes: Sequence[NodeKind]
    ) -> Goals:
        ask = self._ask
        prices = {node.index: ask.shop.price(node.template) for node in nodes if ask.shop and node.template}
        return Goals(
            ask.objective,
            roles,
            list(zip(gangs.gangs, gangs.choices, strict=True)),
            nodes,
            prices,
            ask.budget,
            [planned.set.shape for planned in ask.queue],
            [ask.queue[place].set.shape for place in ask.ahead.where],
            len(ask.ahead.nodes - self._busy),
            mixed,
        )

    def _measured(
        self, question: BundleQuestion, node: NodeKind, shared: SharedDevices, goals: Goals
    ) -> BundleQuestion:
        """Let a question count what stages and rows are about."""
        measures = (*shared.measures[node.index], *goals.measures_of(node))
        measured = replace(question, meters=shared.meters[node.index], measures=measures)
        # Guests on nodes that nobody buys would cost nothing.
        return measured if node.template else goals.question(measured)

    def _units(self) -> tuple[list[UnitKind], Mapping[QueueGang, list[Choice]]]:
        """Kinds of units, and the members of gangs; all others play roles one by one."""
        single, sets = entries_of(self._ask.queue, self._ask.open)
        kinds = unit_kinds([*single, *(entry for variants in sets for entry in variants)])
        kind_of = {id(entry): kind for kind in kinds for entry in kind.entries}
        found = Enrolled()
        for entry in single:
            found.enrol([(kind_of[id(entry)], entry)])
        for variants in sets:
            self._narrowed |= is_narrowed(variants)
            found.enrol([(kind_of[id(entry)], entry) for entry in variants])
        for choice in found.free:
            roles = [self._roles.of(kind) for kind, _ in choice]
            for role, (_, entry) in zip(roles, choice, strict=True):
                role.singles.append(entry)
            if len(choice) > 1:
                self._rows.append(Row(Terms(units={role.index: 1 for role in roles}), upper=1))
        self._narrowed |= found.is_narrowed
        return kinds, found.gangs()

    def _nodes(self) -> list[Node]:
        """The nodes that may be used, with one for each template."""
        shop = self._ask.shop
        nodes = self._cluster.nodes.values()
        if shop is None:
            return list(nodes)
        # Without any node that is known, one without a name stands for all that there could be.
        return [
            node
            for node in nodes
            if node.metadata.name in shop.offers or (node.metadata.name and not self._ask.only_new)
        ]

    def _surveyed(
        self, kinds: Sequence[UnitKind], nodes: Sequence[Node], resources: Resources, domains: Sequence[str]
    ) -> list[NodeKind]:
        gates, shop = self._ask.session.gates, self._ask.shop
        survey = Survey(
            self._engine,
            self._cluster.pools(gates),
            self._ledger,
            kinds,
            resources,
            self._rooms(),
            Visible(names=frozenset(STANDARD_GROUPINGS)) if COMPACT in self._ask.objective else Visible(),
            domains,
            self._busy | self._ask.ahead.nodes,
        )
        most = len(self._ask.open)
        bought = {name: shop.limit(name, most) for name in shop.offers} if shop else {}
        return survey.node_kinds(nodes, bought)

    def _rooms(self) -> Mapping[str, Requests | None]:
        """What is left of nodes; those that could be bought are empty."""
        return {**running(self._cluster, self._ask.session.gates), **self._ask.ahead.rooms}
