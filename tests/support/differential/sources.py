"""The cases: members of all families in turn, and now and then a wild one."""

from support.differential.gate_sets import gates_for
from support.differential.wild_asks import wild

from drasat.models.gates import FeatureGates
from drasat.scenarios.families import FAMILIES, member
from drasat.scenarios.objects import Mapped

WILD = "wild"
# One case of each family, then as many wild ones.
_TURN = (*FAMILIES, *[WILD] * len(FAMILIES))


def named(number: int) -> tuple[str, int]:
    """Family and seed of a case."""
    turn, position = divmod(number, len(_TURN))
    family = _TURN[position]
    return (family, turn) if family != WILD else (WILD, turn * len(FAMILIES) + position - len(FAMILIES))


def objects_of(family: str, seed: int) -> list[Mapped]:
    return wild(seed) if family == WILD else member(family, seed)


def gates_of(family: str, seed: int) -> FeatureGates:
    return gates_for(family, seed)
