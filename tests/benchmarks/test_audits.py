"""The measurements of audits: what is asked and told; how long anything takes is not tested."""

import audits


def test_rows_tell_what_every_answer_of_an_example_rests_on():
    head, *rows = audits.example_rows(["mig-partitions"])
    assert head == audits.EXAMPLE_COLUMNS
    assert [row[1] for row in rows] == ["allocate", "explain", "plan", "capacity"]
    assert {row[1]: row[2:4] for row in rows}["explain"] == ("yes", "audited")
    assert all((row[2] == "yes") == (row[5] == "") for row in rows)
