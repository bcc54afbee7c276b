"""What validation reports, worded as the field errors of the API server, and checks that many kinds of objects share.

Shared are the checks of names, quantities (exact integers, or a complaint) and metadata (dra-semantics 2).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import msgspec

from ..formats.decode import QuantityText
from ..formats.errors import Severity, one_line
from ..kubernetes import meta as object_meta
from ..kubernetes.quantity import Quantity

# What a message quotes is cut here; the API server quotes all of it. What programs show whole is cut there.
_QUOTED = 200
_WHOLE = 1000
_GO_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v"}
# A limit can be lifted, for allocation still has a meaning without it; a structure cannot.
Category = Literal["limit", "structure"]
LIMIT: Category = "limit"
STRUCTURE: Category = "structure"


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One problem of an object; ``str()`` words it as the API server does."""

    path: str
    message: str
    severity: Severity = "error"
    category: Category = LIMIT

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class MapKey(str):
    """A map key in a path, shown as ``[key]``; plain strings are field names."""

    __slots__ = ()


ANNOTATIONS_MAX = 262144
NameRule = Callable[[str], object_meta.Complaints]
# Segments of a path: field names, keys, and indexes. Rendered only when a problem is found.
Path = tuple[str | int, ...]


def _truncated(text: str, most: int = _QUOTED) -> str:
    return text if len(text) <= most else text[:most] + "..."


def _printable(text: str) -> str:
    """Escape as Go does, which has names for a few more characters than Python."""
    return one_line(text, _GO_ESCAPES)


def _to_json_value(value: Any) -> Any:
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else str(value)


def compact_json(value: Any) -> str:
    """Write a value as JSON without blanks; endures what JSON cannot hold, such as lone surrogates."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_to_json_value, skipkeys=True)


def show_json(value: Any) -> str:
    """Show a value as programs do, as JSON: one line of up to 1000 characters."""
    return _printable(_truncated(compact_json(value), _WHOLE))


def quote(value: Any) -> str:
    """Show a value as error messages do: strings in quotes, objects as JSON, all cut to 200 characters."""
    return quote_whole(_truncated(value)) if isinstance(value, str) else _printable(_truncated(compact_json(value)))


def quote_whole(value: Any) -> str:
    """Show a value as error messages do, however long it is."""
    if not isinstance(value, str):
        return _printable(compact_json(value))
    escaped = value.replace("\\", r"\\").replace('"', r"\"")
    return f'"{_printable(escaped)}"'


def render_path(path: Path) -> str:
    """Spell the path: ``spec.devices[0].attributes[model].string``."""
    text = "".join(
        f"[{shown}]" if isinstance(segment, int | MapKey) else f".{shown}"
        for segment in path
        for shown in (_printable(_truncated(str(segment))),)
    )
    return text.removeprefix(".")


class Findings:
    """The problems of one object, in the order found; ``check_`` methods report what a rule finds wrong."""

    __slots__ = ("problems",)
    _show = staticmethod(quote)

    def __init__(self) -> None:
        self.problems: list[FieldProblem] = []

    def error(self, path: Path, message: str, category: Category = LIMIT) -> None:
        """Report an error in words of one's own."""
        self.problems.append(FieldProblem(render_path(path), message, "error", category))

    def warning(self, path: Path, message: str) -> None:
        """Something accepted that hardly does what was meant."""
        self.problems.append(FieldProblem(render_path(path), message, "warning", LIMIT))

    def required(self, path: Path, detail: str = "", category: Category = LIMIT) -> None:
        """Report a field without a value."""
        self.error(path, f"Required value: {detail}" if detail else "Required value", category)

    def invalid(self, path: Path, value: Any, detail: str, category: Category = LIMIT) -> None:
        """Report a value that breaks a rule."""
        self.error(path, f"Invalid value: {self._show(value)}: {detail}", category)

    def each_invalid(self, path: Path, value: Any, details: Iterable[str], category: Category = LIMIT) -> None:
        """Report a value that breaks several rules, one error each."""
        for detail in details:
            self.invalid(path, value, detail, category)

    def duplicate(self, path: Path, value: Any, category: Category = LIMIT) -> None:
        """Report the second of two equal entries."""
        self.error(path, f"Duplicate value: {self._show(value)}", category)

    def too_many(self, path: Path, actual: int, limit: int) -> None:
        """Report a list above its limit."""
        self.error(path, f"Too many: {actual}: must have at most {limit} items")

    def too_long(self, path: Path, limit: int) -> None:
        """Report a string above its limit, in bytes."""
        self.error(path, f"Too long: may not be more than {limit} bytes")

    def unsupported(self, path: Path, value: str, supported: Iterable[str], category: Category = LIMIT) -> None:
        """Report a value outside an enumeration."""
        listed = ", ".join(quote(name) for name in sorted(supported))
        self.error(path, f"Unsupported value: {quote(value)}: supported values: {listed}", category)

    def check_choice(self, path: Path, text: str, known: Collection[str], category: Category = LIMIT) -> bool:
        """Check a required word of an enumeration; says whether it is one."""
        if not text:
            self.required(path, category=category)
        elif text not in known:
            self.unsupported(path, text, known, category)
        return text in known

    def forbidden(self, path: Path, detail: str, category: Category = LIMIT) -> None:
        """Report a field that may not be set here."""
        self.error(path, f"Forbidden: {detail}" if detail else "Forbidden", category)

    def nested(self, path: Path, problems: Iterable[FieldProblem]) -> None:
        """Report problems whose paths begin at ``path``."""
        start = render_path(path)
        self.problems += (replace(problem, path=f"{start}{problem.path}") for problem in problems)

    def at_most(self, path: Path, items: Any, limit: int) -> None:
        """Report a collection of more than ``limit`` items."""
        if items is not None and len(items) > limit:
            self.too_many(path, len(items), limit)

    def unique(self, path: Path, keys: Iterable[str], suffix: Path = (), category: Category = LIMIT) -> None:
        """Report every key seen before, at ``path[i]`` followed by ``suffix``."""
        keys = list(keys)
        if len(set(keys)) == len(keys):
            return
        seen: set[str] = set()
        for index, key in enumerate(keys):
            if key in seen:
                self.duplicate((*path, index, *suffix), key, category)
            seen.add(key)

    def check_label(self, path: Path, text: str, category: Category = LIMIT) -> None:
        """Check a required DNS-1123 label."""
        if not text:
            self.required(path, category=category)
        elif complaints := object_meta.label_complaints(text):
            self.each_invalid(path, text, complaints, category)

    def check_label_key(self, path: Path, text: str) -> None:
        """Check the key of a label, taint or condition."""
        self.each_invalid(path, text, object_meta.label_key_complaints(text))

    def check_label_value(self, path: Path, text: str) -> None:
        """Check the value of a label or taint."""
        self.each_invalid(path, text, object_meta.label_value_complaints(text))

    def check_subdomain(self, path: Path, text: str) -> None:
        """Check a required DNS-1123 subdomain."""
        if not text:
            self.required(path)
        elif complaints := object_meta.subdomain_complaints(text):
            self.each_invalid(path, text, complaints)

    def check_driver(self, path: Path, text: str) -> None:
        """Check a required driver name (63 bytes)."""
        if text:
            self._check_domain(path, text)
        else:
            self.required(path)

    def check_pool(self, path: Path, text: str) -> None:
        """Check a required pool name: subdomains joined by ``/``, 253 bytes in all."""
        if not text:
            self.required(path)
            return
        if object_meta.byte_length(text) > object_meta.SUBDOMAIN_MAX:
            self.too_long(path, object_meta.SUBDOMAIN_MAX)
        for part in text.split("/"):
            self.each_invalid(path, part, object_meta.subdomain_complaints(part))

    def _check_domain(self, path: Path, text: str) -> None:
        if object_meta.byte_length(text) > object_meta.DOMAIN_MAX:
            self.too_long(path, object_meta.DOMAIN_MAX)
        self.each_invalid(path, text, object_meta.driver_complaints(text))

    def check_qualified(self, path: Path, text: str) -> None:
        """``[domain/]identifier`` (ATTR-1)."""
        if not text:
            self.required(path)
            return
        parts = text.split("/")
        if len(parts) > 2:
            self.invalid(path, text, "must be either an identifier or a domain and an identifier separated by '/'")
            return
        for domain in parts[:-1]:
            if domain:
                self._check_domain(path, domain)
            else:
                self.invalid(path, text, "the domain must not be empty")
        if parts[-1]:
            if object_meta.byte_length(parts[-1]) > object_meta.IDENTIFIER_MAX:
                self.too_long(path, object_meta.IDENTIFIER_MAX)
            self.each_invalid(path, parts[-1], object_meta.identifier_complaints(parts[-1]))
        else:
            self.invalid(path, text, "the name must not be empty")

    def check_fully_qualified(self, path: Path, text: str) -> None:
        """``domain/identifier``, as constraints need it."""
        if text and "/" not in text:
            self.invalid(path, text, "must include a domain")
        self.check_qualified(path, text)

    def check_quantity(self, path: Path, text: QuantityText) -> Quantity | None:
        """Read a quantity; None and a report where the API server could not even read it, which is never lifted."""
        try:
            return Quantity.parse(text)
        except ValueError as error:
            self.invalid(path, text, str(error), STRUCTURE)
            return None

    def check_metadata(
        self, meta: object_meta.ObjectMeta, namespaced: bool, name_rule: NameRule = object_meta.subdomain_complaints
    ) -> None:
        """Check the metadata of an object; ``name_rule`` is the kind's own rule for its name."""
        path: Path = ("metadata",)
        # What nothing can name, nothing can allocate: a missing name is never lifted.
        if not meta.name and not meta.generate_name:
            self.required((*path, "name"), "name or generateName is required", STRUCTURE)
        if meta.name and (complaints := name_rule(meta.name)):
            self.each_invalid((*path, "name"), meta.name, complaints)
        if meta.generate_name and (complaints := name_rule(f"{meta.generate_name.removesuffix('-')}x")):
            self.each_invalid((*path, "generateName"), meta.generate_name, complaints)
        if meta.namespace and not namespaced:
            self.warning((*path, "namespace"), "the kind has no namespace, it is ignored")
        elif meta.namespace and (complaints := object_meta.label_complaints(meta.namespace)):
            self.each_invalid((*path, "namespace"), meta.namespace, complaints)
        self.check_labels(path, meta)

    def check_labels(self, path: Path, meta: object_meta.ObjectMeta) -> None:
        """Labels and annotations, as objects and templates carry them."""
        if meta.labels:
            self.check_label_map((*path, "labels"), meta.labels)
        if not (annotations := meta.annotations):
            return
        path = (*path, "annotations")
        for key in annotations:
            self.each_invalid(path, key, object_meta.label_key_complaints(key.lower()))
        if (
            sum(object_meta.byte_length(key) + object_meta.byte_length(value) for key, value in annotations.items())
            > ANNOTATIONS_MAX
        ):
            self.too_long(path, ANNOTATIONS_MAX)

    def check_label_map(self, path: Path, labels: dict[str, str]) -> None:
        """Keys and values of labels or of a ``nodeSelector``."""
        for key, value in labels.items():
            if _label_is_fine(key, value):
                continue
            self.each_invalid(path, key, object_meta.label_key_complaints(key))
            self.each_invalid(path, value, object_meta.label_value_complaints(value))


class WholeFindings(Findings):
    """Problems worded as webhooks and programs do, which show every value whole and list choices in their own order."""

    __slots__ = ()
    _show = staticmethod(show_json)

    def joined_invalid(self, path: Path, value: str, details: Iterable[str]) -> None:
        """Report a value that breaks several rules in one error."""
        if text := "; ".join(details):
            self.invalid(path, value, text)

    def not_supported(self, path: Path, value: Any, supported: Iterable[str]) -> None:
        """Report a value that is none of the choices."""
        listed = ", ".join(map(show_json, supported))
        self.error(path, f"Unsupported value: {show_json(value)}: supported values: {listed}")


# Typed, for True is no quantity but equals 1.
@lru_cache(maxsize=16384, typed=True)
def parse_nano(text: QuantityText | None) -> int | None:
    """Read a quantity in units of 10^-9; None if it is malformed, or if there is none."""
    try:
        return None if text is None else Quantity.parse(text).nano
    except ValueError:
        return None


@lru_cache(maxsize=16384)
def _label_is_fine(key: str, value: str) -> bool:
    return not object_meta.label_key_complaints(key) and not object_meta.label_value_complaints(value)
