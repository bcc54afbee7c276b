"""Results, error texts and costs of the libraries' functions, as cel-go gives them in Kubernetes' environment."""

from operator import itemgetter

import pytest
from support.data import read


def vectors(library):
    """Rows of expression, result and cost; the file names what the rows of each table show."""
    rows = [row for table in read(f"cel/libraries/{library}").values() for row in table]
    return pytest.mark.parametrize("row", rows, ids=itemgetter(0))


@vectors("conversions")
def test_conversions(check, row):
    check(*row)


@vectors("kubernetes")
def test_quantities_and_versions(check, row):
    check(*row)


@vectors("lists")
def test_lists_sets_and_optionals(check, row):
    """Lists and scalars both include elements (CEL-4)."""
    check(*row)


@vectors("networks")
def test_networks_addresses_and_urls(check, row):
    check(*row)


@vectors("regex")
def test_regular_expressions(check, row):
    check(*row)


@vectors("string-format")
def test_string_format(check, row):
    check(*row)


@vectors("strings")
def test_strings(check, row):
    check(*row)


@vectors("times")
def test_times(check, row):
    check(*row)


@vectors("unknown-types")
def test_values_of_types_that_were_not_known_beforehand(check, row):
    """Costs and error texts where values turn out to be of types that cel-go did not know (cel.md 1.5)."""
    check(*row)


@pytest.mark.parametrize("row", read("cel/estimates")["estimates"], ids=itemgetter(0))
def test_estimates_follow_from_declared_sizes(check_estimate, row):
    check_estimate(*row)
