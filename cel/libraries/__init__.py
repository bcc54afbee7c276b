"""Function libraries of the Kubernetes CEL environment, one module each (cel.md 1.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from ..declarations import Function, Overload

# The tables of each module, and the functions that each has overloads of. Where the type of an operand is open, the
# overloads of the first table come first.
_FUNCTION_NAMES = {
    "standard.SIZE_FUNCTIONS": "size",
    "standard.CONVERSION_FUNCTIONS": "int uint double bool string bytes duration timestamp dyn type",
    "times.TIME_FUNCTIONS": (
        "getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds "
        "getMilliseconds"
    ),
    "strings.STRING_FUNCTIONS": (
        "contains startsWith endsWith charAt indexOf lastIndexOf lowerAscii upperAscii replace split substring "
        "trim join strings.quote"
    ),
    "string_format.STRING_FORMAT_FUNCTIONS": "format",
    "strings.REGEX_FUNCTIONS": "matches find findAll",
    "lists.LIST_FOLD_FUNCTIONS": "min max sum isSorted indexOf lastIndexOf",
    "lists.LIST_FUNCTIONS": "slice flatten sort @sortByAssociatedKeys reverse distinct lists.range",
    "lists.SET_FUNCTIONS": "sets.contains sets.intersects sets.equivalent",
    "standard.OPTIONAL_FUNCTIONS": (
        "optional.of optional.none optional.ofNonZeroValue hasValue value or orValue first last optional.unwrap "
        "unwrapOpt"
    ),
    "kubernetes.QUANTITY_FUNCTIONS": (
        "quantity isQuantity sign isGreaterThan isLessThan compareTo asApproximateFloat asInteger isInteger add sub"
    ),
    "kubernetes.SEMVER_FUNCTIONS": "semver isSemver major minor patch isGreaterThan isLessThan compareTo",
    "networks.NETWORK_FUNCTIONS": (
        "ip isIP ip.isCanonical family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast "
        "isGlobalUnicast cidr isCIDR containsIP containsCIDR masked prefixLength string"
    ),
    "networks.URL_FUNCTIONS": "url isURL getScheme getHost getHostname getPort getEscapedPath getQuery",
    "kubernetes.NAMED_FORMAT_FUNCTIONS": (
        "format.dns1123Label format.dns1123Subdomain format.dns1035Label format.qualifiedName "
        "format.dns1123LabelPrefix format.dns1123SubdomainPrefix format.dns1035LabelPrefix format.labelValue "
        "format.uri format.uuid format.byte format.date format.datetime format.named validate"
    ),
    "lists.INCLUDES_FUNCTIONS": "includes include",
}


def _functions_of_table(table: str) -> tuple[Function, ...]:
    module, _, name = table.partition(".")
    found: tuple[Function, ...] = getattr(import_module(f".{module}", __name__), name)
    return found


@cache
def all_functions() -> tuple[Function, ...]:
    """Every function but the operators; the modules are loaded at the first call. Functions of one name add up."""
    return tuple(function for table in _FUNCTION_NAMES for function in _functions_of_table(table))


def _overloads(name: str, tables: tuple[str, ...]) -> tuple[Overload, ...]:
    functions = (function for table in tables for function in _functions_of_table(table))
    return tuple(overload for function in functions if function.name == name for overload in function.overloads)


class LazyFunctions(Mapping[str, tuple[Overload, ...]]):
    """The overloads of all functions by name, and of ``operators``; modules are loaded when needed.

    Most expressions use few functions or none, and loading all takes longer than they do.
    """

    def __init__(self, operators: Mapping[str, tuple[Overload, ...]], without: frozenset[str] = frozenset()) -> None:
        self._loaded = dict(operators)
        self._tables: dict[str, tuple[str, ...]] = {}
        for table, names in _FUNCTION_NAMES.items():
            for name in names.split():
                if name not in without:
                    self._tables[name] = (*self._tables.get(name, ()), table)

    def __getitem__(self, name: str) -> tuple[Overload, ...]:
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = _overloads(name, self._tables[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**self._loaded, **self._tables})

    def __len__(self) -> int:
        return len(self._loaded.keys() | self._tables.keys())
