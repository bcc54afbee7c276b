"""Run outside the checkout: only ``drasat`` is importable, none of its folders by a generic name."""

import importlib.util
import sys

GENERIC = (
    "api",
    "cel",
    "cli",
    "encoders",
    "integrations",
    "models",
    "peers",
    "problem",
    "reports",
    "scenarios",
    "solver",
)


def leaks() -> list[str]:
    """The generic names that can be imported here."""
    return [name for name in GENERIC if importlib.util.find_spec(name) is not None]


if __name__ == "__main__":
    import drasat.models.kubernetes.slices  # noqa: F401 - the package itself must be there

    found = leaks()
    print("importable by a generic name:", ", ".join(found) or "none")
    sys.exit(bool(found))
