"""Study files: the variants that they list, their options, and the cluster that each variant is about.

A study is read strictly: a misspelt field would silently change what is computed. Settings of a variant are options of
its verb, by their names on the command line, or changes of the cluster.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ..integrations.provisioning.event_file import read_seconds
from ..models.cluster.cluster import Cluster
from ..models.formats.decode import DecodeProblem, Model, to_builtins, to_object_strictly
from ..models.formats.errors import InputError, InputProblem, Source, Unreadable
from ..models.formats.json import read_documents
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.meta import parse_label_selector
from ..models.manifests.sources import open_sources
from ..models.results.study import display_setting
from ..solver.compare.changed_clusters import ClusterChange, NodeChange

StudySource: TypeAlias = str | PathLike[str] | Mapping[str, Any]
# Module and function of each verb that a study may ask.
VERBS: Mapping[str, tuple[str, str]] = {
    "plan": ("plan", "plan"),
    "allocate": ("allocate", "allocate"),
    "capacity": ("capacity", "capacity"),
    "compare": ("compare", "compare"),
    "compare-plans": ("compare", "compare_plans"),
    "quota": ("quota", "quota"),
}
# What a study decides itself, or what makes no difference to figures.
NOT_OPTIONS = frozenset({"cluster", "executor", "watch", "progress", "on_cycle", "timings", "cel_road", "repeat"})
_MOST_VARIANTS, _MOST_NODES, _LARGEST_SCALE, _MOST_DIGITS = 100_000, 100_000, 10_000, 100


class StudyFile(Model):
    """A study as written.

    ``product`` has a list of values for each setting, of which every combination is a variant; ``variants`` lists
    settings of variants. With both, each listed variant is combined with the product. ``options`` are settings of all
    variants. ``figures`` are those to keep, in this order; default: all.
    """

    verb: str = "plan"
    options: dict[str, Any] | None = None
    product: dict[str, Any] | None = None
    variants: tuple[dict[str, Any], ...] | None = None
    figures: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Variant:
    """A variant: what is asked of which cluster. ``settings`` are as written, without those of all variants.

    ``text`` has everything that decides about the figures, the same for equal variants.
    """

    name: str
    verb: str
    settings: Mapping[str, Any]
    change: ClusterChange
    options: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Study:
    """The variants of a study, and the figures to keep; none: all of them."""

    variants: tuple[Variant, ...]
    figures: tuple[str, ...]


def read_study(source: StudySource) -> Study:
    """Read a study from a file, from standard input for ``-``, or from a mapping; paths in a file are beside it.

    Raises ``InputError`` with everything that is wrong: unknown fields, verbs and options, wrong types and values.
    """
    if isinstance(source, Mapping):
        place, document, folder = Source("(study)", 0), to_builtins(source), Path()
        if isinstance(document, Unreadable):
            raise InputError(InputProblem(place, path, reason) for path, reason in document.reasons)
    else:
        place, document = _read_document(source)
        folder = Path() if str(source) == "-" else Path(source).parent
    reader = _StudyReader(folder)
    study = reader.study(document)
    if study is None or reader.problems:
        raise InputError(InputProblem(place, found.field, found.message) for found in reader.problems)
    return study


def _read_document(source: str | PathLike[str]) -> tuple[Source, Any]:
    """The one document of a file, and its place. Raises ``InputError``."""
    [read] = open_sources([source]) if not Path(source).is_dir() else [None]
    place = Source(str(source) if read is None else read.name, 0)
    failure = "is a folder, not a study" if read is None else read.failure
    if failure or read is None:
        raise InputError([InputProblem(place, "", failure)])
    documents = list(itertools.islice(read_documents(read.data, read.name), 2))
    if len(documents) != 1 or documents[0] is None:
        raise InputError([InputProblem(place, "", "must hold one study")])
    if isinstance(documents[0], Unreadable):
        raise InputError(InputProblem(place, path, reason) for path, reason in documents[0].reasons)
    return place, documents[0]


class _StudyReader:
    """Reads the document of a study; ``problems`` are collected by field."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[DecodeProblem] = []
        self._folder = folder
        # Values repeat from variant to variant, and mixes are read from files.
        self._read: dict[tuple[str, str, str], Any] = {}

    def study(self, document: Any) -> Study | None:
        """The study; None if it has another shape."""
        if not isinstance(document, dict):
            self._refuse("", "a study is an object with verb, options, product, variants and figures")
            return None
        read, problems = to_object_strictly(document, StudyFile)
        self.problems += problems
        if read is None or problems:
            return None
        product = self._product(read.product or {})
        listed = read.variants if read.variants is not None else ({},)
        if not read.product and not read.variants:
            self._refuse("", "a study needs a product or variants")
        total = len(listed) * math.prod(len(values) for values in product.values())
        if total > _MOST_VARIANTS:
            self._refuse("", f"has {total:,} variants, and may have {_MOST_VARIANTS:,}")
        if self.problems:
            return None
        self._check_verb(read.verb, "verb")
        variants = [] if self.problems else list(self._variants(read, product, listed))
        self._check_names(variants)
        return Study(tuple(variants), read.figures or ())

    def _product(self, product: Mapping[str, Any]) -> dict[str, list[Any]]:
        for name, values in product.items():
            if not isinstance(values, list) or not values:
                self._refuse(f"product.{name}", f"Invalid value: {_shown(values)}: must be a list of values")
            elif len({_canonical(value) for value in values}) < len(values):
                self._refuse(f"product.{name}", "has a value twice")
        return dict(product) if not self.problems else {}

    def _variants(
        self, read: StudyFile, product: Mapping[str, list[Any]], listed: Sequence[Mapping[str, Any]]
    ) -> Iterator[Variant]:
        common = read.options or {}
        for number, own in enumerate(listed):
            at = {name: f"options.{name}" for name in common} | {name: f"variants[{number}].{name}" for name in own}
            name = own.get("name", "")
            if not isinstance(name, str) or not name.isprintable():
                self._refuse(f"variants[{number}].name", f"Invalid value: {_shown(name)}: must be a printable string")
                continue
            mine = {setting: value for setting, value in own.items() if setting != "name"}
            for setting in mine.keys() & product.keys():
                self._refuse(at[setting], "is set by the product, too")
            for places in itertools.product(*(range(len(values)) for values in product.values())):
                settings = mine | {key: product[key][place] for key, place in zip(product, places, strict=True)}
                where = at | {key: f"product.{key}[{place}]" for key, place in zip(product, places, strict=True)}
                verb = settings.get("verb", read.verb)
                if not self._check_verb(verb, where.get("verb", "verb")):
                    continue
                varied = {key: settings[key] for key in product}
                label = ",".join(filter(None, [name, ",".join(f"{k}={display_setting(v)}" for k, v in varied.items())]))
                label = label or ",".join(f"{key}={display_setting(value)}" for key, value in mine.items())
                named = {"name": name} if name else {}
                yield self._variant(label, verb, named | settings, common | settings, where)
                if len(self.problems) > 20:
                    return

    def _variant(
        self, name: str, verb: str, settings: Mapping[str, Any], everything: Mapping[str, Any], where: Mapping[str, str]
    ) -> Variant:
        options: dict[str, Any] = {}
        changes: dict[str, Any] = {}
        text = {"verb": verb}
        for setting, value in sorted(everything.items()):
            if setting == "verb":
                continue
            reader = _CHANGES.get(setting) or option_readers(verb).get(setting)
            if reader is None:
                known = ", ".join(sorted({"verb", *_CHANGES, *option_readers(verb)}))
                self._refuse(where[setting], f"Forbidden: unknown option of {verb}, known are: {known}")
                continue
            made = self._value(verb, setting, value, reader, where[setting])
            if setting in _CHANGES:
                changes[_CHANGE_FIELDS[setting]] = made
            elif setting == "kubernetes-version":
                continue
            else:
                options[setting.replace("-", "_")] = made
            text[setting] = _canonical(value) + (cluster_hash(made) if isinstance(made, Cluster) else "")
        if (gates := self._gates(everything, where)) is not None:
            options["feature_gates"] = gates
            text["feature-gates"] = _canonical(gates.to_dict())
        return Variant(name, verb, dict(settings), ClusterChange(**changes), options, _canonical(text))

    def _gates(self, settings: Mapping[str, Any], where: Mapping[str, str]) -> FeatureGates | None:
        """The gates of a variant: of a release, or all on, with switches on top; None if nothing is said."""
        version, switches = settings.get("kubernetes-version"), settings.get("feature-gates")
        if (version is None and switches is None) or not isinstance(version, str | float | None):
            # Another type is refused where values are read.
            return None
        said = [f"{name}={str(on).lower()}" for name, on in switches.items()] if isinstance(switches, dict) else []
        place = where.get("kubernetes-version", "")
        try:
            base = FeatureGates.all_on() if version is None else FeatureGates.for_version(str(version))
            place = where.get("feature-gates", "")
            return FeatureGates.parse(switches if isinstance(switches, str) else ",".join(said), base)
        except ValueError as error:
            self._refuse(place, f"Invalid value: {error}")
            return None

    def _value(self, verb: str, setting: str, value: Any, read: Callable[[Any, Path], Any], where: str) -> Any:
        key = verb, setting, _canonical(value)
        if key not in self._read:
            self._read[key] = None
            try:
                self._read[key] = read(value, self._folder)
            except InputError as error:
                self._refuse(where, f"Invalid value: {error.problems[0]}")
            except ValueError as error:
                self._refuse(where, f"Invalid value: {_shown(value)}: {error}")
        return self._read[key]

    def _check_verb(self, verb: Any, where: str) -> bool:
        if isinstance(verb, str) and verb in VERBS:
            return True
        self._refuse(where, f"Invalid value: {_shown(verb)}: unknown verb, known are: {', '.join(VERBS)}")
        return False

    def _check_names(self, variants: Sequence[Variant]) -> None:
        seen: set[str] = set()
        for one in variants:
            if not one.name or one.name in seen:
                said = f"two variants are called {one.name!r}" if one.name else "a variant has neither name nor setting"
                self._refuse("variants", f"{said}: give each a name of its own")
                return
            seen.add(one.name)

    def _refuse(self, where: str, message: str) -> None:
        problem = DecodeProblem(where, message)
        if problem not in self.problems:
            self.problems.append(problem)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _checked(kinds: tuple[type, ...], wanted: str, value: Any, _folder: Path) -> Any:
    if type(value) not in kinds:
        raise ValueError(f"must be {wanted}")
    return value


def _names(value: Any, _folder: Path) -> Any:
    """One name, or a list of names."""
    if isinstance(value, str):
        return [part for part in value.split(",") if part]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a name or a list of names")
    return value


def _time_limit(value: Any, _folder: Path) -> float:
    found = value if isinstance(value, float) else read_seconds(value)
    if not found or not 0 < found < 1e9:
        raise ValueError("must be seconds, or a duration such as 1m30s")
    return float(found)


def _part(value: Any, _folder: Path) -> float:
    text = str(value)
    found = _decimal(text.removesuffix("%"))
    found = found / 100 if found is not None and text.endswith("%") else found
    if isinstance(value, bool) or found is None or not 0 <= found < 1:
        raise ValueError("must be a part such as 0.1% or 0.001, below 100%")
    return float(found)


def _amount(value: Any, _folder: Path) -> str:
    if isinstance(value, bool) or _decimal(str(value)) is None:
        raise ValueError("must be a decimal number")
    return str(value)


def _decimal(text: str) -> Decimal | None:
    """The number of a text of some digits; None for any other."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) < _MOST_DIGITS else None


def _gate_switches(value: Any, _folder: Path) -> Any:
    if isinstance(value, str) or (isinstance(value, dict) and all(isinstance(on, bool) for on in value.values())):
        return value
    raise ValueError("must be an object of gates with true or false")


def _release(value: Any, _folder: Path) -> Any:
    if not isinstance(value, str | float):
        raise ValueError("must be a version such as 1.37")
    return value


def _manifests(value: Any, folder: Path) -> Cluster:
    from ..solver.allocate.load import load

    return load(*(str(folder / path) for path in ([value] if isinstance(value, str) else _names(value, folder))))


def _entries(value: Any, _folder: Path) -> Any:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError("must be a list of constraints")
    return value


_TEXT = partial(_checked, (str,), "a string")
_OPTION_READERS: Mapping[str, Callable[[Any, Path], Any]] = {
    "time_limit": _time_limit,
    "gap": _part,
    "budget": _amount,
    "feature_gates": _gate_switches,
    "mix": _manifests,
    "constraints": _entries,
    "quota": _TEXT,
}
_READERS_BY_TYPE: Mapping[str, Callable[[Any, Path], Any]] = {
    "bool": partial(_checked, (bool,), "true or false"),
    "int": partial(_checked, (int,), "an integer"),
    "int | None": partial(_checked, (int,), "an integer"),
    "int | str | None": partial(_checked, (int, str), "an integer or a string"),
    "float": partial(_checked, (int, float), "a number"),
    "float | None": partial(_checked, (int, float), "a number"),
    "str": _TEXT,
    "str | None": _TEXT,
    "str | Sequence[str]": _names,
    "Sequence[str]": _names,
    "Sequence[str] | None": _names,
}


@cache
def option_readers(verb: str) -> Mapping[str, Callable[[Any, Path], Any]]:
    """The options of a verb by their names on the command line, with what reads each."""
    parameters = inspect.signature(verb_function(verb)).parameters.values()
    found = {
        one.name.replace("_", "-"): _OPTION_READERS.get(one.name) or _READERS_BY_TYPE[str(one.annotation)]
        for one in parameters
        if one.name not in NOT_OPTIONS
    }
    return found | ({"kubernetes-version": _release} if "feature-gates" in found else {})


def verb_function(verb: str) -> Callable[..., Any]:
    """The public function of a verb."""
    module, name = VERBS[verb]
    function: Callable[..., Any] = getattr(import_module(f".{module}", __package__), name)
    return function


def _scale(value: Any, _folder: Path) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST_SCALE:
        raise ValueError(f"must be a number from 0 to {_LARGEST_SCALE}")
    return float(value)


def _node_changes(adding: bool, value: Any, _folder: Path) -> tuple[NodeChange, ...]:
    listed = value if isinstance(value, list) else [] if value in (None, {}) else [value]
    return tuple(_node_change(adding, one) for one in listed)


def _node_change(adding: bool, value: Any) -> NodeChange:
    wanted = "must be an object with template or selector, and count"
    if not isinstance(value, dict) or not value.keys() <= {"template", "selector", "count"}:
        raise ValueError(wanted)
    template, selector, count = value.get("template", ""), value.get("selector", ""), value.get("count")
    if not isinstance(template, str) or not isinstance(selector, str) or bool(template) == bool(selector):
        raise ValueError(wanted)
    if (count is not None or adding) and (type(count) is not int or not 0 <= count <= _MOST_NODES):
        raise ValueError(f"count must be an integer from 0 to {_MOST_NODES}")
    parse_label_selector(selector)
    return NodeChange(template, selector, count)


_CHANGES: Mapping[str, Callable[[Any, Path], Any]] = {
    "scale": _scale,
    "add-nodes": partial(_node_changes, True),
    "remove-nodes": partial(_node_changes, False),
}
_CHANGE_FIELDS = {"scale": "scale", "add-nodes": "added", "remove-nodes": "removed"}


def cluster_hash(cluster: Cluster) -> str:
    """A hash of everything in a cluster that answers depend on, the same in every run."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    found = sha256(cluster.input_hash().encode())
    # A cluster that was derived from what was read differs in these.
    for parts in (cluster.nodes, cluster.node_templates, cluster.claims, cluster.pods, dict(enumerate(cluster.slices))):
        for key, made in parts.items():
            found.update(f"{key} ".encode() + encode(made))
    return found.hexdigest()
