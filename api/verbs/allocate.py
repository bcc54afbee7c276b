"""The public functions: the command line's verbs, with its options as keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..documents import allocated_manifests, allocation_document, validation_document
from ..models.cluster.cluster import Cluster
from ..models.formats.sources import InputSource
from ..models.kubernetes.gates import FeatureGates
from ..results import AllocationInterrupted, AllocationResult, ValidationResult

if TYPE_CHECKING:
    from ..models.kubernetes.extensions import Predicate
    from ..solver.engines.outcome import AllocationOutcome

Progress = Callable[[int, int], None]
AllocationWatch = Callable[[str, int | None, int | None], None]
_DEFAULT_CEL_ERRORS = {"kube-scheduler": "kube"}


def allocate(
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    engine: str = "auto",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    objective: str | Sequence[str] = (),
    cel_road: str = "auto",
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    timings: bool = False,
    progress: Progress | None = None,
    watch: AllocationWatch | None = None,
) -> AllocationResult:
    """Allocate the claims of pods, and loose claims.

    Units are taken in the order read, each sees what earlier ones took, and the whole is verified jointly. Each goes
    to the first node by name that fits it, and gets the devices that the scheduler would choose there (SRCH-4);
    with an objective to the node and devices that are best by its stages.

    Parameters
    ----------
    cluster
        What there is, and what is asked for; see ``load``.
    node
        Only this node; all loose claims are then one pod's claims.
    namespace, selector, claims
        Which pods and claims are asked about, by namespace, by labels as for kubectl, and by ``[namespace/]name``;
        default all that have no allocation.
    engine
        ``auto``, ``cp-sat``, ``backtracking`` or ``kube-scheduler``.
    feature_gates
        Switches by upstream name; what is not named is on.
    cel_errors
        What a CEL run-time error on a candidate does: ``kube`` (the allocation fails when the search gets there),
        ``strict`` (such a device is never used; if nothing fits without it the outcome is ``Error``) or ``skip``.
        Default: ``strict``, but ``kube`` for the engine kube-scheduler, which knows nothing else.
    time_limit
        Seconds for everything; None for no limit. Units not decided in time are ``Unknown``.
    seed
        Decides the share ids.
    objective
        Stages, the most important first: ``preference``, ``soft``, ``fragmentation``, ``compact`` and
        ``fewest-devices-opened``; a string holds several, separated by commas. For the engines ``auto`` and
        ``cp-sat``.
    cel_road
        How the solver takes expressions over ``devices``: ``lower`` (as rows of the model), ``tabulate`` (all
        combinations evaluated beforehand), ``lazy`` (solutions judged one by one), or ``auto``, the first that can be.
    constraints
        Constraints for every claim asked about, beside its own: mappings as in the annotation
        ``drasat.dev/constraints``, and ``Predicate`` objects, Python functions over the chosen devices.
    timings
        Put wall times into the document.
    progress
        Called with the number of units done and of all units.
    watch
        Called about every second while the solver is at one stage, with its name, the best value and the bound so far,
        None for none yet.

    Raises
    ------
    ValueError
        One line, for an unknown engine, policy, gate, claim or stage, a bad selector, or an objective that the
        engine does not know.
    AllocationInterrupted
        For a KeyboardInterrupt during the search; ``result`` holds what was decided by then.

    """
    from ..solver.allocate.allocate import allocate as solve
    from ..solver.engines.outcome import SearchInterrupted

    try:
        found = solve(
            cluster,
            node=node,
            namespace=namespace,
            selector=selector,
            claims=claims,
            engine=engine,
            feature_gates=feature_gates,
            cel_errors=cel_errors or _DEFAULT_CEL_ERRORS.get(engine, "strict"),
            time_limit=time_limit,
            seed=seed,
            objective=objective,
            cel_encoding=cel_road,
            constraints=constraints,
            progress=progress,
            watch=watch,
        )
    except SearchInterrupted as interrupted:
        raise AllocationInterrupted(_allocation_result(interrupted.answer, timings)) from None
    return _allocation_result(found, timings)


def _allocation_result(found: AllocationOutcome, timings: bool) -> AllocationResult:
    return AllocationResult(allocation_document(found, timings=timings), allocated_manifests(found))


def validate(
    *sources: InputSource,
    recursive: bool = False,
    skip_validation: bool = False,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
) -> ValidationResult:
    """Say what the API server, or drasat, would refuse or warn about; nothing in the input raises.

    Parameters
    ----------
    sources
        As for ``load``.
    recursive
        Read folders and the folders below them.
    skip_validation
        Leave out what ``load(skip_validation=True)`` accepts.
    feature_gates
        Switches by upstream name; fields of a feature that is off are warned about.

    """
    from ..solver.allocate.validate import validate as check

    gates = (
        feature_gates if isinstance(feature_gates, FeatureGates) else FeatureGates.all_on().with_(feature_gates or {})
    )
    problems = check(sources, gates, recursive=recursive, skip_validation=skip_validation)
    return ValidationResult(validation_document(problems), problems)
