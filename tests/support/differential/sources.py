"""The cases: members of all families in turn, rare pairs of features, and wild ones; and the feature gates of each."""

from random import Random

from support.differential.paired import paired
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


WILD, PAIRS = "wild", "pairs"
OTHERS = {WILD: wild, PAIRS: paired}
# One case of each family, some of rare pairs, then as many wild ones as families.
_TURN = (*FAMILIES, *[PAIRS] * 4, *[WILD] * (len(FAMILIES) - 2))
TURN = len(_TURN)


def named(number: int) -> tuple[str, int]:
    """Family and seed of a case."""
    turn, position = divmod(number, TURN)
    family = _TURN[position]
    return family, turn * _TURN.count(family) + position - _TURN.index(family)


def objects_of(family: str, seed: int) -> list[Mapped]:
    return OTHERS[family](seed) if family in OTHERS else member(family, seed)


def gates_of(family: str, seed: int) -> FeatureGates:
    return gates_for(family, seed)
