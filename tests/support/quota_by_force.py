"""The best plan with quota by trying every admission; nothing of the package but the records of the scene is used."""

from fractions import Fraction
from functools import lru_cache
from itertools import product

from support.quota_scene import POOL

MOST_STEPS = 400_000


class TooManyStepsError(Exception):
    """A scene that is too large to try everything."""


def _available(nodes, used, place, pair):
    """What is left for a node by the definitions (4.2); ``used`` are the amounts of queues."""

    def children(x):
        return [c for c, one in enumerate(nodes) if one.parent == x]

    def quota(x):
        return nodes[x].nominal.get(pair, 0) + sum(quota(c) - kept(c) for c in children(x))

    def kept(x):
        return max(0, quota(x) - nodes[x].lending_limit[pair]) if pair in nodes[x].lending_limit else 0

    def usage(x):
        if nodes[x].is_cohort:
            return sum(max(0, usage(c) - kept(c)) for c in children(x))
        return used.get((x, pair), 0)

    def available(x):
        if nodes[x].parent is None:
            return quota(x) - usage(x)
        part = available(nodes[x].parent)
        if pair in nodes[x].borrowing_limit:
            part = min(part, quota(x) - kept(x) - max(0, usage(x) - kept(x)) + nodes[x].borrowing_limit[pair])
        return max(0, kept(x) - usage(x)) + part

    return available(place)


class QuotaForce:
    """The best values of the stages, in their order: ``best`` and ``names``."""

    def __init__(self, scene, stages):
        self.scene = scene
        self._steps = 0
        problem = scene.problem
        self._owned = {owner[2] for one in problem.workloads for owner in one.owners}
        self._free = [name for name in scene.jobs if name not in self._owned]
        self._waiting = sorted({one.queue for one in problem.workloads if not one.problem and not one.grant})
        self._priorities = {place: one.priority or 0 for place, one in enumerate(problem.workloads)}
        self.names = [name for stage in stages for name in self._named(stage)]
        self._start = {(x, pair): amount for x, one in enumerate(problem.nodes) for pair, amount in one.held.items()}
        self._fit = lru_cache(maxsize=None)(self._least_nodes)
        self.best = None
        self._search(0, dict(self._start), {}, [])

    def _named(self, stage):
        if stage == "fair":
            return [f"fair={count}" for count in range(1, len(self._waiting) + 1)]
        if stage != "priority":
            return [stage]
        values = set(self._priorities.values()) | ({0} if self._free else set())
        return [f"priority={value}" for value in sorted(values, reverse=True)]

    def _options(self, workload):
        """Yield for each pod set the flavor choice and the count; nothing for what is not admitted."""
        if workload.problem:
            return
        groups = workload.groups
        for chosen in product(*(range(len(workload.pod_sets[group[0]].choices)) for group in groups)):
            choice = {number: one for group, one in zip(groups, chosen, strict=True) for number in group}
            counts = [
                range(one.count if one.minimum is None else one.minimum, one.count + 1) for one in workload.pod_sets
            ]
            for own in product(*counts):
                yield [(choice[number], count) for number, count in enumerate(own)]

    def _search(self, place, used, admitted, pods):
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooManyStepsError
        workloads = self.scene.problem.workloads
        if place == len(workloads):
            self._with_free(used, admitted, pods)
            return
        workload = workloads[place]
        queue = self.scene.problem.nodes[workload.queue]
        earlier = [n for n in range(place) if workloads[n].queue == workload.queue and self._is_ordered(workloads[n])]
        if not (queue.strict and self._is_ordered(workload) and any(n not in admitted for n in earlier)):
            for option in self._options(workload):
                after = self._charged(used, workload, option)
                more = None if after is None else pods + self._pods(workload, option)
                if more is not None and self._fit(tuple(sorted(more))) is not None:
                    self._search(place + 1, after, {**admitted, place: option}, more)
        self._search(place + 1, used, admitted, pods)

    @staticmethod
    def _is_ordered(workload):
        """Whether it waits for its turn in a strict queue."""
        return not workload.problem and not workload.grant

    def _charged(self, used, workload, option):
        asked = {}
        for one, (choice, count) in zip(workload.pod_sets, option, strict=True):
            for resource, amount in one.charge.items():
                key = workload.queue, (one.choices[choice].flavors[resource], resource)
                asked[key] = asked.get(key, 0) + amount * count
        for (queue, pair), amount in asked.items():
            if amount > 0 and amount > _available(self.scene.problem.nodes, used, queue, pair):
                return None
        return {**used, **{key: used.get(key, 0) + amount for key, amount in asked.items()}}

    def _pods(self, workload, option):
        found = []
        for one, owner, (choice, count) in zip(workload.pod_sets, workload.owners, option, strict=True):
            _, gpu, cpu, _ = self.scene.jobs[owner[2]]
            flavors = one.choices[choice]
            together = workload.name if workload.domain else ""
            found += [(gpu, cpu, flavors.labels.get(POOL, ""), bool(flavors.tolerations), together)] * count
        return found

    def _with_free(self, used, admitted, pods):
        for counts in product(*(range(self.scene.jobs[name][0] + 1) for name in self._free)):
            more = list(pods)
            for name, count in zip(self._free, counts, strict=True):
                _, gpu, cpu, _ = self.scene.jobs[name]
                more += [(gpu, cpu, "", False, "")] * count
            nodes = self._fit(tuple(sorted(more)))
            if nodes is not None:
                values = self._values(used, admitted, dict(zip(self._free, counts, strict=True)), nodes)
                if self.best is None or self._key(values) > self._key(self.best):
                    self.best = values

    def _key(self, values):
        return [self._sign(name) * value for name, value in zip(self.names, values, strict=True)]

    @staticmethod
    def _sign(name):
        return -1 if name in ("fewest-nodes", "borrowed") else 1

    def _values(self, used, admitted, free, nodes):
        placed = [(0, self.scene.jobs[name], count) for name, count in free.items()]
        for place, option in admitted.items():
            owners = self.scene.problem.workloads[place].owners
            for owner, (_, count) in zip(owners, option, strict=True):
                placed.append((self._priorities[place], self.scene.jobs[owner[2]], count))
        return [self._value(name, used, placed, nodes) for name in self.names]

    def _value(self, name, used, placed, nodes):
        head, _, kind = name.partition("=")
        if head == "fair":
            return sum(sorted(self._share(used, queue) for queue in self._waiting)[: int(kind)])
        if head == "borrowed":
            return self._borrowed(used)
        if name == "fewest-nodes":
            return nodes
        if head == "priority":
            return sum(count for priority, _, count in placed if priority == int(kind))
        if kind == "devices":
            return sum(one[1] * count for _, one, count in placed)
        if kind.startswith("annotation"):
            return sum(Fraction(1 if one[3] is None else one[3]) * count for _, one, count in placed)
        return sum(count for _, _, count in placed)

    def _has(self, queue, resource):
        """What the tree of a queue has of a resource."""
        nodes = self.scene.problem.nodes

        def quota(x, pair):
            own = nodes[x].nominal.get(pair, 0)
            return own + sum(min(quota(c, pair), nodes[c].lending_limit.get(pair, 10**9)) for c in children(x))

        def children(x):
            return [c for c, one in enumerate(nodes) if one.parent == x]

        while nodes[queue].parent is not None:
            queue = nodes[queue].parent
        flavors = {pair for one in nodes for pair in (*one.nominal, *one.held) if pair[1] == resource}
        return sum(quota(queue, pair) for pair in flavors)

    def _share(self, used, queue):
        """The dominant share in thousandths, by weight."""
        shares = [Fraction(0)]
        for resource in ("gpu", "cpu"):
            has = self._has(queue, resource)
            amount = sum(n for (x, pair), n in used.items() if x == queue and pair[1] == resource)
            shares += [Fraction(1000 * amount, has)] if has else []
        return max(shares) / self.scene.problem.nodes[queue].weight

    def _borrowed(self, used):
        total = Fraction(0)
        for (x, pair), amount in used.items():
            node, has = self.scene.problem.nodes[x], self._has(x, pair[1])
            if node.parent is not None and has:
                total += Fraction(1000 * max(0, amount - node.nominal.get(pair, 0)), has)
        return total

    def _least_nodes(self, pods):
        """The least number of nodes that take all pods; None if they do not fit."""
        nodes = list(self.scene.nodes.values())
        racks = [self.scene.racks.get(name, "") for name in self.scene.nodes]
        seen = {}

        def place(number, left, chosen):
            if number == len(pods):
                return sum(left[n] != (nodes[n][1], nodes[n][2]) for n in range(len(nodes)))
            key = number, left, chosen
            if key in seen:
                return seen[key]
            gpu, cpu, pool, tolerates, together = pods[number]
            rack = dict(chosen).get(together)
            best = None
            for n, (own_pool, _, _, tainted) in enumerate(nodes):
                if (pool and own_pool != pool) or (tainted and not tolerates):
                    continue
                if together and (not racks[n] or rack not in (None, racks[n])):
                    continue
                if left[n][0] >= gpu and left[n][1] >= cpu:
                    after = (*left[:n], (left[n][0] - gpu, left[n][1] - cpu), *left[n + 1 :])
                    own = (*chosen, (together, racks[n])) if together and rack is None else chosen
                    found = place(number + 1, after, own)
                    best = found if best is None or (found is not None and found < best) else best
            seen[key] = best
            return best

        return place(0, tuple((one[1], one[2]) for one in nodes), ())
