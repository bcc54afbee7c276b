"""Makes the builders beside the tests importable, and those of the models' tests."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent.parent / "models"):
    sys.path.insert(0, str(folder))
