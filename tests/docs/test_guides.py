"""The guides list what there is: options, ids, names and numbers are those of the program."""

import re
from typing import get_args

import pytest
import yaml
from support.pages import blocks, guide, rows, sessions
from support.rules import FAMILIES, named

import drasat as package
from drasat.cli.exits import Exit
from drasat.encoders import cel_devices
from drasat.models.selection import NODE_FILTERS
from drasat.models.topologies import SHAPES
from drasat.models.topology_asks import ASKED_SHAPES
from drasat.plan_documents import PlanVerdict
from drasat.plans import PlanResult
from drasat.problem.filters import FILTERS
from drasat.reports.plan_comparison import HEADERS
from drasat.solver import judging
from drasat.solver.engines import CEL_ROADS
from drasat.solver.explaining.conflict import _RANK
from drasat.solver.explaining.explainer import MOST_CLASSES
from drasat.solver.explaining.offer import COSTS
from drasat.solver.explaining.relaxing import ENOUGH, MOST
from drasat.solver.explaining.trials import TRIES
from drasat.solver.planners import PLANNERS
from drasat.solver.planning.posing.goals import NAMES
from drasat.solver.planning.rivals.orders import ORDERS

NUMBERS = {3: "three", 5: "five"}


def firsts(page, head):
    """The first cells of a table."""
    return [row[0] for row in rows(guide(page), head)]


def quoted(cells):
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


class TestExpressions:
    PAGE = guide("cel-constraints")

    def test_every_rule_is_there(self):
        assert named(self.PAGE) >= {f"CELC-{number}" for number in range(1, FAMILIES["CELC"] + 1)}

    def test_encodings_are_those_there_are(self):
        """CELC-9."""
        known = ["table" if name == "tabulate" else name for name in CEL_ROADS]
        assert ["auto", *quoted(firsts("cel-constraints", "encoding"))] == known

    @pytest.mark.parametrize(
        ("words", "number"),
        [
            (r"up to ([\d,]+) vectors", cel_devices.MOST_VECTORS),
            (r"refused above ([\d,]+) vectors", cel_devices.MOST_TABULATED),
            (r"After ([\d,]+) rounds", judging.PATIENCE),
            (r"ends after ([\d,]+) rounds", judging.MOST_ROUNDS),
        ],
    )
    def test_numbers_are_those_of_the_modules(self, words, number):
        """CELC-9, CELC-10."""
        assert int(re.search(words, self.PAGE).group(1).replace(",", "")) == number

    def test_the_claim_shown_is_valid(self):
        spec = yaml.safe_load(blocks(self.PAGE, "yaml")[0])
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, **spec}
        assert [one for one in package.validate(claim).problems if one.severity == "error"] == []


class TestCompare:
    PAGE = guide("compare")

    def test_every_planner_and_order_is_there(self):
        assert tuple(quoted(firsts("compare", "planner"))) == PLANNERS
        assert [order for order in ORDERS if f"`{order}`" not in self.PAGE] == []

    def test_columns_are_those_of_the_table(self):
        (session,) = (one for one in sessions("docs/guides/compare.md") if "--plan" in one.command)
        head = re.split(r"\s{2,}", session.shown.splitlines()[0])
        assert head == [name.upper() for name in HEADERS]


class TestExplain:
    PAGE = guide("explain")

    def test_every_reason_is_listed(self):
        filters = {filter_.id for filter_ in FILTERS}
        known = {*_RANK, *filters, *(id_ for id_, _ in NODE_FILTERS), "allocatedClaim"}
        assert set(quoted(firsts("explain", "id"))) == known

    @pytest.mark.parametrize("id_", COSTS)
    def test_every_cost_is_listed(self, id_):
        (row,) = [row for row in rows(self.PAGE, "change") if f"`{id_}`" in row[0]]
        assert row[1].split()[0] == str(COSTS[id_])

    def test_limits_are_those_of_the_program(self):
        assert f"The largest {MOST_CLASSES} classes" in self.PAGE
        assert f"at most {TRIES} attempts" in self.PAGE
        assert f"at most {NUMBERS[MOST]} are reported" in self.PAGE
        assert f"fewer than {NUMBERS[ENOUGH]} help" in self.PAGE


class TestPlan:
    def test_every_stage_is_listed(self):
        assert {name.partition("=")[0] for name in quoted(firsts("plan", "stage"))} == set(NAMES)

    def test_every_outcome_is_listed(self):
        assert set(quoted(firsts("plan", "outcome"))) == set(get_args(PlanVerdict))

    @pytest.mark.parametrize("page", ["plan", "capacity"])
    def test_every_exit_code_is_listed(self, page):
        assert {int(code) for code in firsts(page, "code")} == set(Exit)

    def test_properties_that_are_named_exist(self):
        (shown,) = blocks(guide("plan"), "python")
        assert all(hasattr(PlanResult, name) for name in re.findall(r"result\.(\w+)", shown))


class TestTopology:
    PAGE = guide("topology")

    def test_shapes_are_those_there_are(self):
        """TOPO-1, TOPO-2."""
        assert firsts("topology", "shape") == list(SHAPES)
        assert quoted(row[0].partition(" with ")[0] for row in rows(self.PAGE, "`shape`")) == list(ASKED_SHAPES)
