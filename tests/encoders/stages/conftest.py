"""Makes the builders beside the tests importable, and those of the encoders' and the search's tests."""

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent), str(_HERE.parent.parent / "solver")]
