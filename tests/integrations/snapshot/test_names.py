"""New names: equal ones stay equal, all keep their order, and composed names stay composed."""

from random import Random

import pytest

from drasat.integrations.snapshot.names import PUBLIC_PIECES, KeyedHash, NameTable


def table(names, key=b"key"):
    return NameTable(names, KeyedHash(key))


def random_names(seed, letters="ab01-./zB_", number=2000):
    random = Random(seed)
    return ["".join(random.choice(letters) for _ in range(random.randint(1, 9))) for _ in range(number)]


@pytest.mark.parametrize("seed", range(5))
def test_names_keep_their_order(seed):
    """Without four numbers in a row, which may be an address."""
    names = sorted({name for name in random_names(seed, "ab0-./zB_") if name.count("0") < 4})
    new = table(names)
    found = [new[name] for name in names]
    assert found == sorted(found)
    assert len(set(found)) == len(names)


@pytest.mark.parametrize("seed", range(3))
def test_names_with_public_pieces_keep_their_order(seed):
    random = Random(seed)
    pieces = [*PUBLIC_PIECES, "a", "heae", "headz", "i", "laz", "lb", "leaderz", "mz", "workerz", "zz", "Z", "pr", "s"]
    names = sorted({"-".join(random.choices(pieces, k=random.randint(1, 4))) for _ in range(2000)})
    new = table(names)
    found = [new[name] for name in names]
    assert found == sorted(found)
    assert len(set(found)) == len(names)
    assert new.translate("a-worker-0") == f"{new.translate('a')}-worker-0"


@pytest.mark.parametrize("seed", range(3))
def test_different_names_stay_different(seed):
    names = set(random_names(seed))
    assert len(set(table(names).mapping.values())) == len(names)


def test_the_same_names_and_key_give_the_same_new_names():
    names = ["web", "web-0", "node-a.example.internal"]
    assert table(names).mapping == table(reversed(names)).mapping
    assert table(names).mapping != table(names, b"other").mapping


def test_no_piece_of_letters_is_left():
    new = table(["payments-database", "node7.example.internal", "teamA/billing"]).mapping
    assert not {"payments", "database", "node7", "example", "internal", "teamA", "billing"} & {
        piece for name in new.values() for piece in name.replace(".", "-").replace("/", "-").split("-")
    }


def test_pods_are_still_named_after_their_controller():
    new = table(["web", "web-0", "web-1", "web-10", "web-data-2"])
    assert [new[f"web-{number}"] for number in (0, 1, 10)] == [f"{new['web']}-{number}" for number in (0, 1, 10)]
    assert new["web-data-2"].startswith(f"{new['web']}-")


def test_a_name_that_is_composed_later_is_composed_of_the_new_names():
    new = table(["web-0", "gpu"])
    assert new.translate("web-0-gpu") == f"{new['web-0']}-{new['gpu']}"


@pytest.mark.parametrize("name", ["ip-10-20-30-40", "10.20.30.40", "project-123456789012"])
def test_addresses_and_long_numbers_are_replaced(name):
    new = table([name])[name]
    assert not any(digit.isdigit() for digit in new)


def test_names_that_are_kept_are_kept():
    assert NameTable(["true", "web"], KeyedHash(b"k"), frozenset({"true"}))["true"] == "true"


@pytest.mark.parametrize("pieces", [9, 12, 32])
def test_names_stay_within_the_limit_of_labels(pieces):
    """Names of very many pieces lose their order rather than become invalid."""
    long = "-".join("a" * (64 // pieces - 1) for _ in range(pieces))
    names = [long, *(f"node{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(600))]
    assert len(long) <= 63
    assert len(table(names)[long]) <= 63


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        table(["web"])["database"]


def test_stand_ins_depend_on_text_and_key():
    one, other = KeyedHash(b"one"), KeyedHash(b"other")
    for make in (KeyedHash.opaque, KeyedHash.uuid):
        assert make(one, "a") == make(one, "a")
        assert len({make(one, "a"), make(one, "b"), make(other, "a")}) == 3
    assert one.opaque("") == ""
