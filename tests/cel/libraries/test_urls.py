from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/urls", "is_url_without_error"), ids=itemgetter(0))
def test_is_url_without_error(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "scheme_is_in_lower_case"), ids=itemgetter(0))
def test_scheme_is_in_lower_case(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "hostname_is_without_brackets_and_port"), ids=itemgetter(0))
def test_hostname_is_without_brackets_and_port(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "host_is_with_port"), ids=itemgetter(0))
def test_host_is_with_port(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "port_is_digits"), ids=itemgetter(0))
def test_port_is_digits(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "path_is_escaped_where_it_must_be"), ids=itemgetter(0))
def test_path_is_escaped_where_it_must_be(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "query_is_grouped_by_key"), ids=itemgetter(0))
def test_query_is_grouped_by_key(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/urls", "url_is_read_as_go_reads_requests"), ids=itemgetter(0))
def test_url_is_read_as_go_reads_requests(check, row):
    check(*row)
