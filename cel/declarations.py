"""What an expression may refer to: functions, variables, types by name, objects with fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import types
from .library import Function, Overload
from .types import DYN, Type, list_of, map_of, optional_of, type_of

TYPE_NAMES: Mapping[str, Type] = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "null_type": types.NULL,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "type": Type("type"),
    "optional_type": optional_of(DYN),
    "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "net.IP": types.IP,
    "net.CIDR": types.CIDR,
}
"""The types that have a name in expressions; those of Kubernetes' objects (Quantity, ...) have none."""

OBJECTS: Mapping[Type, Mapping[str, Type] | None] = {
    types.DEVICE: {
        "driver": types.STRING,
        "attributes": map_of(types.STRING, map_of(types.STRING, DYN)),
        "capacity": map_of(types.STRING, map_of(types.STRING, types.QUANTITY)),
        "allowMultipleAllocations": types.BOOL,
    },
    types.QUANTITY: None,
    types.SEMVER: None,
    types.URL: None,
    types.FORMAT: None,
}
"""Fields of object types; None where cel-go knows the type but not what it is made of."""


@dataclass(frozen=True, slots=True)
class Declarations:
    """Functions by name with all their overloads, the types of variables, the fields of objects."""

    functions: Mapping[str, tuple[Overload, ...]]
    variables: Mapping[str, Type]
    fields: Mapping[Type, Mapping[str, Type] | None]
    dotted_functions: frozenset[str]
    """The functions with qualified names, and ``dotted_names`` the variables and types with such."""
    dotted_names: frozenset[str]

    @classmethod
    def of(
        cls,
        functions: Mapping[str, tuple[Overload, ...]],
        variables: Mapping[str, Type],
        fields: Mapping[Type, Mapping[str, Type] | None] = OBJECTS,
    ) -> Declarations:
        """Find the qualified names, and put all together."""
        names = frozenset(name for named in (variables, TYPE_NAMES) for name in named if "." in name)
        return cls(functions, variables, fields, frozenset(name for name in functions if "." in name), names)

    def ident(self, name: str) -> Type | None:
        """The type of a variable or of the name of a type; None where there is none of the name."""
        name = name.removeprefix(".")
        if name in self.variables:
            return self.variables[name]
        named = TYPE_NAMES.get(name)
        return None if named is None else type_of(named)


def by_name(functions: Iterable[Function]) -> dict[str, tuple[Overload, ...]]:
    """The overloads of functions; functions of one name add up."""
    merged: dict[str, tuple[Overload, ...]] = {}
    for function in functions:
        merged[function.name] = merged.get(function.name, ()) + function.overloads
    return merged
