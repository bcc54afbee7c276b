"""Makes the builders beside the tests importable, and those of the search's tests."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "solver")]
