from operator import itemgetter

import pytest
from support.data import cases

# expression, least, most


@pytest.mark.parametrize("row", cases("cel/estimates", "estimates"), ids=itemgetter(0))
def test_estimates_follow_from_declared_sizes(check_estimate, row):
    check_estimate(*row)
