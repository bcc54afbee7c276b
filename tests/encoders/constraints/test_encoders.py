"""How a model is composed: encoders have names and say what they see, and nothing is left out of the docs."""

from pathlib import Path

import pytest
from support.modelling import question
from support.objects import (
    DRIVER,
    claim,
    device,
    device_class,
    devices,
    distinct,
    draws,
    match,
    node,
    partitions,
    pool,
    want,
)

from drasat.encoders.constraints import ENCODERS
from drasat.encoders.symmetry import no_signature
from drasat.models.cluster.cluster import Cluster
from drasat.solver.allocate.allocate import allocate

DOCS = Path(__file__).parents[3] / "docs" / "guides" / "engines.md"
A = f"{DRIVER}/a"


def test_encoders_have_ids_of_their_own_and_say_what_they_do():
    assert len({one.id for one in ENCODERS}) == len(ENCODERS)
    assert all(one.description for one in ENCODERS)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda one: one.id)
def test_who_tells_devices_apart_says_by_what(encoder):
    assert bool(encoder.sees) == (encoder.sign is not no_signature)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda one: one.id)
def test_the_docs_name_every_encoder(encoder):
    text = DOCS.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert f"`{encoder.id}`" in text
    assert not encoder.sees or any(f"`{encoder.id}`" in row for row in rows)


def seen_by(encoder, *objects, gates=None):
    """Into how many kinds an encoder divides the devices that could be taken."""
    model = question(*objects, gates=gates).model()
    sign = next(one.sign for one in ENCODERS if one.id == encoder)(model.merged)
    taken = [device for lot in model.reduced.classes for device in lot.devices]
    return len({sign(device) for device in taken}) if sign else 1


PLAIN = pool(*devices("a", "b", "c"))
SHAREABLE = pool(device("a", multi=True), device("b", multi=True), device("c"), device("d"))
SLICES = partitions(
    device("a", draws("s", ("x",), m=1)),
    device("b", draws("s", ("x",), m=1)),
    device("c", draws("s", ("y",), m=2)),
    sets={"s": {"m": 9}},
)
GIVING = partitions(
    device("a", draws("s", m=1)), device("b", draws("s", m=1)), device("c", draws("s", m=-1)), sets={"s": {"m": 9}}
)
SIZES = pool(*(device(f"m{size}", capacity={"memory": size}) for size in ("10", "8", "4")))
VALUES = pool(device("a", a=1), device("b", a=1), device("c", a=2), device("d", a=2))
LISTS = pool(device("a", a=(1, 2)), device("b", a=3), device("c", a=3))


@pytest.mark.parametrize(
    ("encoder", "objects", "kinds"),
    [
        ("sharing", (PLAIN, claim(want())), 1),
        ("sharing", (SHAREABLE, claim(want())), 3),
        ("adminAccess", (PLAIN, claim(want())), 1),
        ("adminAccess", (PLAIN, claim(want(admin=True))), 3),
        ("counters", (*SLICES, claim(want())), 2),
        ("counters", (*GIVING, claim(want())), 3),
        ("capacity", (SIZES, claim(want(capacity={"memory": "3"}))), 1),
        ("compatibilityGroups", (*SLICES, claim(want())), 2),
        ("matchAttribute", (VALUES, claim(want())), 1),
        ("matchAttribute", (VALUES, claim(want(), constraints=[match(A)])), 2),
        ("distinctAttribute", (VALUES, claim(want(), constraints=[match(A)])), 1),
        ("distinctAttribute", (VALUES, claim(want(), constraints=[distinct(A)])), 2),
        ("exactCount", (VALUES, claim(want(), constraints=[distinct(A)])), 1),
    ],
)
def test_a_rule_sees_what_it_needs_and_no_more(encoder, objects, kinds):
    assert seen_by(encoder, *objects) == kinds


def test_where_order_decides_every_device_is_seen():
    """CON-9: a list among scalars may only come first."""
    objects = LISTS, claim(want(count=2), constraints=[distinct(A)])
    assert seen_by("distinctAttribute", *objects) == 2
    assert seen_by("distinctAttribute", *objects, gates={"DRAListTypeAttributes": False}) == 3


def test_statistics_count_the_lots_of_the_largest_model():
    """Without a model: the different devices."""
    supply = pool(*(device(f"d{number}", a=number) for number in range(6)))
    pair = claim(want(count=2), constraints=[distinct(A)])
    there = [device_class(), node("n1"), supply]
    dived = allocate(Cluster.of([*there, claim(want())])).statistics
    assert (dived.classes, dived.literals) == (1, 0)
    # One lot of 6 devices and one variable, then one of 5.
    solved = allocate(Cluster.of([*there, claim(want()), claim(want(), name="d")]), engine="cp-sat").statistics
    assert (solved.classes, solved.literals) == (1, 2)
    tied = allocate(Cluster.of([*there, pair, claim(want(), name="d")]), engine="cp-sat").statistics
    assert tied.classes == 6
