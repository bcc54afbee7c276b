"""What each part of the solver is worth: ``ablations.py [cel] [lowering] [pricing] [heuristics] [--quick]``.

A part is switched off by substituting it in the module that uses it, and all variants of a question are measured in
turns in one process. Seconds are CPU time, the median of all turns; the last column is that of the variant, divided by
that with everything. ``--quick``: fewer turns, and small questions only. ``--only TEXT``: the questions whose names
have it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from ablating import CHOSEN
from ablating_cel import cel, lowering
from ablating_plans import heuristics, pricing
from tables import machine

PROGRAMS: dict[str, Callable[[bool, str], None]] = {
    "cel": cel,
    "lowering": lowering,
    "pricing": pricing,
    "heuristics": heuristics,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--quick", action="store_true", help="fewer turns, small questions")
    parser.add_argument("--only", default="", help="part of the names of questions")
    parser.add_argument("--part", action="append", help="names of the parts that are switched off; default: all")
    options = parser.parse_args(arguments)
    print(machine())
    CHOSEN.extend(options.part or ())
    for name in options.programs or PROGRAMS:
        PROGRAMS[name](options.quick, options.only)


if __name__ == "__main__":
    main()
