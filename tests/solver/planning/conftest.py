"""Makes the builders importable: those here, and those of the tests of the solver, the models and the encoders."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent.parent
OTHERS = (TESTS / name for name in ("models", "encoders", "properties"))
for folder in (HERE, HERE.parent, HERE.parent / "verification", *OTHERS):
    sys.path.insert(0, str(folder))
