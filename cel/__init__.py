"""The CEL expression language as Kubernetes DRA uses it.

``compile(text, variables={"x": "int"})`` gives a ``Program``, ``Program.evaluate({"x": 1})`` the value of it; every
failure is a ``CelError``. A ``Selector`` is a program over ``device``, for devices that ``DeviceShapes`` has prepared.

=====================  ============================================  ============================================
CEL                    accepted                                      returned
=====================  ============================================  ============================================
null, bool             ``None``, ``bool``                            the same
int                    ``int``                                       ``int``
uint                   ``UInt``                                      ``UInt`` (an ``int``)
double                 ``float``                                     ``float``
string, bytes          ``str``, ``bytes``                            the same
list                   ``list``, ``tuple``                           ``list`` or ``tuple``
map                    any mapping                                   ``CelMap`` (a mapping; ``True`` and ``1`` differ)
timestamp              ``datetime``, ``Timestamp``                   ``Timestamp`` (nanoseconds since 1970)
duration               ``timedelta``, ``Duration``                   ``Duration`` (nanoseconds)
type                   ``TypeValue``                                 ``TypeValue`` (``.name``, e.g. ``"list"``)
optional               ``Optional``, ``NONE``                        ``Optional`` (``.present``, ``.value``)
kubernetes.Quantity    ``models.kubernetes.quantity.Quantity``       the same
kubernetes.Semver      ``models.kubernetes.semver.Version``          the same
device                 ``PreparedDevice``                            ``CelMap``
=====================  ============================================  ============================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .devices import DeviceShapes, PreparedDevice, prepare_device
    from .errors import CelCompileError, CelCostError, CelDeadlineError, CelError, CelRuntimeError
    from .program import Outcome, Program, compile  # noqa: A004
    from .selector import Selector, compile_selector
    from .types import Type
    from .values import NONE, CelMap, Duration, Optional, Timestamp, TypeValue, UInt

_MODULES = {
    "devices": ("DeviceShapes", "PreparedDevice", "prepare_device"),
    "errors": ("CelCompileError", "CelCostError", "CelDeadlineError", "CelError", "CelRuntimeError"),
    "program": ("Outcome", "Program", "compile"),
    "selector": ("Selector", "compile_selector"),
    "types": ("Type",),
    "values": ("NONE", "CelMap", "Duration", "Optional", "Timestamp", "TypeValue", "UInt"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [  # noqa: RUF022 - in the order of the modules
    "compile", "compile_selector",
    "DeviceShapes", "PreparedDevice", "prepare_device",
    "CelCompileError", "CelCostError", "CelDeadlineError", "CelError", "CelRuntimeError",
    "Outcome", "Program", "Selector", "Type",
    "NONE", "CelMap", "Duration", "Optional", "Timestamp", "TypeValue", "UInt",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for; most of drasat's commands evaluate nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
