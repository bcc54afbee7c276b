"""Rules of pods about one another as rows of the master and as amounts of nodes.

*Amounts*: what at most one pod of a node may have is a resource of which each node has one: a port of the host, and the
place of pods that anti-affinity keeps apart on one node. They hold for all units.

*Rows* couple domains of node labels. Units that are planned one by one have a role for each combination of values of
the labels that their rules look at (``GangRole.cell``), so that a row can count them by domain. Rows say what holds at
the end of each order in which units can be placed: nobody near whom it must not be, somebody near whom it must be or
the one that opens a domain, and no more in a domain than the least one allows. So bounds hold for all orders. Members
of gangs, units that share claims and those that need quota have no part in rows, which are left out where these help.
Whether a plan can be carried out is found out by placing its units in order (``pod_ledger``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from ....models.cluster.cluster import Cluster
from ....models.kubernetes.core import ANY_ADDRESS, HOSTNAME_LABEL, Node, NodeSelector
from ....models.workload.expansion import QueuedUnit
from ....models.workload.node_room import UNLIMITED
from ....models.workload.pod_rules import HostPort, PodRules, PodTerm, SpreadRule
from ....models.workload.requests import Requests
from ..master_problem import CouplingRow, MasterGangClass, Terms
from ..pod_ledger import PodLedger, ledger_beside
from .gangs import Cell, GangAlternative, GangBuilder, GangRole, GangRoles
from .preferences import PreferencePlan
from .units import UnitClass

# With more roles than this, host names do not tell nodes apart in rows, and with more even then there are no rows.
_MOST_CELLS = 400
# With more domains than this the least one of a spread rule is a variable.
_MOST_PAIRED_DOMAINS = 8
_Amounts = Mapping[str, int]
_NO_RULES = PodRules(b"")


class NodeLimits:
    """What at most one pod of a node may have, as amounts of unit classes and of nodes.

    ``homes`` are nodes by position in the queue: pods that run there may stay together, whatever their rules say.
    """

    def __init__(
        self, unit_classes: Sequence[UnitClass], nodes: Iterable[Node], ledger: PodLedger, homes: Mapping[int, str]
    ) -> None:
        self.needs: dict[int, Requests] = defaultdict(dict)
        self._ledger = ledger
        rules = {one.index: [shape.rules for shape in one.shapes if shape.rules is not None] for one in unit_classes}
        self._ports: dict[str, HostPort] = {}
        self._terms: dict[str, tuple[PodTerm, int]] = {}
        self._limit_ports(rules)
        names = Counter((node.metadata.labels or {}).get(HOSTNAME_LABEL, "") for node in nodes)
        if all(number == 1 or not name for name, number in names.items()):
            self._keep_apart(rules, {one.index: len(one.entries) for one in unit_classes})
        self.terms = frozenset(term for term, _ in self._terms.values())
        self._at_home: dict[str, Counter[str]] = defaultdict(Counter)
        for one in unit_classes:
            for node in (homes[entry.positions[0]] for entry in one.entries if entry.positions[0] in homes):
                self._at_home[node].update(self.needs.get(one.index, {}))

    def left(self, node: Node) -> _Amounts:
        """What running pods leave of each on a node, and at least what those take that are at home there."""
        at_home = self._at_home.get(node.metadata.name, Counter[str]())
        return {name: max(amount, at_home[name]) for name, amount in self._left(node).items()}

    def _left(self, node: Node) -> _Amounts:
        found = {}
        for name, port in self._ports.items():
            found[name] = int(not any(port.conflicts(other) for other in self._ledger.ports_of(node.metadata.name)))
        for name, (term, most) in self._terms.items():
            if HOSTNAME_LABEL not in (node.metadata.labels or {}):
                # Nothing keeps pods apart there.
                found[name] = UNLIMITED
                continue
            owners, selected = self._ledger.term_counts(term, node.metadata.name)
            found[name] = 0 if owners else most - 1 if selected else most
        return found

    def _limit_ports(self, rules: Mapping[int, Sequence[PodRules]]) -> None:
        """Each address of a port has one place; any address takes all of them."""
        ports = sorted({port for own in rules.values() for one in own for port in one.ports})
        for port in ports:
            rivals = [one for one in ports if port.conflicts(one)]
            if port.address == ANY_ADDRESS and len(rivals) > 1:
                # Those with addresses stand for it.
                continue
            self._ports[f"port {port.protocol} {port.number} {port.address}"] = port
        for index, own in rules.items():
            taken = [port for one in own for port in one.ports]
            for name, port in self._ports.items():
                number = sum(port.conflicts(one) for one in taken)
                if number:
                    self.needs[index][name] = number

    def _keep_apart(self, rules: Mapping[int, Sequence[PodRules]], sizes: Mapping[int, int]) -> None:
        """Of pods that keep all that a term selects off their node, themselves among them, a node has one, alone."""
        everybody = {one for own in rules.values() for one in own}
        terms = {term for one in everybody for term in one.anti_affinity if term.topology_key == HOSTNAME_LABEL}
        for term in sorted(terms, key=lambda one: one.name):
            if any(term in one.anti_affinity and term not in one.selected_by for one in everybody):
                continue
            name = f"apart {term.name}"
            others = {
                index: sum(term in one.selected_by and term not in one.anti_affinity for one in own)
                for index, own in rules.items()
            }
            # One that is alone takes more than all others together.
            most = 1 + sum(sizes[index] * number for index, number in others.items())
            self._terms[name] = term, most
            for index, own in rules.items():
                amount = sum(most if term in one.anti_affinity else 1 for one in own if term in one.selected_by)
                if amount:
                    self.needs[index][name] = amount


@dataclass
class PodRuleRows:
    """Splits roles by domains, and makes rows about them.

    ``keys`` are the labels that tell domains apart, ``preferences`` those of units where a stage counts them.
    """

    roles: GangRoles
    nodes: Sequence[Node]
    ledger: PodLedger
    limits: NodeLimits | None = None
    has_new_nodes: bool = False
    preferences: PreferencePlan | None = None
    keys: tuple[str, ...] = ()
    rows: list[CouplingRow] = field(default_factory=list)
    _parts: list[tuple[PodRules, GangRole]] = field(default_factory=list)
    _unsplit: list[PodRules] = field(default_factory=list)

    @property
    def settled(self) -> frozenset[PodTerm]:
        """Terms for which the limits of nodes are enough."""
        return self.limits.terms if self.limits else frozenset()

    def build(self, gangs: GangBuilder) -> None:
        """Give units roles by domain, and add the rows."""
        own = [role for role in self.roles.all if role.unit_class.size == 1 and self._has_rules(role)]
        open_roles = [role for role in own if role.domain is None and role.ungrouped]
        if not open_roles:
            return
        cells = self._cells(open_roles)
        self._unsplit = [rules for role in own if role not in cells and (rules := _rules(role)) is not None]
        members = {index for gang in gangs.gangs for index, _ in gang.members}
        self._unsplit += [rules for role in own if role.index in members and (rules := _rules(role)) is not None]
        for role, there in cells.items():
            rules = _rules(role) or _NO_RULES
            parts = [self.roles.in_cell(role, cell) for cell in there if self._is_open(rules, cell)]
            self._parts += [(rules, part) for part in parts]
            self.rows.append(CouplingRow(Terms(units={part.index: 1 for part in parts}), upper=len(role.ungrouped)))
            role.ungrouped = []
        self._apart(gangs)
        self._near(gangs)
        self._even(gangs)
        self._alone()

    def _cells(self, roles: Sequence[GangRole]) -> Mapping[GangRole, Sequence[Cell]]:
        """The combinations of values that tell nodes apart for each role; only roles whose rules look at labels."""
        all_keys = (HOSTNAME_LABEL,) if self.has_new_nodes else ()
        prefers = (True, False) if self.preferences else (False,)
        for left_out, with_preferences in product((all_keys, (HOSTNAME_LABEL,)), prefers):
            found: dict[GangRole, Sequence[Cell]] = {}
            for role in roles:
                more = self.preferences.keys(role) if self.preferences and with_preferences else set[str]()
                if keys := sorted((self._keys(role) | more).difference(left_out)):
                    values = dict.fromkeys(tuple((key, _label(node, key)) for key in keys) for node in self.nodes)
                    found[role] = list(values)
            if sum(map(len, found.values())) <= _MOST_CELLS:
                self.keys = tuple(sorted({key for there in found.values() for cell in there for key, _ in cell}))
                return found
        return {}

    def _has_rules(self, role: GangRole) -> bool:
        return _rules(role) is not None or bool(self.preferences and self.preferences.keys(role))

    def _keys(self, role: GangRole) -> set[str]:
        rules = _rules(role)
        if rules is None:
            return set()
        terms = {*rules.affinity, *rules.anti_affinity, *rules.selected_by} - self.settled
        return {one.topology_key for one in terms} | {one.topology_key for one in (*rules.spread, *rules.counted_by)}

    def _is_open(self, rules: PodRules, cell: Cell) -> bool:
        """Whether no pod that runs, and no missing label, keeps such pods off a combination of values."""
        needed = {one.topology_key for one in rules.affinity} | {one.topology_key for one in rules.spread}
        for key, value in cell:
            if value is None and key in needed:
                return False
            if value is None:
                continue
            terms = {term for term in (*rules.anti_affinity, *rules.selected_by) if term.topology_key == key}
            for term in terms:
                owners, selected = self.ledger.domain_counts(term, value)
                if (selected and term in rules.anti_affinity) or (owners and term in rules.selected_by):
                    return False
        return True

    def _by_value(self, key: str) -> Mapping[str, Sequence[tuple[PodRules, GangRole]]]:
        found: dict[str, list[tuple[PodRules, GangRole]]] = defaultdict(list)
        for rules, part in self._parts:
            value = dict(part.cell).get(key)
            if value is not None:
                found[value].append((rules, part))
        return found

    def _switch(self, gangs: GangBuilder, most: int = 1) -> int:
        """A number that rows decide about; nothing is placed by it."""
        return gangs.add(MasterGangClass((), most), GangAlternative(None, {}))

    def _add(self, units: Iterable[GangRole] | Mapping[int, int], gangs: Mapping[int, int], **limits: int) -> None:
        terms = units if isinstance(units, Mapping) else {part.index: 1 for part in units}
        self.rows.append(CouplingRow(Terms(units=terms, gangs=gangs), limits.get("lower"), limits.get("upper")))

    def _apart(self, gangs: GangBuilder) -> None:
        """In each domain one that keeps off its like, or those that keep others off, or these others."""
        terms = {term for rules, _ in self._parts for term in rules.anti_affinity if term.topology_key in self.keys}
        for term in sorted(terms - self.settled, key=lambda one: one.name):
            for parts in self._by_value(term.topology_key).values():
                owners = [(rules, part) for rules, part in parts if term in rules.anti_affinity]
                both = [part for rules, part in owners if term in rules.selected_by]
                keeping = [part for rules, part in owners if term not in rules.selected_by]
                kept = [part for rules, part in parts if term in rules.selected_by and term not in rules.anti_affinity]
                if not owners or not (both or kept):
                    continue
                switches = {}
                for side in (keeping, kept):
                    if side:
                        number = self._switch(gangs)
                        switches[number] = 1
                        self._add(side, {number: -_most(side)}, upper=0)
                self._add(both, switches, upper=1)

    def _near(self, gangs: GangBuilder) -> None:
        """In each domain somebody near whom others must be, who need nobody of their own, or one that opens it."""
        for affinity in dict.fromkeys(rules.affinity for rules, _ in self._parts if rules.affinity):
            if any(rules.selected_by.issuperset(affinity) for rules in self._unsplit):
                continue
            for term in affinity:
                if term.topology_key in self.keys:
                    self._near_term(gangs, affinity, term)

    def _near_term(self, gangs: GangBuilder, affinity: tuple[PodTerm, ...], term: PodTerm) -> None:
        openers: dict[int, int] = {}
        may_open = not self.ledger.has_near(affinity)
        for value, parts in self._by_value(term.topology_key).items():
            owners = [(rules, part) for rules, part in parts if rules.affinity == affinity]
            if not owners or self.ledger.near_count(affinity, term, value):
                continue
            others = [
                part for rules, part in parts if rules.selected_by.issuperset(affinity) and rules.affinity != affinity
            ]
            wanted = [part for _, part in owners]
            reasons = {part.index: 1 for part in others}
            switch = {}
            if may_open and any(rules.opens for rules, _ in owners):
                number = self._switch(gangs)
                openers[number] = 1
                switch = {number: 1}
            if not reasons:
                self._add(wanted, {number: -_most(wanted) for number in switch}, upper=0)
                continue
            used = self._switch(gangs)
            self._add(wanted, {used: -_most(wanted)}, upper=0)
            self._add(reasons, {**switch, used: -1}, lower=0)
        if len(openers) > 1:
            self._add((), openers, upper=1)

    def _even(self, gangs: GangBuilder) -> None:
        """In each domain no more than the skew above the least one, of pods that must be spread themselves.

        Domains of nodes that could be bought count only if these are: then there are no such rows.
        """
        if self.has_new_nodes:
            return
        for rule in dict.fromkeys(rule for rules, _ in self._parts for rule in rules.spread):
            if rule.topology_key not in self.keys or any(rule in rules.counted_by for rules in self._unsplit):
                continue
            values, known = self._by_value(rule.topology_key), self.ledger.spread_counts(rule)
            owners = {value: [one for one in parts if rule in one[0].spread] for value, parts in values.items()}
            counted = {
                value: [part for rules, part in parts if rule in rules.counted_by] for value, parts in values.items()
            }
            for value, own in owners.items():
                adding = [part for rules, part in own if rule in rules.counted_by]
                there = known.get(value, 0)
                if len(known) < rule.min_domains:
                    self._limit(gangs, [part for _, part in own], adding, rule.max_skew - there, {}, 0)
                    continue
                if len(known) <= _MOST_PAIRED_DOMAINS:
                    for other in known:
                        if other != value:
                            room = rule.max_skew + known[other] - there
                            self._limit(gangs, [part for _, part in own], adding, room, counted.get(other, ()), 1)
            if len(known) > _MOST_PAIRED_DOMAINS and len(known) >= rule.min_domains:
                self._even_by_least(gangs, rule, owners, counted, known)

    def _limit(
        self,
        gangs: GangBuilder,
        own: Sequence[GangRole],
        adding: Sequence[GangRole],
        room: int,
        others: Iterable[GangRole] | Mapping[int, int],
        sign: int,
    ) -> None:
        """Place no more of ``adding`` than room and others allow; none of ``own`` where room is negative."""
        helping = {part.index: -sign for part in others if isinstance(part, GangRole)}
        terms = dict(helping)
        for part in adding:
            terms[part.index] = terms.get(part.index, 0) + 1
        if room >= 0:
            if adding:
                self._add(terms, {}, upper=room)
            return
        # Somebody has to be placed elsewhere before.
        used = self._switch(gangs)
        self._add(own, {used: -_most(own)}, upper=0)
        self._add(terms, {used: -room}, upper=0)

    def _even_by_least(
        self,
        gangs: GangBuilder,
        rule: SpreadRule,
        owners: Mapping[str, Sequence[tuple[PodRules, GangRole]]],
        counted: Mapping[str, Sequence[GangRole]],
        known: Mapping[str, int],
    ) -> None:
        """The least number above what the emptiest domain has is a variable."""
        first = min(known.values())
        least = self._switch(gangs, sum(len(part.ungrouped) for part in dict.fromkeys(_flat(counted.values()))) + 1)
        for value, number in known.items():
            self._add({part.index: -1 for part in counted.get(value, ())}, {least: 1}, upper=number - first)
        for value, own in owners.items():
            adding = [part for rules, part in own if rule in rules.counted_by]
            room = rule.max_skew + first - known.get(value, 0)
            if adding and room >= 0:
                self._add({part.index: 1 for part in adding}, {least: -1}, upper=room)

    def _alone(self) -> None:
        """One pod at most has each claim that is for one."""
        claims: dict[tuple[str, str], list[int]] = defaultdict(list)
        for role in self.roles.all:
            rules = _rules(role)
            for claim in rules.claims if rules is not None and role.ungrouped else ():
                claims[claim].append(role.index)
        for claim, numbers in claims.items():
            self._add(dict.fromkeys(numbers, 1), {}, upper=0 if self.ledger.has_claim(claim) else 1)


def read_pod_rules(
    gangs: GangBuilder,
    unit_classes: Sequence[UnitClass],
    cluster: Cluster,
    earlier: Iterable[tuple[QueuedUnit, str]],
    homes: Mapping[int, str],
    splits: bool,
    has_new_nodes: bool,
    preferences: PreferencePlan | None = None,
) -> PodRuleRows:
    """Find what rules of pods ask for, beside units that are placed ``earlier`` on nodes of the cluster.

    ``homes`` are those of running units, by position in the queue. Without ``splits`` roles stay as they are, and there
    are no rows.
    """
    if not (preferences or any(shape.rules for one in unit_classes for shape in one.shapes)):
        return PodRuleRows(gangs.roles, gangs.nodes, PodLedger({}))
    ledger = ledger_beside(cluster, earlier)
    limits = NodeLimits(unit_classes, gangs.nodes, ledger, homes)
    rules = PodRuleRows(gangs.roles, gangs.nodes, ledger, limits, has_new_nodes, preferences)
    if splits:
        rules.build(gangs)
    if preferences:
        rules.rows += preferences.rows(gangs)
    return rules


def volume_selectors(unit_class: UnitClass) -> list[NodeSelector]:
    """Selectors of nodes from which volumes of the pods of a class can be used."""
    return [selector for shape in unit_class.shapes if shape.rules for selector in shape.rules.volumes]


def _flat(parts: Iterable[Sequence[GangRole]]) -> Iterator[GangRole]:
    for own in parts:
        yield from own


def _rules(role: GangRole) -> PodRules | None:
    shapes = role.unit_class.shapes
    return shapes[0].rules if len(shapes) == 1 else None


def _label(node: Node, key: str) -> str | None:
    return (node.metadata.labels or {}).get(key)


def _most(parts: Iterable[GangRole]) -> int:
    """How many units of these roles there are at most."""
    lists = {id(part.ungrouped): len(part.ungrouped) for part in parts}
    return max(1, sum(lists.values()))
