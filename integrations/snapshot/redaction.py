"""Replaces names, labels, images, environment and annotations of objects, and keeps all that decides an answer.

Every field has a rule. A field that drasat does not read is left out, and a text without a rule of its own is replaced.
Two passes over the objects apply the same rules: the first collects the names, the second replaces them.

Kept are the words of hardware and of Kubernetes: drivers, attributes, capacities and counters, names of resources,
label keys of Kubernetes' own domains, amounts, times and enumerations. The guide has the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property, partial
from typing import Any

import msgspec

from ...cel.lexer import tokenize
from ...models.formats.json import read_documents
from ...models.kubernetes.core import ANY_ADDRESS, HOSTNAME_LABEL
from ...models.kubernetes.extensions import (
    CONSTRAINTS_ANNOTATION,
    COVERAGE_ANNOTATION,
    GANG_ANNOTATION,
    REPLICAS_ANNOTATION,
    VALUE_ANNOTATION,
    AnnotationError,
    Entry,
    read_annotations,
)
from ...models.kubernetes.kinds import KINDS, GroupKind, group_of
from ...models.kubernetes.meta import DEFAULT_NAMESPACE, parse_int64
from ...models.kubernetes.workloads import BUILT_IN_PRIORITIES
from .names import PUBLIC_PIECES, KeyedHash, NameTable

Rule = Callable[["_Pass", Any, Mapping[str, Any]], Any]
"""What becomes of a field's value; the last argument is the object that has the field."""

# Domains of label keys, annotations and conditions that say nothing about whose cluster it is.
_PUBLIC_DOMAINS = ("kubernetes.io", "k8s.io", "x-k8s.io", *sorted({known.group for known in KINDS.values()} - {""}))
# Label keys without a domain that Kubernetes' controllers write, and the only field that node selectors know.
_PUBLIC_KEYS = frozenset(
    {"job-name", "controller-uid", "pod-template-hash", "controller-revision-hash", "metadata.name"}
)
# Values that code compares with.
_KEPT_NAMES = frozenset({"", "true", "false", *BUILT_IN_PRIORITIES})
# Fields that no model has: what older versions nest devices in, what the issue of a warning is, and what is replaced.
_OTHER_FIELDS = frozenset(
    [
        *("basic", "list", "image", "env", "command", "args", "value", "volumes", "persistentVolumeClaim", "claimName"),
        *("ephemeral", "csi", "ports", "hostPort", "hostNetwork", "schedulingGates", "podAffinity"),
        *("podAntiAffinity", "topologySpreadConstraints", "topologyKey", "weight", "preference", "preemptionPolicy"),
        *("preferredDuringSchedulingIgnoredDuringExecution", "podGroupTemplates", "compositePodGroupTemplates"),
        *("labelSelector", "namespaceSelector", "namespaces", "priorityClassName"),
    ]
)
_QUANTITY = re.compile(r"[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+|[numkKMGTPE]i?)?", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_MAIL = re.compile(r"[A-Za-z0-9_.+-]+@[A-Za-z0-9.-]+")
_DOMAIN_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*[A-Za-z0-9]")
_SHORT_NAME = re.compile(r"[-A-Za-z0-9_./]{1,317}")
# Nothing that drasat reads is so deep; what is deeper is left out.
_DEEPEST = 60
_CLASS_RESOURCE = "deviceclass.resource.kubernetes.io/"


class Redactor:
    """New names for a set of objects; the same objects and key give the same names."""

    def __init__(self, objects: Iterable[Mapping[str, Any]], key: bytes, check: Callable[[], object] = bool) -> None:
        """Collect the names of the objects; ``check`` is called before each object of either pass, and may raise."""
        self._objects = tuple(objects)
        self._keyed = KeyedHash(key)
        self._check = check
        self._found = _Pass(self._keyed, None)
        for one in self._objects:
            check()
            self._found.object(one)

    @cached_property
    def names(self) -> NameTable:
        """The table of new names."""
        return NameTable(self._found.names, self._keyed, _KEPT_NAMES)

    def redacted(self) -> list[dict[str, Any]]:
        """The objects with their new names, in their order."""
        second = _Pass(self._keyed, self.names, self._found)
        found = []
        for one in self._objects:
            self._check()
            found.append(second.object(one))
        return found


class _Pass:
    """One pass over the objects: without a table it collects names and leaves them as they are."""

    def __init__(self, keyed: KeyedHash, table: NameTable | None, first: _Pass | None = None) -> None:
        self.keyed = keyed
        self._table = table
        self._depth = 0
        self.names: set[str] = set()
        # Names of nodes, which drivers like to publish, and labels that are compared as numbers.
        self.nodes: set[str] = first.nodes if first else set()
        self.numbered: set[str] = first.numbered if first else set()

    def object(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """An object of a kind that is known."""
        found = self.struct(raw)
        metadata = raw.get("metadata")
        if raw.get("kind") == "Node" and isinstance(metadata, Mapping):
            self.note_node(metadata.get("name"))
        known = KINDS.get(GroupKind(group_of(str(raw.get("apiVersion"))), str(raw.get("kind"))))
        if known is not None and known.namespaced and isinstance(found.get("metadata"), dict):
            # Objects without a namespace are in the default one, which has another name now.
            namespace = found["metadata"].get("namespace") or self.name(DEFAULT_NAMESPACE)
            found["metadata"] = {**found["metadata"], "namespace": namespace}
        return found

    def struct(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that drasat reads, each by its rule."""
        return {key: self.field(key, value, raw) for key, value in raw.items() if key in _known_fields()}

    def field(self, key: str, value: Any, holder: Mapping[str, Any]) -> Any:
        rule = _RULES.get(key)
        return value if value is None else rule(self, value, holder) if rule else self.other(value)

    def other(self, value: Any) -> Any:
        """A value without a rule: parts have rules of their own, and texts are replaced."""
        return self.each(value, self.keyed.opaque)

    def each(self, value: Any, change: Callable[[str], Any]) -> Any:
        """Change a text, or the texts of a list; objects go on by their fields."""
        if isinstance(value, str):
            return change(value)
        if not isinstance(value, Mapping | list | tuple) or self._depth >= _DEEPEST:
            return None if isinstance(value, Mapping | list | tuple) else value
        self._depth += 1
        changed = self.struct(value) if isinstance(value, Mapping) else [self.each(item, change) for item in value]
        self._depth -= 1
        return changed

    def name(self, text: str) -> str:
        if self._table is not None:
            return self._table[text]
        self.names.add(text)
        return text

    def note_node(self, name: Any) -> None:
        if isinstance(name, str) and name and self._table is None:
            self.nodes.add(name)
            self.names.add(name)

    def label_key(self, text: str) -> str:
        """Keys of public domains stay."""
        domain, slash, _ = text.partition("/")
        public = slash and any(domain == one or domain.endswith(f".{one}") for one in _PUBLIC_DOMAINS)
        return text if public or text in _PUBLIC_KEYS else self.name(text)

    def label_value(self, key: Any, text: str) -> str:
        """Integers stay where a selector compares the label as a number."""
        if key == HOSTNAME_LABEL:
            self.note_node(text)
        return text if key in self.numbered and parse_int64(text) is not None else self.name(text)

    def labels(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self.other(value)
        return {self.label_key(key): self.each(inner, partial(self.label_value, key)) for key, inner in value.items()}

    def annotations(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self.other(value)
        return {self.label_key(key): self.each(text, _annotation_rule(self, key)) for key, text in value.items()}

    def constraints(self, text: str) -> str:
        """The entries of our own annotation, written as JSON."""
        documents = list(read_documents(text.encode(errors="replace")))
        if len(documents) != 1 or not isinstance(documents[0], list):
            return self.keyed.opaque(text)
        return msgspec.json.encode(self.other(documents[0])).decode()

    def coverage(self, text: str) -> str:
        """The entry of a coverage group, with another name of the group."""
        try:
            entry = read_annotations({COVERAGE_ANNOTATION: text}).coverage
        except AnnotationError:
            entry = None
        if entry is None:
            return self.keyed.opaque(text)
        return f'{{"group": "{self.name(entry.group)}", "value": {entry.value:f}, "demand": {entry.demand:f}}}'

    def quantities(self, value: Any) -> Any:
        """A map from names of resources, capacities, counters or attributes."""
        if not isinstance(value, Mapping):
            return self.other(value)
        return {self.resource(key): self.each(inner, self.quantity) for key, inner in value.items()}

    def resource(self, text: str) -> str:
        """A resource; the implicit one of a class has its name."""
        if text.startswith(_CLASS_RESOURCE):
            return _CLASS_RESOURCE + self.name(text.removeprefix(_CLASS_RESOURCE))
        return text

    def quantity(self, text: str) -> str:
        return text if _QUANTITY.fullmatch(text) else self.keyed.opaque(text)

    def address(self, text: str) -> str:
        """An address of a host; the one that stands for all of them stays."""
        return text if text == ANY_ADDRESS else self.keyed.opaque(text)

    def published(self, text: str) -> str:
        """A value that a driver publishes, or that an expression compares it with.

        UUIDs, mail addresses and names of nodes in it are replaced.
        """
        text = _UUID.sub(lambda match: self.keyed.uuid(match[0].lower()), text)
        text = _MAIL.sub(lambda match: self.keyed.opaque(match[0]), text)
        return _DOMAIN_NAME.sub(lambda match: self.name(match[0]) if match[0] in self.nodes else match[0], text)

    def expression(self, text: str) -> str:
        """A CEL expression without its comments; strings change as published values do."""
        tokens, issues = tokenize(text)
        if issues:
            # It does not compile, and will not.
            return "redacted("
        found, end = [], 0
        for token in tokens[:-1]:
            between = text[end : token.pos]
            found += [" " if "//" in between else between]
            found += [self.published(token.text) if token.kind in ("string", "bytes") else token.text]
            end = token.pos + len(token.text)
        return "".join(found)


def _annotation_rule(pass_: _Pass, key: str) -> Callable[[str], str]:
    """Annotations of public domains hold names, keys of labels or numbers; of others nothing is known."""
    if key == CONSTRAINTS_ANNOTATION:
        return pass_.constraints
    if key == COVERAGE_ANNOTATION:
        return pass_.coverage
    if key in (REPLICAS_ANNOTATION, VALUE_ANNOTATION):
        return pass_.quantity
    if key == GANG_ANNOTATION:
        return pass_.name
    public = pass_.label_key(key) == key and "/" in key
    return lambda text: pass_.label_key(text) if public and _SHORT_NAME.fullmatch(text) else pass_.keyed.opaque(text)


@cache
def _known_fields() -> frozenset[str]:
    """The names of all fields that the models have."""
    _, definitions = msgspec.json.schema_components([*{known.model for known in KINDS.values()}, Entry])
    names = (name for definition in definitions.values() for name in definition.get("properties", ()))
    return frozenset({"kind", "apiVersion", *names, *_OTHER_FIELDS})


def _keep(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    return pass_.each(value, str)


def _each(change: Callable[[_Pass], Callable[[str], Any]]) -> Rule:
    return lambda pass_, value, _: pass_.each(value, change(pass_))


def _name_of_node(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    pass_.note_node(value)
    return pass_.each(value, pass_.name)


def _operator(pass_: _Pass, value: Any, holder: Mapping[str, Any]) -> Any:
    if value in ("Gt", "Lt") and isinstance(holder.get("key"), str):
        pass_.numbered.add(holder["key"])
    return value


def _value(pass_: _Pass, value: Any, holder: Mapping[str, Any]) -> Any:
    """Of a taint or toleration, which have a key; of a counter, a capacity or a priority; or of a variable."""
    if isinstance(holder.get("key"), str):
        return pass_.each(value, lambda text: pass_.label_value(holder["key"], text))
    return pass_.each(value, pass_.quantity)


def _environment(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    variables = [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    return [
        {
            key: pass_.keyed.opaque(text)
            for key, text in one.items()
            if key in ("name", "value") and isinstance(text, str)
        }
        for one in variables
    ]


def _amounts(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Of a container, a node or a device; or ``requests`` of a claim, and ``capacity`` that has them."""
    if isinstance(value, Mapping) and not isinstance(value.get("requests"), Mapping):
        return pass_.quantities(value)
    return pass_.each(value, pass_.name)


def _resources(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Of a container or pod; or amounts of a claim, as the scheduler recorded them."""
    if isinstance(value, Mapping) and not {"requests", "limits", "claims"} & value.keys():
        return pass_.quantities(value)
    return pass_.struct(value) if isinstance(value, Mapping) else pass_.other(value)


def _bound(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Amounts of a LimitRange; or one amount of a policy or of replicas."""
    return pass_.quantities(value) if isinstance(value, Mapping) else pass_.each(value, pass_.quantity)


def _parts_or_amounts(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """The items of a LimitRange, the overhead of a RuntimeClass; or amounts of a container, a pod or a NodePool."""
    nested = not isinstance(value, Mapping) or isinstance(value.get("podFixed"), Mapping)
    return pass_.other(value) if nested else pass_.quantities(value)


def _derived(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Derived attributes, whose names are those of attributes."""
    listed = [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    return [{**pass_.struct(one), **({"name": one["name"]} if "name" in one else {})} for one in listed]


def _parameters(pass_: _Pass, value: Any, holder: Mapping[str, Any]) -> Any:
    """Parameters that only a driver understands, of which equal ones stay equal; or the reference of a check."""
    if "controllerName" in holder:
        return pass_.other(value)
    return {"redacted": pass_.keyed.opaque(msgspec.json.encode(value, order="sorted").decode())}


def _labels_or_selector(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """A map of labels; ``nodeSelector`` of devices and allocations is an object with terms instead."""
    if isinstance(value, Mapping) and "nodeSelectorTerms" in value:
        return pass_.struct(value)
    return pass_.labels(value)


def _by_role(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Templates by the role of their pods, such as Worker."""
    if not isinstance(value, Mapping):
        return pass_.other(value)
    return {role: pass_.other(one) for role, one in value.items() if role.lower() in PUBLIC_PIECES}


def _name(pass_: _Pass, value: Any, holder: Mapping[str, Any]) -> Any:
    """The name of an object or of a part; or the resource of a quota, or of a mapping of device classes."""
    return pass_.each(value, str if {"nominalQuota", "deviceClassNames"} & holder.keys() else pass_.name)


def _keyed_by_name(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Times by the name of a pod."""
    return {pass_.name(key): one for key, one in value.items()} if isinstance(value, Mapping) else pass_.other(value)


def _flavors(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """A flavor for each resource; or flavors with their quotas."""
    if not isinstance(value, Mapping):
        return pass_.other(value)
    return {pass_.resource(key): pass_.each(one, pass_.name) for key, one in value.items()}


def _attributes(pass_: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    """Attributes of a device; or names of attributes."""
    return value if isinstance(value, list) else pass_.quantities(value)


def _gates(_pass: _Pass, value: Any, _: Mapping[str, Any]) -> Any:
    return {key: one for key, one in value.items() if isinstance(one, bool)} if isinstance(value, Mapping) else None


def _label_values(pass_: _Pass, value: Any, holder: Mapping[str, Any]) -> Any:
    return pass_.each(value, partial(pass_.label_value, holder.get("key")))


_RULES: dict[str, Rule] = {
    field: rule
    for rule, fields in (
        (_keep, "apiVersion kind apiGroup resource type status phase effect restartPolicy preemptionPolicy source"),
        (_keep, "creationTimestamp deletionTimestamp timeAdded allocationTimestamp allocationMode mode listMode"),
        (_keep, "driver matchAttribute distinctAttribute coordinates level id peers scope shape orientation"),
        (_keep, "per partitionTypeAttribute extendedResourceName skipNodeOperations declaredFeatures capacityKey"),
        (_keep, "compatibilityGroups managedBy completionMode submissionMode startupPolicy startupPolicyOrder"),
        (_keep, "launcherCreationPolicy completedIndexes failedIndexes group state reason underlyingCause position"),
        (_keep, "coveredResources managedResources excludeResourcePrefixes input multiplyBy strategy timestamp"),
        (_keep, "queueingStrategy stopPolicy reclaimWithinCohort withinClusterQueue policy preference whenCanBorrow"),
        (_keep, "whenCanPreempt admissionMode delayedTopologyRequest preemptionStrategies quotaCheckStrategy"),
        (_keep, "podSetMergePolicy frameworks externalFrameworks timeout recoveryTimeout lastTransitionTime requeueAt"),
        (_keep, "consolidateAfter consolidationPolicy duration expireAfter reasons schedule terminationGracePeriod"),
        (_keep, "attribute nodes priceAdjustment medium startTime unhealthyPodEvictionPolicy"),
        (_keep, "accessModes action nodeAffinityPolicy nodeTaintsPolicy protocol volumeBindingMode whenUnsatisfiable"),
        (_each(lambda pass_: pass_.address), "hostIP"),
        (_each(lambda pass_: pass_.keyed.opaque), "message description valueFromProvisioningClassDetail path"),
        (_each(lambda pass_: pass_.quantity), "nominalQuota borrowingLimit lendingLimit weight"),
        (_each(lambda pass_: pass_.quantity), "step validValues price allocationMultiplier"),
        (_bound, "default defaultRequest min max"),
        (_parts_or_amounts, "limits overhead"),
        (_each(lambda pass_: pass_.keyed.uuid), "uid shareID"),
        (_each(lambda pass_: pass_.published), "string strings version versions"),
        (_each(lambda pass_: pass_.label_key), "key topologyKey sameNodeLabel required preferred"),
        (_each(lambda pass_: pass_.label_key), "nodeLabel topology podIndexLabel subGroupIndexLabel matchLabelKeys"),
        (_each(lambda pass_: pass_.label_key), "podSetSliceRequiredTopology controllerName provisioningClassName"),
        (
            _each(lambda pass_: pass_.label_key),
            "bindingConditions bindingFailureConditions mismatchLabelKeys provisioner",
        ),
        (_each(lambda pass_: pass_.expression), "expression"),
        (_name, "name"),
        (_each(lambda pass_: pass_.name), "namespace generateName namespaces request pool device devices claims"),
        (
            _each(lambda pass_: pass_.name),
            "deviceClassName resourceClaimName resourceClaimTemplateName counterSet pods",
        ),
        (_each(lambda pass_: pass_.name), "priorityClassName podGroup podGroupReplicaKey podGroupName claimName"),
        (_each(lambda pass_: pass_.name), "workloadName templateName"),
        (_each(lambda pass_: pass_.name), "runtimeClassName groupName domain packDomain startsAfter cliqueNames"),
        (_each(lambda pass_: pass_.name), "childCliqueNames childScalingGroupNames parentCompositePodGroupName"),
        (_each(lambda pass_: pass_.name), "queueName clusterQueue cohortName parentName topologyName podSetGroupName"),
        (_each(lambda pass_: pass_.name), "deviceClassNames onFlavors lastAcceptableFlavorName clusterName"),
        (_each(lambda pass_: pass_.name), "nominatedClusterNames providerID template storageClassName volumeName"),
        (_flavors, "flavors"),
        (_gates, "featureGates"),
        (_name_of_node, "nodeName"),
        (_labels_or_selector, "nodeLabels labels matchLabels nodeSelector clusterSelector"),
        (_by_role, "mpiReplicaSpecs pytorchReplicaSpecs paddleReplicaSpecs tfReplicaSpecs xgbReplicaSpecs"),
        (_by_role, "jaxReplicaSpecs"),
        (_keyed_by_name, "disruptedPods"),
        (_label_values, "values"),
        (_operator, "operator"),
        (_value, "value"),
        (_amounts, "requests capacity"),
        (_resources, "resources"),
        (_each(lambda pass_: pass_.name), "containers"),
        (_each(lambda pass_: pass_.quantity), "quantity perPod perContainer deviceMultiplier capacityMultiplier"),
        (lambda pass_, value, _: pass_.quantities(value), "resourceUsage outputs"),
        (lambda pass_, value, _: pass_.quantities(value), "allocatable consumedCapacity counters podFixed"),
        (lambda pass_, value, _: pass_.quantities(value), "kubeReserved systemReserved evictionThreshold"),
        (lambda pass_, value, _: pass_.quantities(value), "nodeAllocatableResources"),
        (_attributes, "attributes"),
        (lambda pass_, value, _: pass_.quantities(value), "nodeAllocatableResourceMappings"),
        (lambda pass_, value, _: pass_.annotations(value), "annotations"),
        (_environment, "env"),
        (_derived, "derivedAttributes"),
        (_parameters, "parameters provisioningClassDetails"),
    )
    for field in fields.split()
}
