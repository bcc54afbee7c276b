"""Clusters whose running pods may lose their places, and the best plan by trying everything."""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from support.moving import SPECS, MovingPod, Scene, claim_specs, holder, random_scene
from support.plan_building import entry, obj, pod

HIGHEST = 100


@dataclass(frozen=True)
class Victim(MovingPod):
    """A pod of a scene: in budgets and a group, by name, and with the claim of another pod, by its name.

    ``bare``: no controller makes it again. One that ``shares`` runs where the other one runs and takes nothing else.
    """

    budgets: tuple[str, ...] = ()
    group: str = ""
    shares: str = ""
    bare: bool = False

    def objects(self):
        labels = {"labels": dict.fromkeys(self.budgets, "yes")}
        grouped = {"schedulingGroup": {"podGroupName": self.group}} if self.group else {}
        if self.node is None:
            spec = {"priority": self.priority}
            return [pod(self.name, entry("g", template=self.spec), cpu=str(self.cpu), spec=spec)]
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
        made = holder(self.name, self.node, *(() if self.shares else self.devices), **options)
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
            budget = obj("PodDisruptionBudget", name, {"selector": {"matchLabels": {name: "yes"}}})
            made.append(budget | {"apiVersion": "policy/v1", "status": {"disruptionsAllowed": allowed}})
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
        return one.node is not None and not one.fixed and self.levels and one.priority < self.levels[0]

    def _moves(self, one):
        tied = one.group or one.shares or any(other.shares == one.name for other in self.pods)
        blocked = len(one.budgets) > 1 or any(self.budgets[name] < 1 for name in one.budgets)
        return self.moves and not (tied or blocked or one.bare or one.fixed)

    @property
    def victims(self):
        """Who may lose the place: no group that goes whole is torn."""
        stays = {one.group for one in self.pods if one.group and not self._may_go(one) and one.node}
        torn = {name for name in stays if self.groups[name] is None}
        return [one for one in self.pods if self._may_go(one) and one.group not in torn]

    def best(self):
        """The best tuple of values over all valid states."""
        victims, options = self.victims, []
        for one in self.pods:
            spots = self._places(one) if one.node is None or self._moves(one) else [(one.node, one.devices)]
            if one in victims:
                spots = [*spots, None]
            options.append(spots)
        return max(map(self.value, filter(self._is_valid, self._all([], options))))

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
            cpu[spot[0]] += one.cpu
            if not one.shares:
                taken.update((spot[0], number) for number in spot[1])
        return all(amount <= self.nodes[name][1] for name, amount in cpu.items()) and max(taken.values(), default=0) < 2

    def _is_valid(self, state):
        spots = dict(zip((one.name for one in self.pods), state, strict=True))
        # What a shared claim holds is free once all that have it are gone.
        held = Counter()
        for one in self.pods:
            users = [other for other in self.pods if other.shares == one.name]
            if spots[one.name] is not None:
                held.update((spots[one.name][0], number) for number in spots[one.name][1] if not one.shares)
            elif any(spots[other.name] is not None for other in users):
                held.update((one.node, number) for number in one.devices)
        if max(held.values(), default=0) > 1:
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
            moving = any(name in one.budgets for one in moved)
            number = sum(name in one.budgets for one in lost)
            breaches += max(0, number + moving - allowed)
        found.append(-breaches)
        found += [-gone[kind] for kind in kinds if kind not in told]
        freed = {one.name for one in lost}
        devices = 0
        for one in lost:
            users = [other.name for other in self.pods if other.shares == one.name]
            if not one.shares and freed.issuperset(users):
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
