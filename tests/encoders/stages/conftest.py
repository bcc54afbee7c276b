"""Makes the builders of the encoders' and the search's tests importable."""

import sys
from pathlib import Path

_TESTS = Path(__file__).parent.parent.parent
sys.path[:0] = [str(_TESTS / "encoders"), str(_TESTS / "solver")]
