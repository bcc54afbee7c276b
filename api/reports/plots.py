"""The pictures of a result: which ones a document has, and the file that one is saved to.

The file name is checked before anything is computed, and the file appears when it is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ..models.manifests.writer import check_output_file, write_whole

if TYPE_CHECKING:
    import altair

    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.claims import AllocationResult as ClaimAllocation
    from ..models.kubernetes.meta import DeviceId
    from ..models.results.explanation import ExplanationDocument
    from ..models.results.inventory import InventoryDocument, TopologyDocument
    from ..models.results.plan import ShadowPrice, StageProgress
    from ..solver.compare.figures import MoreUnits
    from .mosaic import DeviceHold

PLOT_FORMATS = (".png", ".svg")
Holds: TypeAlias = "Mapping[DeviceId, Sequence[DeviceHold]]"
MadeAllocation: TypeAlias = "tuple[str, str, ClaimAllocation]"
FragmentationCurve: TypeAlias = Sequence[tuple[int, int, float, float]]


@dataclass(frozen=True)
class PlotSource:
    """What pictures of a result are drawn from: its document, and what the document does not hold.

    ``cluster`` is the input, with nodes that are bought. ``made`` are the allocations of each answer by its label, each
    with its owner and its claim. ``curves`` counts the fragmentation while units are placed, by label. ``room`` is what
    still fits beside a plan. ``explanation`` explains what an allocation or a plan leaves out. ``shadow_prices`` are
    those of a plan that may buy nodes.
    """

    document: Struct
    cluster: Cluster | None = None
    progress: Sequence[StageProgress] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    made: Callable[[], Mapping[str, Iterable[MadeAllocation]]] = dict
    curves: Callable[[], Mapping[str, FragmentationCurve]] = dict
    room: Callable[[], Sequence[MoreUnits]] = tuple
    explanation: Callable[[], ExplanationDocument | None] = lambda: None
    shadow_prices: Sequence[ShadowPrice] = ()

    def known_cluster(self) -> Cluster:
        """The input. Raises ``ValueError`` for a result that was made without."""
        if self.cluster is None:
            raise ValueError("this result does not know its cluster, so that there is no such picture")
        return self.cluster

    def inventory(self) -> InventoryDocument:
        """All devices of the input with what holds them, as ``show`` lists them."""
        from ..models.results.inventory import InventoryDocument
        from ..solver.allocate.inventory import InventorySelection, take_inventory

        if isinstance(self.document, InventoryDocument):
            return self.document
        gates: Mapping[str, bool] | None = getattr(self.document, "feature_gates", None)
        return take_inventory(self.known_cluster(), InventorySelection(), gates)

    def topology(self) -> TopologyDocument:
        """Devices in their places, those that the answer takes as chosen."""
        from ..models.results.inventory import TopologyDocument
        from ..solver.allocate.topology import topology

        if isinstance(self.document, TopologyDocument):
            return self.document
        results = (one for made in self.made().values() for _, _, made_ in made for one in made_.devices.results or ())
        chosen = [(one.driver, one.pool, one.device) for one in results if not one.admin_access]
        gates: Mapping[str, bool] | None = getattr(self.document, "feature_gates", None)
        return topology(self.known_cluster(), chosen=chosen, feature_gates=gates).document()


class Plots:
    """The pictures of a result, as Altair charts, which notebooks show.

    Called without a name it draws what the result is about. With a path every picture is also saved, as ``.png`` or
    ``.svg``. All raise ``ValueError``, one line: for a picture that the result does not have, for nothing or too much
    to draw, for another kind of file, or if the extra ``report`` is not installed.
    """

    def __init__(self, source: PlotSource) -> None:
        self._source = source

    @property
    def names(self) -> tuple[str, ...]:
        """The pictures that this kind of result has, the natural one first."""
        return tuple(_PICTURES.get(self._source.document.__class__.__name__, {}))

    def __call__(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """The natural picture of the result."""
        if not self.names:
            raise ValueError("this kind of result has no picture")
        return self._drawn(self.names[0], path)

    def mosaic(self, path: str | Path | None = None, *, by: str | None = None) -> altair.TopLevelMixin:
        """Nodes with a cell for each device, coloured by owner; ``by`` is the node label that groups nodes."""
        return self._drawn("mosaic", path, by=by)

    def bound(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """Value against bound of each stage, over time for a plan."""
        return self._drawn("bound", path)

    def fragmentation(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """The part of the devices that is free and of no use for the queue, while units are placed."""
        return self._drawn("fragmentation", path)

    def topology(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """Devices in their places, with the largest free shape."""
        return self._drawn("topology", path)

    def capacity(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """How many more copies fit on each kind of node, or in each LocalQueue."""
        return self._drawn("capacity", path)

    def cost(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """What the nodes to be bought cost."""
        return self._drawn("cost", path)

    def prices(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """What one more unit costs, and what one more node of a limited template saves."""
        return self._drawn("prices", path)

    def planners(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """How many units each planner or engine places."""
        return self._drawn("planners", path)

    def devices(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """Devices by class and state; of an explanation, what becomes of the devices that a request sees."""
        return self._drawn("devices", path)

    def times(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """The time of each engine against the size of the question."""
        return self._drawn("times", path)

    def quota(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """What queues of Kueue use of their quota, and what they borrow."""
        return self._drawn("quota", path)

    def flows(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """Pods with quota of Kueue, from their queue over their flavor to their node."""
        return self._drawn("flows", path)

    def timeline(self, path: str | Path | None = None) -> altair.TopLevelMixin:
        """How long each check of a workload was in each state."""
        return self._drawn("timeline", path)

    def curves(
        self, path: str | Path | None = None, *, x: str | None = None, figure: str | None = None, by: str | None = None
    ) -> altair.TopLevelMixin:
        """A figure of a study against the setting ``x``, a line for each value of ``by``, in a band over all else."""
        return self._drawn("curves", path, x=x, figure=figure, by=by)

    def heatmap(
        self, path: str | Path | None = None, *, x: str | None = None, y: str | None = None, figure: str | None = None
    ) -> altair.TopLevelMixin:
        """A figure of a study by two settings."""
        return self._drawn("heatmap", path, x=x, y=y, figure=figure)

    def frontier(
        self, path: str | Path | None = None, *, x: str | None = None, y: str | None = None, by: str | None = None
    ) -> altair.TopLevelMixin:
        """Two figures of all variants of a study, and a line of those that no other one beats, for each ``by``."""
        return self._drawn("frontier", path, x=x, y=y, by=by)

    def _drawn(self, name: str, path: str | Path | None, **options: Any) -> altair.TopLevelMixin:
        check_altair()
        if name not in self.names:
            there = f"it has {', '.join(self.names)}" if self.names else "it has none"
            raise ValueError(f"this result has no picture {name!r}: {there}")
        from .charts import styled

        if path is not None:
            check_plot_path(Path(path))
        chart = styled(draw(self._source, name, **options))
        if path is not None:
            save_chart(chart, Path(path))
        return chart


def draw(source: PlotSource, name: str, **options: Any) -> Any:
    """Draw a picture without its looks. Raises ``ValueError``, one line."""
    return _PICTURES[source.document.__class__.__name__][name](source, **options)


def _mosaic(source: PlotSource, by: str | None = None) -> Any:
    """One mosaic, or one beside another where answers are compared: the first sequential one, and the plan."""
    from . import mosaic, mosaic_chart

    cluster, inventory = source.known_cluster(), source.inventory()
    before = mosaic.held_before(inventory, cluster)
    made = source.made()
    if len(made) <= 1:
        holds = mosaic.newly_held(next(iter(made.values()), ()), before)
        return mosaic_chart.mosaic_chart(mosaic_chart.mosaic_tables(inventory, cluster, holds, by=by))
    return mosaic_chart.side_by_side(
        inventory, cluster, {label: mosaic.newly_held(one, before) for label, one in made.items()}
    )


def _bound(source: PlotSource) -> Any:
    from . import charts

    document: Any = source.document
    if hasattr(document, "objective"):
        return charts.progress_chart(source.progress, document.objective)
    return charts.unit_chart(document)


def _fragmentation(source: PlotSource) -> Any:
    from .charts import fragmentation_chart

    curves = source.curves()
    if not any(curves.values()):
        raise ValueError("there is nothing to draw: nothing was placed, or time was up")
    return fragmentation_chart(curves)


def _topology(source: PlotSource) -> Any:
    from .topology_panels import topology_chart

    return topology_chart(source.topology())


def _of_study(name: str) -> Callable[..., Any]:
    """A picture of a study that a function of its module draws."""

    def drawn(source: PlotSource, **options: Any) -> Any:
        return getattr(import_module(".study", __package__), name)(source, **options)

    return drawn


def _prices(source: PlotSource) -> Any:
    from .charts import price_chart

    return price_chart(source.shadow_prices)


def _of_document(name: str, module: str = "charts") -> Callable[[PlotSource], Any]:
    """A picture that a function of a module beside this one draws of the document alone."""

    def drawn(source: PlotSource) -> Any:
        return getattr(import_module(f".{module}", __package__), name)(source.document)

    return drawn


def _engines(source: PlotSource) -> Any:
    from .charts import engines_chart

    document: Any = source.document
    return engines_chart(document, source.seconds)


# By the class of a document, the pictures that it has, the natural one first.
_PICTURES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "AllocationDocument": {"mosaic": _mosaic, "bound": _bound, "topology": _topology},
    "PlanDocument": {
        "mosaic": _mosaic,
        "bound": _bound,
        "fragmentation": _fragmentation,
        "cost": _of_document("cost_chart"),
        "prices": _prices,
        "topology": _topology,
    },
    "ComparisonDocument": {"planners": _engines, "mosaic": _mosaic},
    "PlanComparisonDocument": {
        "planners": _of_document("planners_chart"),
        "fragmentation": _fragmentation,
        "mosaic": _mosaic,
    },
    "SweepDocument": {"times": _of_document("sweep_chart")},
    "CapacityDocument": {"capacity": _of_document("capacity_chart"), "mosaic": _mosaic, "topology": _topology},
    "QueueCapacityDocument": {"capacity": _of_document("queue_capacity_chart", "quota_charts"), "mosaic": _mosaic},
    "ExplanationDocument": {"devices": _of_document("explanation_chart"), "mosaic": _mosaic},
    "InventoryDocument": {"mosaic": _mosaic, "devices": _of_document("class_chart"), "topology": _topology},
    "TopologyDocument": {"topology": _topology},
    "ProvisionDocument": {"timeline": _of_document("timeline_chart")},
    "PurchaseComparisonDocument": {"cost": _of_document("purchases_chart", "karpenter_charts")},
    "OverlayDocument": {"prices": _of_document("overlays_chart", "karpenter_charts")},
    "StudyDocument": {
        "curves": _of_study("curves_chart"),
        "heatmap": _of_study("heatmap_chart"),
        "frontier": _of_study("frontier_chart"),
    },
    "QuotaDocument": {
        "quota": _of_document("quota_chart", "quota_charts"),
        "flows": _of_document("flow_chart", "quota_charts"),
    },
}


def check_plot_path(path: Path) -> None:
    """Refuse what cannot be drawn into, and say what is missing. Raises ``ValueError``, one line."""
    if path.suffix.lower() not in PLOT_FORMATS:
        raise ValueError(f"a picture is a {' or '.join(PLOT_FORMATS)} file, not {str(path)!r}")
    check_output_file(path)
    check_altair()


def check_altair() -> None:
    """Raise ``ValueError``, one line, if what draws pictures is not installed."""
    missing = [name for name in ("altair", "vl_convert", "jinja2") if find_spec(name) is None]
    if missing:
        raise ValueError(f"pictures and reports need {missing[0]}: pip install 'drasat[report]'")


def save_chart(chart: Any, path: Path) -> None:
    """Draw into a file, the same for the same input. Raises ``ValueError``, and ``OSError`` if it cannot be written."""
    import vl_convert

    check_plot_path(path)
    specification = chart.properties(background="white").to_dict(validate=False)
    if path.suffix.lower() == ".svg":
        content = vl_convert.vegalite_to_svg(specification).encode()
    else:
        content = vl_convert.vegalite_to_png(specification, scale=2)
    write_whole(path, lambda part: part.write(content), shared=True)
