"""The guides list what there is: options, ids, names and numbers are those of the program."""

import re
from typing import get_args

import pytest
import yaml
from support.pages import TEXTS, blocks, guide, rows, sessions
from support.rules import FAMILIES, named

import drasat as package
from drasat.cli.output import Exit
from drasat.encoders.constraints import relations
from drasat.integrations.snapshot.kubectl import PAGE_SIZE
from drasat.integrations.snapshot.snapshot import ESSENTIAL_KINDS
from drasat.models.cluster.node_fit import NODE_FILTERS
from drasat.models.kubernetes.extensions import SHAPES
from drasat.models.kubernetes.kinds import KINDS
from drasat.models.manifests.sources import DEFAULT_INPUT_SIZE
from drasat.models.results.plan import PlanVerdict
from drasat.models.topology.places import REQUESTED_SHAPES
from drasat.models.workload.node_room import ROOM
from drasat.problem.filters import FILTERS
from drasat.reports.comparison import (
    MOVES_COMPARISON_HEADERS,
    PLAN_COMPARISON_HEADERS,
    PREEMPTION_COMPARISON_HEADERS,
    QUOTA_COMPARISON_HEADERS,
)
from drasat.solver.compare.plans import PLANNERS
from drasat.solver.compare.schedulers import ORDERS
from drasat.solver.engines import cp_sat
from drasat.solver.engines.registry import CEL_ENCODINGS
from drasat.solver.explain.changes import CHANGE_COSTS
from drasat.solver.explain.conflict import _DELETION_RANK
from drasat.solver.explain.explainer import MAX_NODE_CLASSES
from drasat.solver.explain.relaxation import ENOUGH_RELAXATIONS, MAX_RELAXATIONS
from drasat.solver.explain.what_if import MAX_TRIALS
from drasat.solver.plan.build.objectives import STAGE_NAMES
from drasat.verbs.plan import PlanResult

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
        assert ["auto", *quoted(firsts("cel-constraints", "encoding"))] == list(CEL_ENCODINGS)

    @pytest.mark.parametrize(
        ("words", "number"),
        [
            (r"up to ([\d,]+) vectors", relations.MOST_AUTO_VECTORS),
            (r"refused above ([\d,]+) vectors", relations.MOST_TABLE_VECTORS),
            (r"After ([\d,]+) rounds", cp_sat.ROUNDS_BEFORE_FORBIDDING_ALL),
            (r"ends after ([\d,]+) rounds", cp_sat.MAX_ROUNDS),
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
        shown = [one.shown for one in sessions("docs/guides/compare.md") if "--plan" in one.command]
        heads = [re.split(r"\s{2,}", text.splitlines()[0]) for text in shown]
        tables = [PLAN_COMPARISON_HEADERS, QUOTA_COMPARISON_HEADERS, MOVES_COMPARISON_HEADERS]
        tables.append(PREEMPTION_COMPARISON_HEADERS)
        assert heads == [[name.upper() for name in headers] for headers in tables]


class TestExplain:
    PAGE = guide("explain")

    def test_every_reason_is_listed(self):
        filters = {filter_.id for filter_ in FILTERS}
        known = {*_DELETION_RANK, *filters, *(id_ for id_, _ in NODE_FILTERS), "allocatedClaim", ROOM}
        assert set(quoted(firsts("explain", "id"))) == known

    @pytest.mark.parametrize("id_", CHANGE_COSTS)
    def test_every_cost_is_listed(self, id_):
        (row,) = [row for row in rows(self.PAGE, "change") if f"`{id_}`" in row[0]]
        assert row[1].split()[0] == str(CHANGE_COSTS[id_])

    def test_limits_are_those_of_the_program(self):
        assert f"The largest {MAX_NODE_CLASSES} classes" in self.PAGE
        assert f"at most {MAX_TRIALS} attempts" in self.PAGE
        assert f"at most {NUMBERS[MAX_RELAXATIONS]} are reported" in self.PAGE
        assert f"fewer than {NUMBERS[ENOUGH_RELAXATIONS]} help" in self.PAGE


class TestPlan:
    def test_every_stage_is_listed(self):
        assert {name.partition("=")[0] for name in quoted(firsts("plan", "stage"))} == set(STAGE_NAMES)

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
        assert quoted(row[0].partition(" with ")[0] for row in rows(self.PAGE, "`shape`")) == list(REQUESTED_SHAPES)


def plural(kind):
    """As kubectl has it."""
    return re.sub("(ss?)$", r"\1e", kind.lower()) + "s"


class TestSnapshot:
    def test_the_pipe_of_the_readme_has_every_kind_of_kubernetes_that_is_stable(self):
        groups = ("", "apps", "batch", "node.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io")
        wanted = [plural(kind.name) for kind in KINDS.values() if kind.group in groups and "v1" in kind.versions]
        (named,) = re.findall(r"^kubectl get (\S+) -A -o json", TEXTS["README.md"], re.MULTILINE)
        assert named.split(",") == wanted

    def test_kinds_without_which_there_is_no_snapshot_are_named(self):
        (row,) = (row for row in rows(guide("snapshot"), "the server") if row[0].startswith("forbids ResourceSlice"))
        assert all(kind in row[0] for kind in ESSENTIAL_KINDS)

    def test_numbers_are_those_of_the_modules(self):
        assert f"each page of {PAGE_SIZE} objects" in " ".join(guide("snapshot").split())
        assert f"({DEFAULT_INPUT_SIZE >> 20}Mi by default)" in guide("snapshot")
