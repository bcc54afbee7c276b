"""The cases: members of all families in turn, and now and then a wild one; and the feature gates of each."""

from random import Random

from support.differential.wild import wild
from support.families import FAMILIES, member
from support.gates import ALL, INCUBATING, STABLE, without

from drasat.models.kubernetes.gates import GATES, FeatureGates
from drasat.scenarios.objects import Mapped


def gates_for(family: str, seed: int) -> FeatureGates:
    """Choose gates, the same in every run."""
    rng = Random(f"gates/{family}/{seed}")
    return rng.choices(_CHOICES, [5, 1, 1, 3, 1, 1])[0](rng)


def _of_release(rng: Random) -> FeatureGates:
    return FeatureGates.for_version(rng.choice(["1.36", "1.37"]))


def _some_off(rng: Random) -> FeatureGates:
    names = [name for name in GATES if name != "DynamicResourceAllocation"]
    return without(*rng.sample(names, rng.randint(1, 4)))


def _half_off(rng: Random) -> FeatureGates:
    return without(*(name for name in GATES if rng.random() < 0.5))


_CHOICES = (lambda _: ALL, _of_release, lambda _: INCUBATING, _some_off, _half_off, lambda _: STABLE)


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
