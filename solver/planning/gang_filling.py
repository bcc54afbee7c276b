"""Gangs first: those that the relaxation takes whole are chosen, and nodes are filled with nothing but their members.

With many different gangs, columns that are fixed one by one have members of nearly all of them, and few come whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import floor

from .duals import Pricing, duals_of
from .filling import fill
from .generation import Generator
from .instance import Column, Instance, Stage
from .master import WHOLE, Relaxation


def fill_for_gangs(
    generator: Generator, stage: Stage, relaxation: Relaxation, deadline: float | None
) -> Iterator[tuple[Column, int]]:
    """Fill nodes at the duals for whole gangs of a relaxation, and for single units."""
    chosen = _chosen(generator.instance, relaxation)
    # A unit that is worth nothing at the duals is still needed for its gang.
    pricing = Pricing(generator.instance, stage, generator.master.rows, duals_of(relaxation), floor=1)
    yield from fill(generator, pricing.prices, deadline, chosen.most())


def _chosen(instance: Instance, relaxation: Relaxation) -> Instance:
    """The instance with no other gangs than those that the relaxation takes whole."""
    pairs = zip(instance.gangs, relaxation.gangs, strict=True)
    return replace(instance, gangs=tuple(replace(gang, demand=floor(amount + WHOLE)) for gang, amount in pairs))
