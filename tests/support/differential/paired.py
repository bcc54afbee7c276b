"""Cases of features that seldom meet: each has two of all features, or a pair that other cases never met."""

from random import Random

from support import cluster_features as features
from support.drafts import ClusterDraft, DraftSize, plain_draft

from drasat.scenarios import objects
from drasat.scenarios.objects import Mapped

# What shapes devices comes first.
_FEATURES = (
    features.partition,
    features.group,
    features.network,
    features.share,
    features.select,
    features.fail_selectors,
    features.alternatives,
    features.everything,
    features.match,
    features.distinct,
    features.lists,
    features.derive,
    features.taint,
    features.administer,
    features.configure,
    features.bind,
    features.skip_operations,
    features.disturb,
    features.place,
    features.occupy,
)
# Learned from the table of pairs: other families do not bring these together.
_LEARNED = (
    (features.group, features.place),
    (features.share, features.occupy, features.place),
    (features.taint, features.place),
    (features.bind, features.network, features.place),
)
_FORMS = ("pod", "loose", "pods", "both")
_SIZES = (DraftSize(requests=(1, 2)), DraftSize(devices=(2, 4), requests=(1, 2)))


def paired(seed: int) -> list[Mapped]:
    """The case of the seed, as v1 objects."""
    rng = Random(f"pairs/{seed}")
    draft = plain_draft(rng, rng.choice(_SIZES))
    chosen = set(rng.choice(_LEARNED) if draft.chance(0.4) else rng.sample(_FEATURES, 2))
    if features.group in chosen:
        chosen.add(features.partition)
    for feature in _FEATURES:
        if feature in chosen:
            feature(draft)
    if draft.chance(0.4):
        _close(draft, rng.choice(draft.nodes))
    return [*_supply(draft), *_asked(draft, rng.choice(_FORMS))]


def _close(draft: ClusterDraft, node: Mapped) -> None:
    """Cordon a node, or taint it; some pods may go there all the same."""
    node["spec"] = {"unschedulable": True} if draft.chance(0.6) else {"taints": [objects.taint("busy")]}
    if draft.chance(0.6):
        draft.pod_fields["tolerations"] = [{"operator": "Exists"}]


def _supply(draft: ClusterDraft) -> list[Mapped]:
    slices = [slice_ for pool in draft.pools for slice_ in pool.slices()]
    return [*draft.nodes, *draft.classes.values(), *slices, *draft.others]


def _asked(draft: ClusterDraft, form: str) -> list[Mapped]:
    """A pod with all claims, claims without pods, a pod for each template, or pods with claims of both kinds."""
    specs = [(claim.name, claim.spec()) for claim in draft.claims]
    claims = [objects.claim(name, spec, draft.namespace) for name, spec in specs]
    if form == "loose":
        return claims
    entries = [objects.by_claim(name, name) for name, _ in specs]
    templates = [objects.template(f"{name}-made", spec, draft.namespace) for name, spec in specs]
    made = [objects.by_template("made", f"{name}-made") for name, _ in specs]
    pods = {"pod": entries} if form == "pod" else {f"pod-{number}": [entry] for number, entry in enumerate(made)}
    if form == "both":
        pods |= {"all": [*entries, made[0]]}
    asked = [objects.pod(name, asks, draft.namespace, **draft.pod_fields) for name, asks in pods.items()]
    return [*(claims if form != "pods" else ()), *(templates if form != "pod" else ()), *asked]
