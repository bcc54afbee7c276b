"""Function libraries of the Kubernetes CEL environment, one module each (cel.md 1.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from ..library import Function, Overload

# The modules, and the functions that each has overloads of. Where the type of an operand is open, the overloads of
# the first module come first.
_NAMES = {
    "sizes": "size",
    "conversions": "int uint double bool string bytes duration timestamp dyn type",
    "time_parts": "getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds "
    "getMilliseconds",
    "strings": "contains startsWith endsWith charAt indexOf lastIndexOf lowerAscii upperAscii replace split substring "
    "trim join strings.quote",
    "string_format": "format",
    "regex": "matches find findAll",
    "list_folds": "min max sum isSorted indexOf lastIndexOf",
    "lists": "slice flatten sort @sortByAssociatedKeys reverse distinct lists.range",
    "sets": "sets.contains sets.intersects sets.equivalent",
    "optionals": "optional.of optional.none optional.ofNonZeroValue hasValue value or orValue first last "
    "optional.unwrap unwrapOpt",
    "quantities": "quantity isQuantity sign isGreaterThan isLessThan compareTo asApproximateFloat asInteger isInteger "
    "add sub",
    "semvers": "semver isSemver major minor patch isGreaterThan isLessThan compareTo",
    "networks": "ip isIP ip.isCanonical family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast "
    "isGlobalUnicast cidr isCIDR containsIP containsCIDR masked prefixLength string",
    "urls": "url isURL getScheme getHost getHostname getPort getEscapedPath getQuery",
    "formats": "format.dns1123Label format.dns1123Subdomain format.dns1035Label format.qualifiedName "
    "format.dns1123LabelPrefix format.dns1123SubdomainPrefix format.dns1035LabelPrefix format.labelValue format.uri "
    "format.uuid format.byte format.date format.datetime format.named validate",
    "includes": "includes include",
}


def _functions(module: str) -> tuple[Function, ...]:
    found: tuple[Function, ...] = import_module(f".{module}", __name__).FUNCTIONS
    return found


@cache
def all_functions() -> tuple[Function, ...]:
    """Every function but the operators; the modules are loaded at the first call. Functions of one name add up."""
    return tuple(function for module in _NAMES for function in _functions(module))


def _overloads(name: str, modules: tuple[str, ...]) -> tuple[Overload, ...]:
    functions = (function for module in modules for function in _functions(module))
    return tuple(overload for function in functions if function.name == name for overload in function.overloads)


class Offered(Mapping[str, tuple[Overload, ...]]):
    """The overloads of all functions by name, and of ``operators``; modules are loaded when needed.

    Most expressions use few functions or none, and loading all takes longer than they do.
    """

    def __init__(self, operators: Mapping[str, tuple[Overload, ...]], without: frozenset[str] = frozenset()) -> None:
        self._loaded = dict(operators)
        self._modules: dict[str, tuple[str, ...]] = {}
        for module, names in _NAMES.items():
            for name in names.split():
                if name not in without:
                    self._modules[name] = (*self._modules.get(name, ()), module)

    def __getitem__(self, name: str) -> tuple[Overload, ...]:
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = _overloads(name, self._modules[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**self._loaded, **self._modules})

    def __len__(self) -> int:
        return len(self._loaded.keys() | self._modules.keys())
