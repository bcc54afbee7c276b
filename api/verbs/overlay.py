"""The public function ``overlay`` and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..integrations.karpenter.overlays import evaluate, overlay_document, overlay_manifests
from ..models.cluster.cluster import Cluster
from ..models.kubernetes.gates import FeatureGates, gates_of
from ..models.results import overlay as records
from ..reports import overlay as report
from . import ResultWithManifests

if TYPE_CHECKING:
    import pandas


class OverlayResult(ResultWithManifests[records.OverlayDocument]):
    """The answer of ``overlay``; its manifests are the NodeOverlays with the conditions of Karpenter's controller."""

    @property
    def overlays(self) -> tuple[records.OverlayAnswer, ...]:
        """Overlays in the order of evaluation: heaviest first."""
        return self.document.overlays

    @property
    def types(self) -> tuple[records.OverlaidType, ...]:
        """Instance types of each pool, with effective prices, resources and devices."""
        return self.document.types

    def to_frame(
        self, table: Literal["offerings", "overlays", "resources", "devices"] = "offerings"
    ) -> pandas.DataFrame:
        """One row an offering of a type in a pool; or an overlay, a resource that one set, a driver of a type."""
        columns, rows = report.FRAMES[table]
        return self._frame(rows(self.document), columns)

    def summary(self) -> str:
        """One line: how many overlays count, and how many prices they change."""
        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """Why overlays do not count, and what Karpenter does not say."""
        return report.reasons(self.document)

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        return (self.to_frame("overlays"), self.to_frame())


def overlay(cluster: Cluster, *, feature_gates: FeatureGates | Mapping[str, bool] | None = None) -> OverlayResult:
    """Apply NodeOverlays to the instance types of each NodePool, as Karpenter does.

    Overlays are taken by weight, then by name, both descending. The first one that sets the price of an offering, a
    resource of a type, or the devices of a driver wins. An overlay that meets another of equal weight is dropped.

    Parameters
    ----------
    cluster
        NodePools, instance types and NodeOverlays; see ``load``.
    feature_gates
        Switches by upstream name; what is not named is on. ``NodeOverlayDynamicResources``: overlays may have devices.

    Raises
    ------
    ValueError
        One line, for an unknown gate, an instance type that cannot be read, or if there is no pool or instance type.

    """
    evaluation = evaluate(cluster, gates_of(feature_gates))
    return OverlayResult(overlay_document(evaluation), partial(overlay_manifests, cluster, evaluation))
