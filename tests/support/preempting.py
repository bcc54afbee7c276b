"""Clusters whose running pods may lose their places, and the best plan by trying everything."""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from support.moving import SPECS, MovingPod, Scene, claim_specs, holder, random_scene, with_draws
from support.plan_building import entry, obj, pod

HIGHEST = 100


@dataclass(frozen=True)
class Victim(MovingPod):
    """A pod of a scene: in budgets and a group, by name, and with the claim of another pod, by its name.

    ``bare``: no controller makes it again. One that ``shares`` runs where the other one runs and takes nothing else.
    One that runs with ``admin`` access holds nothing. Of those that wait, one takes ``never`` a place, and those of a
    ``gang`` are placed together. One that is ``disrupted`` is on its way out for its budgets. One ``unready`` is not
    ready, and all budgets let it go by eviction.
    """

    budgets: tuple[str, ...] = ()
    group: str = ""
    shares: str = ""
    bare: bool = False
    admin: bool = False
    never: bool = False
    gang: str = ""
    disrupted: bool = False
    unready: bool = False

    def objects(self):
        labels = {"labels": dict.fromkeys(self.budgets, "yes")}
        grouped = {"schedulingGroup": {"podGroupName": self.group}} if self.group else {}
        if self.node is None:
            spec = {"priority": self.priority, **({"preemptionPolicy": "Never"} if self.never else {})}
            marks = {"GANG": self.gang} if self.gang else {}
            return [pod(self.name, entry("g", template=self.spec), cpu=str(self.cpu), spec=spec, **marks)]
        options = {
            "cpu": str(self.cpu),
            "spec": self.spec,
            "spec_more": {"priority": self.priority, **grouped},
            **labels,
        }
        options["wanted"] = claim_specs()[self.spec]
        if self.bare:
            options["owner"] = None
        if self.fixed:
            options["meta"] = {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}
        else:
            options["MOVE_COST"] = str(self.cost)
        if self.admin:
            options["wanted"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
        made = holder(self.name, self.node, *(() if self.shares else self.devices), **options)
        if self.unready:
            made[0]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        if self.admin:
            for result in made[1]["status"]["allocation"]["devices"]["results"]:
                result["adminAccess"] = True
        if self.shares:
            made[0]["spec"]["resourceClaims"] = [entry("s", claim=f"{self.shares}-g")]
        return made


@dataclass(frozen=True)
class PreemptingScene(Scene):
    """A scene with budgets (how many each allows) and groups (how many have to stay, None for all)."""

    budgets: dict = field(default_factory=dict)
    groups: dict = field(default_factory=dict)
    moves: bool = False

    def objects(self):
        made = super().objects()
        for name, allowed in self.budgets.items():
            lax = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
            budget = obj("PodDisruptionBudget", name, {"selector": {"matchLabels": {name: "yes"}}, **lax})
            gone = {one.name: "2026-01-01T00:00:00Z" for one in self.pods if one.disrupted and name in one.budgets}
            status = {"disruptionsAllowed": allowed, **({"disruptedPods": gone} if gone else {})}
            made.append(budget | {"apiVersion": "policy/v1", "status": status})
        for name, least in self.groups.items():
            policy = {"schedulingPolicy": {"gang": {"minCount": least}} if least else {"basic": {}}}
            whole = {"disruptionMode": {"all": {}}} if least is None else {}
            level = next((one.priority for one in self.pods if one.group == name), 0)
            group = obj("PodGroup", name, {**policy, **whole, "priority": level})
            made.append(group | {"apiVersion": "scheduling.k8s.io/v1beta1"})
        shared = {one.shares for one in self.pods if one.shares}
        for one in made:
            if one["kind"] == "ResourceClaim" and one["metadata"]["name"].removesuffix("-g") in shared:
                # Nobody owns a claim that several pods name.
                name = one["metadata"]["name"].removesuffix("-g")
                del one["metadata"]["ownerReferences"], one["metadata"]["annotations"]
                users = [name, *(pod.name for pod in self.pods if pod.shares == name)]
                one["status"]["reservedFor"] = [{"resource": "pods", "name": user, "uid": user} for user in users]
            if one["kind"] == "Pod" and one["metadata"]["name"] in shared:
                one["spec"]["resourceClaims"] = [entry("s", claim=f"{one['metadata']['name']}-g")]
                one["status"].pop("resourceClaimStatuses", None)
        return made

    @property
    def levels(self):
        """The priorities of what waits."""
        return sorted({one.priority for one in self.pods if one.node is None}, reverse=True)

    def _may_go(self, one):
        takers = [other.priority for other in self.pods if other.node is None and not other.never]
        return one.node is not None and not one.fixed and one.priority < max(takers, default=one.priority)

    def _moves(self, one):
        tied = one.admin or one.shares or any(other.shares == one.name for other in self.pods)
        if one.group:
            least = self.groups[one.group]
            tied = tied or least is None or sum(other.group == one.group for other in self.pods) < least
        counted = () if one.disrupted or one.unready else one.budgets
        blocked = len(one.budgets) > 1 or any(self.budgets[name] < 1 for name in counted)
        return self.moves and not (tied or blocked or one.bare or one.fixed)

    @property
    def victims(self):
        """Who may lose the place: no group that goes whole is torn."""
        stays = {one.group for one in self.pods if one.group and not self._may_go(one) and one.node}
        torn = {name for name in stays if self.groups[name] is None}
        return [one for one in self.pods if self._may_go(one) and one.group not in torn]

    def best(self, left=()):
        """The best tuple of values over all valid states in which these have no place."""
        return max(map(self.value, self.states(self.victims, left)))

    def all_best(self):
        """The best tuples of values: one for each choice of those that take no place, which are chosen before."""
        shy = [one for one in self.pods if one.never]
        if not shy:
            return {self.best()}
        alone = [(self.without_victims(state), state) for state in self.states(())]
        most = max(value for value, _ in alone)
        found = set()
        for state in (state for value, state in alone if value == most):
            spots = dict(zip(self.pods, state, strict=True))
            found.add(frozenset(one.name for one in shy if spots[one] is None))
        return {self.best(left) for left in found}

    def states(self, victims, left=()):
        """All valid states in which nobody but the victims loses the place, and those ``left`` have none."""
        options = []
        for one in self.pods:
            spots = self._places(one) if one.node is None or self._moves(one) else [(one.node, one.devices)]
            options.append([None] if one.name in left else [*spots, None] if one in victims else spots)
        return filter(self._is_valid, self._all([], options))

    def without_victims(self, state):
        """What the stages come to where nobody loses the place."""
        pairs = list(zip(self.pods, state, strict=True))
        placed = Counter(one.priority for one, spot in pairs if one.node is None and spot is not None)
        moved = [one for one, spot in pairs if one.node is not None and spot != (one.node, one.devices)]
        costs = -sum(one.cost for one in moved), -len(moved)
        return *(placed[level] for level in self.levels), sum(placed.values()), *costs

    def _all(self, state, options):
        if len(state) == len(self.pods):
            yield tuple(state)
            return
        for spot in options[len(state)]:
            following = [*state, spot]
            if self._fits(following):
                yield from self._all(following, options)

    def _fits(self, state):
        cpu, taken = Counter(), Counter()
        for one, spot in zip(self.pods, state, strict=False):
            if spot is None:
                continue
            cpu[spot[0]] += self.needs(one, spot)
            if not one.shares and not one.admin:
                taken.update((spot[0], number) for number in spot[1])
        return all(amount <= self.nodes[name][1] for name, amount in cpu.items()) and max(taken.values(), default=0) < 2

    def _is_valid(self, state):
        spots = dict(zip((one.name for one in self.pods), state, strict=True))
        # What a shared claim holds is free once all that have it are gone.
        held = Counter()
        for one in self.pods:
            users = [other for other in self.pods if other.shares == one.name]
            if one.admin:
                continue
            if spots[one.name] is not None:
                held.update((spots[one.name][0], number) for number in spots[one.name][1] if not one.shares)
            elif any(spots[other.name] is not None for other in users):
                held.update((one.node, number) for number in one.devices)
        if max(held.values(), default=0) > 1:
            return False
        gangs = {}
        for one in self.pods:
            gangs.setdefault(one.gang, set()).add(spots[one.name] is None)
        if any(len(told) > 1 for name, told in gangs.items() if name):
            return False
        for name, least in self.groups.items():
            members = [one for one in self.pods if one.group == name]
            left = sum(spots[one.name] is not None for one in members)
            wanted = len(members) if least is None else min(least, len(members))
            if 0 < left < wanted and left < len(members):
                return False
            if left == 0 and members and any(not self._may_go(one) for one in members):
                return False
        return True

    def value(self, state):
        """What the stages come to, so that more is better."""
        pairs = list(zip(self.pods, state, strict=True))
        lost = [one for one, spot in pairs if one.node is not None and spot is None]
        moved = [one for one, spot in pairs if one.node is not None and spot not in (None, (one.node, one.devices))]
        placed = Counter(one.priority for one, spot in pairs if one.node is None and spot is not None)
        gone = Counter(one.priority for one in lost)
        kinds = sorted({one.priority for one in self.victims}, reverse=True)
        found, told = [], set()
        for level in self.levels:
            for kind in kinds:
                if level <= kind < self.levels[0] and kind not in told:
                    told.add(kind)
                    found.append(-gone[kind])
            found.append(placed[level])
        found.append(sum(placed.values()))
        breaches = 0
        for name, allowed in self.budgets.items():
            moving = any(name in one.budgets and not (one.disrupted or one.unready) for one in moved)
            number = sum(name in one.budgets and not one.disrupted for one in lost)
            breaches += max(0, number + moving - allowed)
        found.append(-breaches)
        found += [-gone[kind] for kind in kinds if kind not in told]
        freed = {one.name for one in lost}
        devices = 0
        for one in lost:
            users = [other.name for other in self.pods if other.shares == one.name]
            if not one.shares and not one.admin and freed.issuperset(users):
                devices += len(one.devices)
        found += [-len(lost), -devices]
        if self.moves:
            found += [-sum(one.cost for one in moved), -len(moved)]
        return tuple(found)


def preempting_scene(seed, running=5, waiting=3):
    """A small random cluster whose pods have priorities, budgets, groups, and claims that two of them have."""
    random, plain = Random(f"preempt/{seed}"), random_scene(seed, running, 0)
    budgets = {f"b{number}": random.choice((0, 0, 1, 2)) for number in range(random.choice((0, 0, 1, 2)))}
    groups = {f"g{number}": random.choice((None, 1, 2)) for number in range(random.choice((0, 0, 1)))}
    moves = random.random() < 0.4
    level = {name: random.choice((0, 10)) for name in groups}
    cpu = {name: amount for name, (_, amount) in plain.nodes.items()}
    pods = []
    for one in plain.pods:
        if one.node is None:
            continue
        group = random.choice((*groups, ""))
        own = tuple(name for name in budgets if random.random() < 0.6)
        victim = Victim(**{name: getattr(one, name) for name in one.__dataclass_fields__})
        priority = level[group] if group else random.choice((0, 0, 10, 50))
        pods.append(replace(victim, budgets=own, group=group, priority=priority, bare=random.random() < 0.2))
        cpu[one.node] -= one.cpu
    if pods and random.random() < 0.3:
        first = random.choice(pods)
        if not first.group and cpu[first.node] >= 1:
            pods.append(
                replace(first, name="shared", cpu=1, shares=first.name, priority=random.choice((0, 10)), budgets=())
            )
    for number in range(random.randint(1, waiting)):
        spec, amount, priority = (
            random.choice([*SPECS]),
            random.choice((1, 2)),
            random.choice((HIGHEST, HIGHEST, 10, 0)),
        )
        pods.append(Victim(f"w{number}", spec, amount, priority=priority))
    return PreemptingScene(plain.nodes, tuple(pods), budgets, groups, moves)


def drawing_scene(seed):
    """A scene without shared claims whose devices take CPU of their nodes."""
    scene = preempting_scene(seed)
    return with_draws(replace(scene, pods=tuple(one for one in scene.pods if not one.shares)), seed)


def exempt_scene(seed, running=5, waiting=3):
    """A scene with one budget, of whose pods some are on their way out for it, and some are not ready."""
    random, plain = Random(f"exempt/{seed}"), preempting_scene(seed, running, waiting)
    pods = []
    for one in plain.pods:
        budgets = ("b",) if one.node and random.random() < 0.7 else ()
        exempt = {"disrupted": random.random() < 0.3, "unready": random.random() < 0.4} if one.node else {}
        pods.append(replace(one, group="", bare=False, budgets=budgets, **exempt))
    return replace(plain, pods=tuple(pods), budgets={"b": random.choice((0, 0, 1))}, groups={}, moves=seed % 4 > 0)


def varied_scene(seed, running=5, waiting=3):
    """A scene with admin access, gangs that wait, and pods that take no places."""
    random, plain = Random(f"varied/{seed}"), preempting_scene(seed, running, waiting)
    shared = {one.shares for one in plain.pods}
    gang = random.sample(range(3), 2) if random.random() < 0.4 else ()
    priority, shy = random.choice((HIGHEST, 10)), random.random() < 0.2
    pods = []
    for one in plain.pods:
        if one.node is not None:
            alone = not one.shares and one.name not in shared
            pods.append(replace(one, admin=alone and random.random() < 0.2))
        elif int(one.name[1:]) in gang:
            pods.append(replace(one, gang="together", priority=priority, never=shy))
        else:
            pods.append(replace(one, never=random.random() < 0.25))
    return replace(plain, pods=tuple(pods))


def after_steps(scene, steps):
    """The objects of a scene once these steps of a plan without moves were taken."""
    made, pods = scene.objects(), {one.name: one for one in scene.pods}
    for step in steps:
        one = pods[step.name]
        made = [own for own in made if (own["kind"], own["metadata"]["name"]) != ("Pod", step.name)]
        if step.action == "place":
            results = [result for claim in step.claims for result in claim.allocation.devices.results]
            held = tuple(int(result.device.removeprefix("gpu-")) for result in results)
            made += replace(one, node=step.node, devices=held, bare=True).objects()
            continue
        kept = []
        for own in made:
            status = own.get("status", {})
            if own["kind"] == "PodDisruptionBudget" and own["metadata"]["name"] in one.budgets:
                status["disruptionsAllowed"] = max(0, status["disruptionsAllowed"] - 1)
            if own["kind"] == "ResourceClaim":
                users = [user for user in status["reservedFor"] if user["name"] != step.name]
                if not users:
                    continue
                status["reservedFor"] = users
            kept.append(own)
        made = kept
    return made
