"""Each difference that docs/background/upstream-differences.md lists exists, and equal behaviour is equal."""

import pytest
from support.differential.listed import listed
from support.differential.members import compare
from support.differential.shrinking import is_valid

from drasat.models.results.common import Status

ENDINGS = {"Allocated": Status.ALLOCATED, "Unallocatable": Status.UNALLOCATABLE, "Error": Status.ERROR}
REPEATED = listed("Repeated")
PAGE = """
## Differences

### one-that-has-gone

```yaml
{manifests}
```

## Repeated
"""


def gone(entries, real):
    """Names of listed differences that are none any more."""
    return [entry.name for entry in entries if not compare(entry.objects, entry.gates, real).differences]


def test_listed_differences_are_still_there(real):
    assert gone(listed("Differences"), real) == []


def test_a_difference_that_has_gone_is_noticed(real):
    import json

    page = PAGE.replace("{manifests}", json.dumps(REPEATED[0].objects))
    assert gone(listed("Differences", page), real) == ["one-that-has-gone"]


@pytest.mark.parametrize("entry", REPEATED, ids=[entry.name for entry in REPEATED])
def test_what_is_repeated_is_the_same_and_as_told(real, entry):
    assert is_valid(entry.objects, entry.gates)
    found = compare(entry.objects, entry.gates, real)
    assert found.differences == []
    assert list(found.endings) == [ENDINGS[entry.outcome]]


def test_the_page_names_what_it_repeats():
    names = [entry.name for entry in REPEATED]
    assert len(names) == len(set(names)) == 5
    assert all(entry.outcome for entry in REPEATED)
