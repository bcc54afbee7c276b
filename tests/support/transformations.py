"""Changes of a cluster, as manifests, that leave what is possible as it is."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy
from random import Random
from typing import Any

Mapped = dict[str, Any]
COPY_LABEL = "example.com/copy"
_SUPPLY = ("Node", "ResourceSlice", "DeviceClass", "NodeTemplate")
# Kinds without a namespace that both halves of a doubled cluster may share.
_COMMON = ("PriorityClass",)


def permuted(objects: list[Mapped], seed: int = 0) -> list[Mapped]:
    """Nodes, slices and classes in another order, and devices of a slice as well; the queue stays as it is."""
    rng = Random(seed)
    supply = [deepcopy(one) for one in objects if one["kind"] in _SUPPLY]
    rng.shuffle(supply)
    for one in supply:
        if one["kind"] == "ResourceSlice" and one["spec"].get("devices"):
            one["spec"]["devices"] = rng.sample(one["spec"]["devices"], len(one["spec"]["devices"]))
    return [*supply, *(one for one in objects if one["kind"] not in _SUPPLY)]


def split(objects: list[Mapped], seed: int = 0) -> list[Mapped]:
    """Slices of several devices in two, with the number of slices of their pool adjusted."""
    rng = Random(seed)
    made: list[Mapped] = []
    added: Counter[tuple[Any, ...]] = Counter()
    for one in deepcopy(objects):
        devices = one["spec"].get("devices") or [] if one["kind"] == "ResourceSlice" else []
        if len(devices) < 2:
            made.append(one)
            continue
        place = rng.randint(1, len(devices) - 1)
        other = deepcopy(one)
        one["spec"]["devices"], other["spec"]["devices"] = devices[:place], devices[place:]
        other["metadata"]["name"] += "-rest"
        added[_pool(one)] += 1
        made += [one, other]
    for one in made:
        if one["kind"] == "ResourceSlice":
            one["spec"]["pool"]["resourceSliceCount"] += added[_pool(one)]
    return made


def _pool(one: Mapped) -> tuple[Any, ...]:
    spec = one["spec"]
    return spec["driver"], spec["pool"]["name"], spec["pool"].get("generation", 0)


def renamed(objects: list[Mapped], seed: int = 0) -> list[Mapped]:
    """Nodes, their pools, slices and devices under names that sort differently."""
    rng = Random(seed)
    nodes = [one["metadata"]["name"] for one in objects if one["kind"] == "Node"]
    slices = [one["metadata"]["name"] for one in objects if one["kind"] == "ResourceSlice"]
    made: list[Mapped] = _with_strings(objects, _new_names(rng, nodes, "host"))
    names = _new_names(rng, slices, "part")
    devices: dict[str, str] = {}
    for one in made:
        if one["kind"] == "ResourceSlice":
            one["metadata"]["name"] = names[one["metadata"]["name"]]
            for device in one["spec"].get("devices") or ():
                device["name"] = devices.setdefault(device["name"], f"device-{rng.getrandbits(32):08x}")
    for one in made:
        held = ((one.get("status") or {}).get("allocation") or {}).get("devices") or {}
        for result in held.get("results") or ():
            result["device"] = devices.get(result["device"], result["device"])
        if one["kind"] == "DeviceTaintRule" and (one["spec"].get("deviceSelector") or {}).get("device"):
            chosen = one["spec"]["deviceSelector"]
            chosen["device"] = devices.get(chosen["device"], chosen["device"])
    return made


def _new_names(rng: Random, names: list[str], stem: str) -> dict[str, str]:
    numbers = rng.sample(range(len(names)), len(names))
    return {name: f"{stem}-{number:03}" for name, number in zip(names, numbers, strict=True)}


def _with_strings(value: Any, names: dict[str, str]) -> Any:
    """A copy in which texts that are a name are replaced."""
    if isinstance(value, dict):
        return {key: _with_strings(inner, names) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_strings(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def doubled(objects: list[Mapped]) -> list[Mapped]:
    """Two clusters that have nothing in common: own nodes, drivers and namespaces; pods stay in their half."""
    common = [one for one in objects if one["kind"] in _COMMON]
    halves = [one for one in objects if one["kind"] not in _COMMON]
    return [*common, *(_tied(one, "a") for one in halves), *(_tied(one, "b") for one in _other_half(halves))]


def _other_half(objects: list[Mapped]) -> list[Mapped]:
    """The same objects with other drivers, extended resources, namespaces, and names of what has no namespace."""
    text = re.sub(r"\b(gpu|mig|nic|fabric)\.x\b", r"\1-b.x", json.dumps(objects))
    text = text.replace('"example.com/gpu"', '"example.com/gpu-b"')
    made: list[Mapped] = json.loads(text)
    # Classes may be called as their drivers, and have other names already.
    known = {one["metadata"]["name"] for one in objects}
    names = known & {one["metadata"]["name"] for one in made if one["kind"] in _SUPPLY}
    made = _with_strings(made, {name: f"{name}-b" for name in names})
    for one in made:
        if one["kind"] == "Namespace":
            one["metadata"]["name"] += "-b"
        elif one["kind"] not in _SUPPLY:
            one["metadata"]["namespace"] = f"{one['metadata'].get('namespace', 'default')}-b"
    return made


def _tied(one: Mapped, half: str) -> Mapped:
    """An object whose pods go to nodes of its half only."""
    made = deepcopy(one)
    if made["kind"] == "Node":
        made["metadata"].setdefault("labels", {})[COPY_LABEL] = half
    if made["kind"] == "NodeTemplate":
        made["spec"].setdefault("labels", {})[COPY_LABEL] = half
    spec = made["spec"] if made["kind"] == "Pod" else ((made.get("spec") or {}).get("template") or {}).get("spec")
    if spec is not None:
        spec.setdefault("nodeSelector", {})[COPY_LABEL] = half
    return made
