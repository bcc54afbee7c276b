"""A search that would take years, after a claim that takes no time and before another."""

from support.mappings import CLASS, Mapped, claim, pool, wish

DEVICES = 25


def hopeless() -> list[Mapped]:
    """One device more than there are, one request each: every order of devices is tried."""
    middle = claim("hard", *(wish(f"r{number}") for number in range(DEVICES)))
    return [CLASS, pool(DEVICES), claim("easy"), middle, claim("late")]
