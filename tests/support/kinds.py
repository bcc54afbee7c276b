"""The kinds that are read, by the names of their models: kinds of two groups may have one name."""

from drasat.models.kubernetes.kinds import KINDS

BY_MODEL = {kind.model.__name__: kind for kind in KINDS.values()}
