"""Kinds that are made of other objects of the input: TrainJob, LLMInferenceService, PodCliqueSet; and DaemonSet pods.

What cannot be planned for lack of such an object is said with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ..kubernetes import operators, serving, workloads
from ..kubernetes.core import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    ResourceRequirements,
)
from ..kubernetes.kinds import GROVE_GROUP, GroupKind
from ..kubernetes.meta import ObjectMeta, key_of
from ..kubernetes.workloads import PodTemplateSpec
from .pod_sets import Child, ControllerContext, KindGang, Maker, PodSet, child_metadata, count_or

_NAME_FIELD = "metadata.name"


def pinned_template(template: PodTemplateSpec, node: str) -> PodTemplateSpec:
    """The template for one node, as the DaemonSet controller writes it: by name, in place of other node affinity."""
    term = NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key=_NAME_FIELD, operator="In", values=(node,)),))
    required = NodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
    return replace(template, spec=replace(template.spec, affinity=Affinity(node_affinity=required)))


def pinned_nodes(spec: PodSpec) -> Iterator[str]:
    """The nodes that a pod of a DaemonSet is on, or is for."""
    if spec.node_name:
        yield spec.node_name
    affinity = spec.affinity.node_affinity if spec.affinity else None
    for term in (affinity.required.node_selector_terms if affinity and affinity.required else None) or ():
        for one in term.match_fields or ():
            if one.key == _NAME_FIELD and one.operator == "In":
                yield from one.values or ()


_STEP_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER_STEP = "trainer"
_SINGLE_STEPS = ("dataset-initializer", "model-initializer")
_NODE_JOB = "node"


def train_job(made: operators.TrainJob, context: ControllerContext) -> Iterator[PodSet | Child]:
    """The JobSet of the runtime, with the number of nodes and the patches of the TrainJob (KND-3)."""
    runtime = _runtime_of(made, context)
    if runtime is None:
        return
    policy, jobs = runtime.spec.ml_policy, runtime.spec.template.spec
    nodes = made.spec.trainer.num_nodes if made.spec.trainer else None
    nodes = nodes if nodes is not None else policy.num_nodes if policy else None
    launcher_is_node = bool(policy and policy.mpi and policy.mpi.run_launcher_as_node)
    replicated = tuple(
        _with_patches(made, _of_runtime(made, one, count_or(nodes, 1), launcher_is_node))
        for one in jobs.replicated_jobs or ()
    )
    groups = runtime.spec.pod_group_policy
    is_gang = groups is not None and (groups.coscheduling is not None or groups.volcano is not None)
    metadata = child_metadata(made, made.metadata.name, runtime.spec.template.metadata)
    job_set = operators.JobSet(metadata=metadata, spec=replace(jobs, replicated_jobs=replicated, suspend=None))
    yield Child(job_set, KindGang("TrainJob", made.metadata.name) if is_gang else None)


def _runtime_of(
    made: operators.TrainJob, context: ControllerContext
) -> operators.TrainingRuntime | operators.ClusterTrainingRuntime | None:
    name, kind = made.spec.runtime_ref.name, made.spec.runtime_ref.kind or "ClusterTrainingRuntime"
    found: operators.TrainingRuntime | operators.ClusterTrainingRuntime | None
    if kind == "TrainingRuntime":
        found = context.cluster.objects(operators.TrainingRuntime).get((key_of(made.metadata)[0], name))
    else:
        found = context.cluster.objects(operators.ClusterTrainingRuntime).get(name)
    if found is None:
        context.note(f"not planned, for {kind} {name} is not in the input", made)
    return found


def _of_runtime(
    made: operators.TrainJob, one: operators.ReplicatedJob, nodes: int, launcher_is_node: bool
) -> operators.ReplicatedJob:
    step = (one.template.metadata.labels or {}).get(_STEP_LABEL)
    spec = one.template.spec
    if step == _TRAINER_STEP or (launcher_is_node and one.name == _NODE_JOB):
        pods = max(nodes - 1, 1) if launcher_is_node and one.name == _NODE_JOB else nodes
        if launcher_is_node and one.name != _NODE_JOB:
            pods = count_or(spec.parallelism, 1)
        spec = replace(spec, parallelism=pods, completions=pods)
        resources = made.spec.trainer.resources_per_node if made.spec.trainer else None
        if resources is not None:
            spec = replace(spec, template=_with_resources(spec.template, resources))
    elif step in _SINGLE_STEPS:
        spec = replace(spec, parallelism=1, completions=1)
    return replace(one, replicas=1, template=replace(one.template, spec=spec))


def _with_resources(template: PodTemplateSpec, given: operators.TrainResources) -> PodTemplateSpec:
    def merged(amounts: Mapping[str, Any] | None, more: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return {**(amounts or {}), **(more or {})} or None

    containers = tuple(
        one
        if one.name != _NODE_JOB
        else replace(
            one,
            resources=replace(
                one.resources or ResourceRequirements(),
                requests=merged(one.resources.requests if one.resources else None, given.requests),
                limits=merged(one.resources.limits if one.resources else None, given.limits),
            ),
        )
        for one in template.spec.containers or ()
    )
    return replace(template, spec=replace(template.spec, containers=containers))


def _with_patches(made: operators.TrainJob, one: operators.ReplicatedJob) -> operators.ReplicatedJob:
    """Node selectors, affinity and tolerations that the TrainJob adds; claims it cannot add."""
    spec = one.template.spec.template.spec
    for patch in _patches_for(made.spec, one.name):
        tolerations = (*(spec.tolerations or ()), *(patch.tolerations or ()))
        spec = replace(
            spec,
            node_selector={**(spec.node_selector or {}), **(patch.node_selector or {})} or None,
            affinity=patch.affinity or spec.affinity,
            tolerations=tolerations or None,
        )
    template = replace(one.template.spec.template, spec=spec)
    return replace(one, template=replace(one.template, spec=replace(one.template.spec, template=template)))


def _patches_for(spec: operators.TrainJobSpec, job: str) -> Iterator[operators.PodSpecPatch]:
    for older in spec.pod_spec_overrides or ():
        if any(target.name == job for target in older.target_jobs or ()):
            yield older
    for override in spec.pod_template_overrides or ():
        if override.spec is not None and any(target.name == job for target in override.target_jobs or ()):
            yield override.spec
    for patch in spec.runtime_patches or ():
        jobs = patch.training_runtime_spec.template.spec if _has_jobs(patch) else None  # type: ignore[union-attr]
        for one in (jobs.replicated_jobs if jobs else None) or ():
            template = one.template.spec.template if one.name == job and one.template and one.template.spec else None
            if template is not None and template.spec is not None:
                yield template.spec


def _has_jobs(patch: operators.RuntimePatch) -> bool:
    runtime = patch.training_runtime_spec
    return runtime is not None and runtime.template is not None and runtime.template.spec is not None


def inference_service(made: serving.LLMInferenceService, context: ControllerContext) -> Iterator[PodSet | Child]:
    """Deployments, or with ``worker`` LeaderWorkerSets, for serving, prefill and routing (KND-5)."""
    spec = _with_bases(made, context)
    if spec is None:
        return
    yield from _inference_pods(made, spec, "")
    if spec.prefill is not None:
        yield from _inference_pods(made, spec.prefill, "-prefill")
    scheduler = spec.router.scheduler if spec.router else None
    if scheduler is not None and scheduler.template is not None:
        replicas = workloads.ReplicasSpec(
            replicas=scheduler.replicas, template=PodTemplateSpec(spec=scheduler.template)
        )
        name = f"{made.metadata.name}-kserve-router-scheduler"
        yield Child(workloads.Deployment(metadata=child_metadata(made, name), spec=replicas))


def _inference_pods(
    made: serving.LLMInferenceService, one: serving.InferenceWorkload, behind: str
) -> Iterator[PodSet | Child]:
    replicas = one.replicas if one.replicas is not None or one.scaling is None else one.scaling.min_replicas
    name = f"{made.metadata.name}-kserve"
    if one.worker is None:
        if one.template is not None:
            template = PodTemplateSpec(spec=one.template)
            spec = workloads.ReplicasSpec(replicas=replicas, template=template)
            yield Child(workloads.Deployment(metadata=child_metadata(made, f"{name}{behind}"), spec=spec))
        return
    spread = one.parallelism or serving.ModelParallelism()
    if spread.data is not None and spread.data_local:
        size = max(1, spread.data // spread.data_local)
    else:
        size = max(1, count_or(spread.pipeline, 1))
    group = operators.LeaderWorkerTemplate(
        leader_template=PodTemplateSpec(spec=one.template) if one.template is not None else None,
        worker_template=PodTemplateSpec(spec=one.worker),
        size=size,
    )
    groups = operators.LeaderWorkerSetSpec(replicas=replicas, leader_worker_template=group)
    metadata = child_metadata(made, f"{name}-mn{behind}")
    yield Child(operators.LeaderWorkerSet(metadata=metadata, spec=groups))


def _with_bases(
    made: serving.LLMInferenceService, context: ControllerContext
) -> serving.LLMInferenceServiceSpec | None:
    """The spec with what ``baseRefs`` name below it: of two the last counts, and the service above all."""
    refs = made.spec.base_refs or ()
    if not refs:
        return made.spec
    known = context.cluster.objects(serving.LLMInferenceServiceConfig)
    merged: Any = {}
    for ref in refs:
        found = known.get((key_of(made.metadata)[0], ref.name))
        if found is None:
            context.note(f"not planned, for LLMInferenceServiceConfig {ref.name} is not in the input", made)
            return None
        merged = _merge(merged, msgspec.to_builtins(found.spec))
    merged = _merge(merged, msgspec.to_builtins(made.spec))
    return msgspec.convert(merged, serving.LLMInferenceServiceSpec)


def _merge(below: Any, above: Any) -> Any:
    """Objects field by field, lists of named items by name; of anything else what stands above."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _merge(below[key], part) if key in below else part for key, part in above.items()}}
    if isinstance(below, list) and isinstance(above, list) and _are_named(below) and _are_named(above):
        own = {one["name"]: one for one in above}
        kept = [_merge(one, own.pop(one["name"])) if one["name"] in own else one for one in below]
        return [*kept, *own.values()]
    return above


def _are_named(items: Sequence[Any]) -> bool:
    names = [one.get("name") for one in items if isinstance(one, dict)]
    return len(names) == len(items) == len(set(names)) and None not in names


_CLIQUE = GroupKind(GROVE_GROUP, "PodClique")


def pod_clique_set(made: serving.PodCliqueSet, context: ControllerContext) -> Iterator[PodSet | Child]:
    """Grove: a gang of the least that each replica needs, and one for each further scaling group replica (KND-4)."""
    template = made.spec.template
    cliques = {one.name: one for one in template.cliques or ()}
    groups = template.pod_clique_scaling_groups or ()
    cliques_share = any(one.resource_sharing for one in cliques.values())
    if template.resource_sharing or cliques_share or any(one.resource_sharing for one in groups):
        context.note("not planned, for claims of resourceSharing are not made", made)
        return
    if any(one.spec.starts_after for one in cliques.values()):
        context.note("has parts that start after others, and all are planned at once", made)
    grouped = {name for group in groups for name in group.clique_names or ()}
    loose = [one for name, one in cliques.items() if name not in grouped]
    whole = _domain_of(made, template.topology_constraint, context)
    for number in context.counted(made, count_or(made.spec.replicas, 1)):
        name = f"{made.metadata.name}-{number}"
        base = KindGang("PodCliqueSet", name, None, whole)
        for clique in loose:
            yield from _clique(made, clique, f"{name}-{clique.name}", base)
        for group in groups:
            least = count_or(group.min_available, 1)
            domain = _domain_of(made, group.topology_constraint, context) or whole
            for place in context.counted(made, count_or(group.replicas, 1)):
                prefix = f"{name}-{group.name}-{place}"
                gang = base if place < least else KindGang("PodCliqueSet", prefix, None, domain)
                for one in (cliques[member] for member in group.clique_names or () if member in cliques):
                    yield from _clique(made, one, f"{prefix}-{one.name}", gang)


def _clique(
    made: serving.PodCliqueSet, clique: serving.PodCliqueTemplate, name: str, gang: KindGang
) -> Iterator[PodSet]:
    """The pods of a clique; those beyond its minimum are in no gang, unless all are to be in one domain."""
    replicas = count_or(clique.spec.replicas, 1)
    least = replicas if clique.spec.min_available is None or gang.domain else min(replicas, clique.spec.min_available)
    metadata = ObjectMeta(labels=clique.labels, annotations=clique.annotations)
    maker = Maker(_CLIQUE, key_of(made.metadata)[0], name)
    template = PodTemplateSpec(metadata=metadata, spec=clique.spec.pod_spec)
    pods = PodSet(maker, template, range(least), name, is_named=True, gang=gang)
    yield pods
    if least < replicas:
        yield pods._replace(numbers=range(least, replicas), gang=None)


def _domain_of(
    made: serving.PodCliqueSet, constraint: serving.GroveTopologyConstraint | None, context: ControllerContext
) -> str | None:
    """The node label of the level that is required."""
    if constraint is None:
        return None
    if constraint.pack and constraint.pack.preferred:
        context.note("prefers a topology domain, which is not planned", made)
    level = (constraint.pack.required if constraint.pack else None) or constraint.pack_domain
    if not level:
        return None
    for binding in context.cluster.objects(serving.ClusterTopologyBinding).values():
        for one in binding.spec.levels or ():
            if one.domain == level:
                return one.key
    context.note(f"asks for topology level {level}, which no ClusterTopologyBinding of the input has", made)
    return None
