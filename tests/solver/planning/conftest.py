"""Makes the builders importable: those here, those of the solver's tests and those of the encoders'."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent, HERE.parent.parent / "encoders"):
    sys.path.insert(0, str(folder))
