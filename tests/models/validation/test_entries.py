"""Entries of annotations: one subject each, weights, and shapes in topologies (SOFT-1, SOFT-2, TOPO-2)."""

import json

import pytest
from support.validation import assert_problems, problems, rows

from drasat.models.kubernetes.extensions import CONSTRAINTS_ANNOTATION

AT = f"metadata.annotations[{CONSTRAINTS_ANNOTATION}]"


def annotated(*entries, where="metadata"):
    return {f"{where} annotations": {CONSTRAINTS_ANNOTATION: json.dumps(entries)}}


def match(**fields):
    return annotated({"matchAttribute": "a/b", **fields})


ENTRIES = rows("validation/entries", "entries")
TOPOLOGIES = rows("validation/entries", "topologies")


@pytest.mark.parametrize(("edits", "expected"), [*ENTRIES, *TOPOLOGIES])
def test_entries(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), ENTRIES)
def test_entries_of_a_template(edits, expected):
    """The same in the template's own metadata, and in that of the claims to be made."""
    assert_problems(problems("ResourceClaimTemplate", edits), expected)
    moved = {f"spec {path}": value for path, value in edits.items()}
    found = [problem.replace(f"spec.{AT}", AT, 1) for problem in problems("ResourceClaimTemplate", moved)]
    assert_problems(found, expected)


def test_a_template_has_them_in_one_place():
    both = {**match(), "spec metadata annotations": match()["metadata annotations"]}
    assert_problems(
        problems("ResourceClaimTemplate", both),
        (f"structure spec.{AT}: Forbidden: is in metadata.annotations of the template too",),
    )
