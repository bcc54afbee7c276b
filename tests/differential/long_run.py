"""Compare many clusters: ``PYTHONPATH=tests python tests/differential/long_run.py N [FIRST]``.

Prints the first that differs as minimal manifests, and after each 10,000 cases which pairs of features they have met.
"""

import sys
from collections import Counter
from time import monotonic

from support.differential.coverage import BLOCK, PairCoverage, features_of
from support.differential.members import Comparison, compare
from support.differential.shrinking import story
from support.differential.sources import gates_of, named, objects_of

from drasat.models.formats.errors import PeerError
from drasat.peers.clients import KubeScheduler

_EVERY = 500


def main(arguments: list[str]) -> int:
    """Return 0 if nothing differs, 1 if something does, 2 if the comparison cannot run."""
    if not 1 <= len(arguments) <= 2 or not all(argument.isdecimal() for argument in arguments):
        print("usage: long_run.py N [FIRST]", file=sys.stderr)
        return 2
    count, first = int(arguments[0]), int(arguments[1]) if arguments[1:] else 0
    try:
        with KubeScheduler() as peer:
            print(f"{peer.handshake.module} {peer.handshake.version}", file=sys.stderr)
            return run(range(first, first + count), peer)
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2


def run(numbers: range, peer: KubeScheduler) -> int:
    """Compare the cases of these numbers, up to the first that differs."""
    total, started, met = Comparison(), monotonic(), PairCoverage()
    for done, number in enumerate(numbers, 1):
        objects, gates = objects_of(*named(number)), gates_of(*named(number))
        found = compare(objects, gates, peer)
        if found.differences:
            print(story(number, peer))
            return 1
        total.endings += found.endings
        total.variants += found.variants
        met.add(features_of(objects, gates))
        if met.cases == BLOCK:
            print("\n".join(met.table()), flush=True)
            met = PairCoverage()
        if done % _EVERY == 0 or done == len(numbers):
            _progress(f"{done} of {len(numbers)} clusters, {_told(total.endings)}, {monotonic() - started:.0f} s")
    print(f"no difference: {len(numbers)} clusters, {_told(total.endings)}; variants: {_told(total.variants)}")
    return 0


def _progress(text: str) -> None:
    print(text, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def _told(counted: Counter) -> str:
    return ", ".join(sorted(f"{getattr(key, 'value', key)} {count}" for key, count in counted.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
