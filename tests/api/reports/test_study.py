"""Tables and pictures of studies."""

import pytest

import drasat
from drasat.models.results.study import StudyDocument, StudyVariant
from drasat.reports.plots import PlotSource, draw
from drasat.reports.study import columns_of, frontier, reasons, table_cells
from drasat.verbs.study import StudyResult


def document(*variants, figures=("placed", "cost")):
    """Variants as pairs of settings and figures."""
    made = tuple(
        StudyVariant(
            name=",".join(f"{key}={value}" for key, value in settings.items()),
            verb="plan",
            settings=settings,
            outcome="Optimal" if own else "Failed",
            figures=own,
            error="" if own else "no such stage",
        )
        for settings, own in variants
    )
    settings = tuple(dict.fromkeys(name for one in made for name in one.settings))
    return StudyDocument(cluster="", settings=settings, figures=figures, variants=made)


GRID = document(
    *(
        ({"scale": scale, "budget": budget, "seed": seed}, {"placed": 10 * scale + budget + seed, "cost": budget})
        for scale in (1, 2)
        for budget in (0, 5)
        for seed in (0, 2)
    )
)


def rows(study, name, dataset, **options):
    chart = draw(PlotSource(study), name, **options).to_dict(validate=False)
    parts = [chart, *chart.get("layer", ())]
    found = next(part["data"] for part in parts if part.get("data", {}).get("name") == dataset)
    return found["values"] if "values" in found else chart["datasets"][dataset]


def test_curves_have_bands_over_seeds():
    found = {(row["x"], row["series"]): row for row in rows(GRID, "curves", "curves", x="scale", by="budget")}
    assert found[2, "5"] == {"x": 2, "series": "5", "mean": 26, "least": 25, "most": 27, "runs": 2}
    assert len(found) == 4


def test_a_heat_map_has_a_cell_for_each_pair():
    found = {(row["x"], row["y"]): row["mean"] for row in rows(GRID, "heatmap", "cells", x="budget", y="scale")}
    assert found == {("0", "1"): 11, ("5", "1"): 16, ("0", "2"): 21, ("5", "2"): 26}


def test_a_frontier_has_what_nothing_beats():
    found = rows(GRID, "frontier", "variants", x="cost", y="placed")
    assert sorted((row["x"], row["y"]) for row in found if row["best"]) == [(0, 22), (5, 27)]
    assert len(found) == 8


def test_a_frontier_for_each_value_of_a_setting():
    found = rows(GRID, "frontier", "variants", x="cost", y="placed", by="scale")
    best = sorted((row["series"], row["x"], row["y"]) for row in found if row["best"])
    assert best == [("1", 0, 12), ("1", 5, 17), ("2", 0, 22), ("2", 5, 27)]


@pytest.mark.parametrize("less_x", [True, False])
@pytest.mark.parametrize("less_y", [True, False])
def test_frontiers_lead_in_the_direction_of_the_better(less_x, less_y):
    """Of two variants with equal figures both are on the line."""
    places = {"a": (0, 1), "b": (1, 0), "c": (0, 2), "d": (1, 3), "e": (2, 2), "f": (2, 0.5), "g": (1, 3)}
    points = [(document(({"name": name}, {})).variants[0], *place) for name, place in places.items()]
    unbeaten = {
        f"name={one}"
        for one, place in places.items()
        if not any(_beats(other, place, less_x, less_y) for other in places.values())
    }
    assert frontier(points, less_x=less_x, less_y=less_y) == unbeaten


def _beats(other, one, less_x, less_y):
    signs = (1 if less_x else -1, 1 if less_y else -1)
    mine = [sign * value for sign, value in zip(signs, one, strict=True)]
    theirs = [sign * value for sign, value in zip(signs, other, strict=True)]
    return theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True))


@pytest.mark.parametrize(
    ("study", "name", "options", "said"),
    [
        (GRID, "curves", {"x": "none"}, "there is no setting 'none', known are: scale, budget"),
        (GRID, "curves", {"figure": "none"}, "there is no figure 'none', known are: placed, cost"),
        (document(({"scale": 1}, {"placed": 1})), "curves", {}, "there is nothing to draw: no setting differs"),
        (document(({"scale": 1}, {"placed": 1}), ({"scale": 2}, {"placed": 2})), "heatmap", {}, "nothing to draw"),
        (document(({"scale": 1}, {})), "frontier", {}, "there is nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(study, name, options, said):
    with pytest.raises(ValueError, match=said):
        draw(PlotSource(study), name, **options)


def test_a_table_leaves_parts_of_answers_out_unless_it_is_wide():
    study = document(({"scale": 1}, {"placed": 1, "value.cost": 2}), figures=("placed", "value.cost"))
    assert table_cells(study, wide=False) == (["scale", "outcome", "placed"], [["1", "Optimal", "1"]])
    assert table_cells(study, wide=True)[0] == ["variant", "scale", "outcome", "placed", "value.cost"]


def test_a_column_of_mixed_values_has_texts():
    study = document(({"gap": 0.5}, {"placed": 1}), ({"gap": "1%"}, {"placed": 2}), ({"gap": None}, {"placed": 3}))
    frame = StudyResult(study, {}).to_frame()
    assert list(frame["gap"].dropna()) == ["0.5", "1%"]
    assert frame["placed"].dtype == "Int64"


def test_a_figure_and_a_setting_of_one_name_have_two_columns():
    study = document(({"bound": 1}, {"bound": 2}), figures=("bound",))
    assert columns_of(study) == ("variant", "bound", "outcome", "bound.", "error")


def test_failures_with_one_reason_are_one_line():
    study = document(({"seed": 0}, {}), ({"seed": 1}, {}), ({"seed": 2}, {"placed": 1}))
    assert list(reasons(study)) == ["seed=0 and 1 other: no such stage"]


def test_pictures_have_the_names_of_their_methods():
    assert drasat.StudyResult(GRID, {}).plot.names == ("curves", "heatmap", "frontier")
