"""What random clusters can have in their claims, with the attributes it needs."""

from . import objects
from .device_features import ADMIN_NAMESPACE
from .drafts import DRIVER, GPU, Draft, DraftClaim
from .objects import Mapped

_STANDARD = "resource.kubernetes.io/root"


def _places(draft: Draft) -> None:
    """The attribute ``numa``, on few devices missing or of another type (CON-3, CON-4)."""
    for device in draft.devices():
        if draft.chance(0.92):
            number = draft.rng.randint(0, 2)
            device["attributes"]["numa"] = objects.attribute(number if draft.chance(0.95) else str(number))


def match(draft: Draft) -> None:
    """Constraints that devices agree on an attribute (CON-4)."""
    _places(draft)
    for claim in draft.claims:
        _constrain(draft, claim, {"matchAttribute": f"{DRIVER}/numa"})


def distinct(draft: Draft) -> None:
    """Constraints that devices differ in an attribute (CON-5)."""
    _places(draft)
    for claim in draft.claims:
        _constrain(draft, claim, {"distinctAttribute": f"{DRIVER}/numa"})


def lists(draft: Draft) -> None:
    """Lists as attributes, beside scalars, with both kinds of constraints (CON-7)."""
    for device in draft.devices():
        if draft.chance(0.95):
            values = [f"root-{number}" for number in sorted(draft.rng.sample(range(5), draft.rng.randint(1, 3)))]
            device["attributes"][_STANDARD] = objects.attribute(values if draft.chance(0.8) else values[0])
    for claim in draft.claims:
        kind = draft.rng.choice(["matchAttribute", "distinctAttribute"])
        _constrain(draft, claim, {kind: _STANDARD})


def _constrain(draft: Draft, claim: DraftClaim, constraint: Mapped) -> None:
    chosen = draft.some(claim.request_names)
    whole = chosen == claim.request_names and draft.chance(0.5)
    claim.constraints.append(constraint if whole else {"requests": chosen, **constraint})


def alternatives(draft: Draft) -> None:
    """Lists of alternatives instead of exact requests."""
    for claim in draft.claims:
        for request in claim.requests:
            if "exactly" in request and draft.chance(0.65):
                body = request.pop("exactly")
                body.pop("adminAccess", None)
                others = [_variant(draft, body) for _ in range(draft.rng.randint(1, 2))]
                bodies = [(f"s{number}", option) for number, option in enumerate([*others, body])]
                request |= objects.first_available(request["name"], bodies)


def _variant(draft: Draft, body: Mapped) -> Mapped:
    """A more demanding form of what is asked, so that the last resort is the plain one."""
    changed = {**body, "count": body.get("count", 1) + draft.rng.randint(0, 2)}
    if draft.chance(0.5):
        narrow = draft.rng.choice(["model-a", body["deviceClassName"]])
        changed |= {"deviceClassName": narrow}
    return changed


def everything(draft: Draft) -> None:
    """Requests for all matching devices (PRE-8)."""
    claim = draft.rng.choice(draft.claims)
    for body in [next(claim.bodies())]:
        body["allocationMode"] = "All"
        body.pop("count", None)
        if draft.chance(0.7):
            test = draft.rng.choice([f'{GPU}.model == "a"', f"{GPU}.index < 2", f"{GPU}.index == 1"])
            body |= {"deviceClassName": "gpu", "selectors": objects.selectors(test)}


def administer(draft: Draft) -> None:
    """Requests with admin access, in a namespace that allows it."""
    draft.namespace = ADMIN_NAMESPACE
    draft.others.append(objects.namespace(ADMIN_NAMESPACE, admin=True))
    for claim in draft.claims:
        for request in claim.requests:
            if "exactly" in request and draft.chance(0.5):
                request["exactly"]["adminAccess"] = draft.chance(0.85)


def configure(draft: Draft) -> None:
    """Configuration in classes and claims, for all requests, some, or alternatives (RES-3 to RES-5)."""
    for name in sorted(draft.classes):
        if draft.chance(0.6):
            draft.classes[name]["spec"]["config"] = [objects.opaque(DRIVER, {"class": name})]
    for claim in draft.claims:
        for number in range(draft.rng.randint(0, 3)):
            entry = objects.opaque(DRIVER, {"number": number})
            claim.config.append(entry if draft.chance(0.3) else {"requests": _labels(draft, claim), **entry})


def _labels(draft: Draft, claim: DraftClaim) -> list[str]:
    """Names of requests, and of some alternatives."""
    labels = []
    for request in claim.requests:
        names = [f"{request['name']}/{option['name']}" for option in request.get("firstAvailable", ())]
        labels += draft.rng.choice([[request["name"]], [request["name"]], names or [request["name"]]])
    return draft.some(labels)


def derive(draft: Draft) -> None:
    """Attributes computed by the request, which constraints compare (CON-12)."""
    name = f"{DRIVER}/parity"
    for claim in draft.claims:
        for body in claim.bodies():
            body["deviceClassName"] = "gpu"
            expression = draft.rng.choice([f"{GPU}.index % 2", f"{GPU}.index / 2", f'{GPU}.model == "a" ? 0 : 1'])
            body["derivedAttributes"] = [{"name": name, "expression": expression}]
        claim.constraints.append({draft.rng.choice(["matchAttribute", "distinctAttribute"]): name})
