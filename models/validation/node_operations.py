"""``skipNodeOperations`` of slices and of allocation results."""

from .findings import Findings, Path

_PREPARE = "NodePrepareResources"
_UNPREPARE = "NodeUnprepareResources"
_EVERYTHING = "*"
_OPERATIONS = (_EVERYTHING, _PREPARE, _UNPREPARE)


def check_node_operations(found: Findings, path: Path, operations: tuple[str, ...] | None) -> None:
    """Check a set of operations; what was not prepared cannot be unprepared, so the first takes the second with it."""
    if not operations:
        return
    found.unique(path, operations)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            found.unsupported((*path, index), operation, _OPERATIONS)
    if _PREPARE in operations and _UNPREPARE not in operations and _EVERYTHING not in operations:
        found.invalid(path, list(operations), f"{_PREPARE} may only be skipped together with {_UNPREPARE}")
