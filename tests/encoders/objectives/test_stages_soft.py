"""``soft``: what violated entries weigh, merged or not, and what tells that there is nothing to pay."""

from support.objects import claim, device, either, option, pool, want
from support.soft import apart, near, wishing
from support.staged import asking, came_to, lots

from drasat.encoders.objectives.stages import PREFERENCE, SOFT, default_stages
from drasat.problem.conditions import has_no_penalty, penalty


def roots(text):
    return pool(*(device(f"{root}{number}", root=root) for number, root in enumerate(text)))


def question(text, count, *entries):
    return asking(roots(text), wishing(claim(want(count=count)), *entries))


def members(asked, *names):
    """These devices, all for the first demand."""
    return [(0, asked.names.index(name)) for name in names]


def test_the_value_is_what_violated_entries_weigh():
    """SOFT-1."""
    asked = question("xxy", 2, near(weight=4), apart(weight=3))
    assert came_to(asked, "soft") == came_to(asked, "soft", together=False) == [3]


def test_pairs_are_counted_merged_or_not():
    """SOFT-2."""
    asked = question("xxyyz", 4, near(weight=3, per="Pair"))
    assert came_to(asked, "soft") == came_to(asked, "soft", together=False) == [4 * 3]


def test_equal_requests_are_merged_under_a_soft_entry():
    asked = asking(roots("xxyy"), wishing(claim(want("a"), want("b"), want("c")), near(weight=2, per="Pair")))
    assert came_to(asked, "soft") == came_to(asked, "soft", together=False) == [4]


def test_devices_with_equal_values_are_one_lot():
    assert lots(question("x" * 30 + "y" * 30, 5, near()), "soft") == 2
    assert lots(question("x" * 30 + "y" * 30, 5), "soft") == 1


def test_without_soft_entries_it_is_nothing():
    assert came_to(question("xy", 2), "soft") == [0]
    assert came_to(question("xx", 2, near(weight=None)), "soft") == [0]


def test_alternatives_that_are_not_chosen_cost_nothing():
    """SEM-0."""
    asked = asking(roots("xy"), wishing(claim(either("r", option("two", 2), option("one"))), near("r/two", weight=5)))
    assert came_to(asked, "soft") == [0]
    assert came_to(asked, "preference", "soft") == [0, 5]


def test_an_answer_is_free_if_all_entries_are_kept():
    asked = question("xxy", 2, near(weight=4), near(weight=2, per="Pair"))
    assert has_no_penalty(asked.problem, members(asked, "x0", "x1"))
    assert SOFT.is_free(asked.problem, members(asked, "x0", "x1"))
    assert not SOFT.is_free(asked.problem, members(asked, "x0", "y2"))
    assert has_no_penalty(asked.problem, [])


def test_penalties_of_a_choice():
    asked = question("xxyz", 4, near(weight=4), near(weight=2, per="Pair"), apart(weight=None))
    whole, pairs = asked.problem.soft_relations
    everything = members(asked, "x0", "x1", "y2", "z3")
    assert (penalty(whole, everything), penalty(pairs, everything)) == (4, 2 * 5)
    assert (penalty(whole, everything[:1]), penalty(pairs, everything[:1])) == (0, 0)


def test_they_come_after_preference_unless_there_are_none():
    """SOFT-1, SRCH-4."""
    assert default_stages(question("xy", 2, near()).problem) == (PREFERENCE, SOFT)
    assert default_stages(question("xy", 2, near(weight=None)).problem) == (PREFERENCE,)
