"""What the document of ``provision`` says, checked against the manifests: requests, reservations, purchases and counts.

What Kueue's controllers do in which order is not derived. Objects that events bring are not in the manifests.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import AdmissionCheck
from ...models.kubernetes.node_templates import NodeTemplate, slices_from_template
from ...models.results.provision import ProvisionDocument, RequestAnswer, RequestReport
from .comparison_documents import proof_flaws
from .documents import CheckQuestion, Lines, line
from .payments import stage_flaws
from .quota_objects import KueueObjects
from .verify import Replay

_ORDER = "what controllers do is not derived"
_EVENTS = "objects of events are not in the manifests"


def provision_lines(document: ProvisionDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``provision``."""
    cluster = question.cluster.with_gates(gates)
    objects = KueueObjects(cluster)
    brought = any(one.line is not None for one in document.timeline)
    open_ = _EVENTS if brought else "" if objects.complete else "it may be of a job of a kind that is not read here"
    names = Counter(f"{one.namespace}/{one.name}" for one in document.workloads)
    missing = [key for key, one in objects.workloads.items() if key not in names and one.is_read]
    wrong = [f"workload {missing[0]} is not there"] if missing and not brought else []
    wrong += [f"workload {key} is there twice" for key, times in names.items() if times > 1]
    yield line("document", plural(len(names), "workload"), wrong, _EVENTS if brought else "")
    for key in names:
        lost = [] if objects.workload(key) is not None or open_ else ["the input has no such workload"]
        yield line(f"workload {key}", "its state and its checks", lost, open_ or _ORDER)
    times = [one.time for one in document.timeline]
    wrong = [] if times == sorted(times) and all(0 <= one <= document.time for one in times) else ["times go back"]
    yield line("timeline", plural(len(times), "event"), wrong, _ORDER)
    checks = {one.metadata.name for one in cluster.objects(AdmissionCheck).values()}
    for request in document.requests:
        wrong = [] if request.check in checks or brought else [f"there is no AdmissionCheck {request.check}"]
        wrong += list(_request_flaws(request, objects))
        yield line(f"request {request.namespace}/{request.name}", f"of workload {request.workload}", wrong, _ORDER)
    yield from _answer_lines(document, cluster, gates)


def _request_flaws(request: RequestReport, objects: KueueObjects) -> Iterator[str]:
    workload = objects.workload(f"{request.namespace}/{request.workload}")
    sets = {one.name: one for one in (workload.spec.pod_sets if workload else None) or ()}
    most = sum(one.count for one in sets.values())
    for entry in request.pod_sets if workload else ():
        if entry.pod_set not in sets:
            yield f"its workload has no pod set {entry.pod_set}"
    if workload and sum(entry.count for entry in request.pod_sets) > most:
        yield f"its workload has {plural(most, 'pod')}"


def _answer_lines(document: ProvisionDocument, cluster: Cluster, gates: FeatureGates) -> Lines:
    requests = {(one.namespace, one.name): one for one in document.requests}
    answers = _Answers(cluster, gates)
    for one in document.answers:
        about = f"answer to {one.namespace}/{one.name}"
        wrong = [*_outcome_flaws(one), *answers.purchases(one)]
        wrong += answers.reservation(one, requests.get((one.namespace, one.name)))
        unchecked = "" if one.outcome == "Provisioned" else "that no node has room is not derived"
        if one.outcome == "Failed":
            unchecked += f": it rests on {one.proof or 'the request itself'}"
        yield line(about, one.outcome, wrong, unchecked)
    # Each round answers requests of its own, in the order of the answers.
    left = list(document.answers)
    for round_ in document.rounds:
        own, left = left[: round_.requests], left[round_.requests :]
        provided = sum(one.outcome == "Provisioned" for one in own)
        wrong = [] if all(one.time == round_.time for one in own) else ["its answers are of another time"]
        wrong += [] if len(own) == round_.requests else [f"{plural(len(own), 'request')} are answered"]
        wrong += [] if round_.provisioned == provided else [f"{provided} are provisioned"]
        for stage in round_.objective:
            wrong += stage_flaws(stage, 0.0)
        said = f"{round_.provisioned} of {plural(round_.requests, 'request')}"
        unchecked = "the document has no duals" if round_.proven and round_.provisioned < round_.requests else ""
        yield line(f"answers at {round_.time} s", said, wrong, unchecked)
    if left:
        yield line("document", f"{len(document.rounds)} rounds", [f"{plural(len(left), 'answer')} are of no round"])


def _outcome_flaws(one: RequestAnswer) -> Iterator[str]:
    conditions = {each.type: each.status for each in one.conditions}
    if (one.outcome == "Provisioned") != (one.provisioned_at is not None):
        yield f"it is {one.outcome}, and provisioned at {one.provisioned_at}"
    if one.provisioned_at is not None and one.provisioned_at < one.time:
        yield "it is provisioned before it is asked"
    if (one.outcome == "Failed") != (conditions.get("Failed") == "True"):
        yield "its conditions are of another outcome"
    if one.outcome != "Provisioned" and (one.bought or one.reservation):
        yield "it has nodes, and is not provisioned"
    if one.outcome != "Failed" and one.proof is not None:
        yield f"proof is {one.proof}, and it did not fail"
    yield from proof_flaws(one.proof, one.certified)


class _Answers:
    """Answers in their order: nodes that are bought stay."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._cluster = cluster
        self._context = Replay(cluster, gates).context
        self._made: dict[str, str] = {}
        self._given: dict[int, Counter[str]] = defaultdict(Counter)

    def purchases(self, one: RequestAnswer) -> Iterator[str]:
        """What is wrong with nodes that are bought."""
        for bought in one.bought:
            template = self._cluster.node_templates.get(bought.template)
            if template is None:
                yield f"there is no NodeTemplate {bought.template}"
                continue
            price = Decimal(str(template.spec.price or 0))
            if Decimal(str(bought.price)) != price:
                yield f"a node of {bought.template} costs {price}"
            if Decimal(str(bought.cost)) != Decimal(str(bought.price)) * bought.count:
                yield f"{bought.count} at {bought.price} cost {Decimal(str(bought.price)) * bought.count}"
            new = {node.node for node in one.reservation if node.template == bought.template}
            if bought.count > len(new - self._made.keys()):
                yield f"{plural(len(new - self._made.keys()), 'new node')} of {bought.template} are in its reservation"

    def reservation(self, one: RequestAnswer, request: RequestReport | None) -> list[str]:
        """What is wrong with pods, nodes and devices that a request holds."""
        wrong: list[str] = []
        pods: Counter[str] = Counter()
        for held in one.reservation:
            pods.update(held.pods)
            if held.template is not None:
                self._made.setdefault(held.node, held.template)
            template = self._cluster.node_templates.get(self._made.get(held.node, ""))
            if held.node not in self._cluster.nodes and template is None:
                wrong.append(f"there is no node {held.node}")
                continue
            reached = self._reached(held.node, template)
            for device in held.devices:
                if device not in reached:
                    wrong.append(f"node {held.node} does not reach {device}")
                elif reached[device] == _IN_USE:
                    wrong.append(f"{device} is in use")
                elif reached[device] != _SHARED:
                    self._given[one.time][device] += 1
                    if self._given[one.time][device] > 1:
                        wrong.append(f"{device} is given twice")
        if request is not None and one.outcome == "Provisioned":
            asked: Counter[str] = Counter()
            for entry in request.pod_sets:
                asked[entry.pod_set] += entry.count
            if pods != asked:
                wrong.append(f"it has room for {sum(pods.values())} of {plural(sum(asked.values()), 'pod')}")
        return wrong

    def _reached(self, node: str, template: NodeTemplate | None) -> Mapping[str, str]:
        if node in self._cluster.nodes:
            views = self._context.inventory.views(self._cluster.node(node))
            held = self._context.held_devices
            return {
                "/".join(entry.id): _SHARED
                if entry.device.allow_multiple_allocations
                else _IN_USE
                if held.holds(entry.id)
                else ""
                for view in views
                for entry in view.devices.values()
            }
        return {
            f"{one.spec.driver}/{one.spec.pool.name}/{device.name}": _SHARED
            if device.allow_multiple_allocations
            else ""
            for one in (slices_from_template(template, node) if template else ())
            for device in one.spec.devices or ()
        }


_SHARED, _IN_USE = "shared", "in use"
