"""``drasat compare --plan``: sequential schedulers and ``plan`` side by side on one queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, printing
from .exits import Exit, UsageError, asked, complain, write, write_lines

if TYPE_CHECKING:
    from ..models.cluster import Cluster
    from ..plan_comparing import PlanComparisonResult

Plan = Annotated[bool, typer.Option("--plan", help="Compare planners of the whole queue instead of engines.")]
Planners = Annotated[
    str | None,
    typer.Option(
        "--planners",
        metavar="A,B",
        help="With --plan: first-fit, best-fit, fgd, kube-scheduler, plan. [default: all; kube-scheduler where built]",
    ),
]
Orders = Annotated[
    str | None,
    typer.Option(
        "--orders",
        metavar="A,B",
        help="With --plan: in which order units arrive, given, random (by --seed) or priority. [default: all]",
    ),
]
Objective = Annotated[
    str | None, typer.Option("--objective", metavar="A,B", help="With --plan: the stages of plan, as for drasat plan.")
]
Gap = Annotated[
    str | None, typer.Option("--gap", metavar="PART", help="With --plan: as for drasat plan. [default: 0.1%]")
]


@dataclass(frozen=True, slots=True)
class Wishes:
    """Options that make sense with ``--plan`` alone; None: not given."""

    planners: str | None
    orders: str | None
    objective: str | None
    gap: str | None

    def check(self, plan: bool) -> None:
        """Raise ``UsageError`` if one is given without ``--plan``."""
        if not plan and any(one is not None for one in (self.planners, self.orders, self.objective, self.gap)):
            raise UsageError("--planners, --orders, --objective and --gap need --plan")

    def arguments(self) -> dict[str, Any]:
        """What they say, as arguments of ``compare_plans``; what is not said is left out."""
        said = {
            "planners": self.planners and _names(self.planners),
            "orders": self.orders and _names(self.orders),
            "objective": self.objective,
            "gap": None if self.gap is None else options.part(self.gap),
        }
        return {name: value for name, value in said.items() if value is not None}


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def run(cluster: Cluster, wishes: Wishes, common: dict[str, Any], output: str) -> Exit:
    """Ask, print, and say how it went. Raises ``UsageError``."""
    from ..plan_comparing import compare_plans

    result = asked(partial(compare_plans, cluster, **wishes.arguments(), **common))
    complain(*_doubts(cluster, result))
    _PRINT[output](result)
    if result.document.beaten:
        return Exit.NO
    return Exit.DONE if result.document.decided else Exit.UNDECIDED


def _doubts(cluster: Cluster, result: PlanComparisonResult) -> list[str]:
    """What no planner takes notice of, and what some leave aside."""
    from ..models.running_pods import room_warnings
    from ..models.unhonoured import unhonoured

    notices = (notice for one in result.document.planners for notice in one.notices)
    found = [f"warning: {line}" for line in dict.fromkeys((*unhonoured(cluster), *room_warnings(cluster), *notices))]
    if not result.document.asked:
        found.append("warning: nothing to plan: no pod, controller or claim that was asked about waits")
    return found


def _table(result: PlanComparisonResult) -> None:
    from ..reports import plan_comparison, tables

    write(tables.table(plan_comparison.HEADERS, list(plan_comparison.rows(result.document, result.seconds))))
    write_lines([plan_comparison.summary(result.document)])


_PRINT: dict[str, Callable[[PlanComparisonResult], None]] = {
    "table": _table,
    "wide": _table,
    "json": printing.json,
    "yaml": printing.yaml,
}
