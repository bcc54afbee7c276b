from operator import itemgetter

import pytest

CONTAINS_ALL_OF_THE_OTHER = [
    ("sets.contains(li,[1,2])", "false", 28),
    ("sets.contains(li,lu)", "true", 172),
    ("sets.contains(l,l)", "true", 52),
    ("sets.contains([],[])", "true", 1),
    ("sets.contains([dyn(1),dyn('a')],['a'])", "true", 3),
    ("sets.contains([1,2,3],[1,2])", "true", 7),
    ("sets.contains(d,[1])", "error: no such overload: sets.contains(string, list)", 32),
    ("sets.contains([0u,0u,2u,3u,2u,0u],[2u,3u])", "true", 13),
    ("sets.contains([b'',b'bb',b'a'],[b'a',b'',b''])", "true", 10),
    ("sets.contains([0u,3u,2u,2u,0u,3u],[2u,3u,2u,3u])", "true", 25),
    ("sets.contains([0u,2u,0u,2u,2u],[0u,3u,3u])", "false", 16),
    ("sets.contains([3u,1u,0u,3u],[1u])", "true", 5),
    ('sets.contains(["b","ab","a","b","a"],["ab"])', "true", 6),
    ("sets.contains([0.0,1.5],[-1.5])", "false", 3),
    ("sets.contains([1u,3u],[3u])", "true", 3),
    ("sets.contains([b'bb',b'',b'a',b'',b'a'],[b'',b'bb'])", "true", 11),
    ("sets.contains([],[b'a'])", "false", 1),
    ("sets.contains([-2,3,1],[2])", "false", 4),
    ("sets.contains([-1.5,-0.5,1.5],[1.0])", "false", 4),
    ("sets.contains([0,3],[3,0])", "true", 5),
    ("sets.contains([-2],[2,-2])", "false", 3),
    ("sets.contains([],[true])", "false", 1),
    ("sets.contains([duration('-3s')],[duration('-3s'),duration('3s')])", "false", 3),
    ("sets.contains([2u,0u,2u,0u,0u,2u],[3u,0u])", "false", 13),
    ('sets.contains(["","b"],["a"])', "false", 3),
    ('sets.contains(["a"],["ab"])', "false", 2),
    ("sets.contains([1u,2u,1u,1u,2u],[1u,1u,1u,0u])", "false", 21),
    ("sets.contains([1.5,-1.5,-1.5],[])", "true", 1),
    ("sets.contains([],[b'a',b'bb',b'',b'a'])", "false", 1),
    ("sets.contains([],[b'',b'bb',b'bb',b''])", "false", 1),
    ("sets.contains([b'',b'bb',b'',b'bb',b''],[b'bb',b'bb'])", "true", 11),
]  # fmt: skip


@pytest.mark.parametrize("row", CONTAINS_ALL_OF_THE_OTHER, ids=itemgetter(0))
def test_contains_all_of_the_other(check, row):
    check(*row)


INTERSECTS_WHEN_ONE_IS_SHARED = [
    ("sets.intersects(li,[1,2])", "true", 28),
    ("sets.intersects([],[])", "false", 1),
    ("sets.intersects([false,false,true,true,true,true],[false,false,true,false])", "true", 25),
    ("sets.intersects([],[1,2,-1,0])", "false", 1),
    ('sets.intersects(["ab","ab","b"],["a","ab","b"])', "true", 10),
    ("sets.intersects([-0.5,-1.0],[1.5,-1.0,1.5])", "true", 7),
    ("sets.intersects([-3,-3,-1,-1],[-3,-1])", "true", 9),
    ("sets.intersects([true,true,false,false],[])", "false", 1),
    ("sets.intersects([0,0,-2,3,-1,1],[])", "false", 1),
    ("sets.intersects([0.0,-0.5,-1.0,-1.0,1.5,0.0],[])", "false", 1),
    ("sets.intersects([true,true,true,false,true,true],[false,false,false])", "true", 19),
    ('sets.intersects([],["b","a","a","ab"])', "false", 1),
    ("sets.intersects([0u],[1u,3u])", "false", 3),
    ("sets.intersects([0.5,1.5,0.5,0.5],[-1.5,-1.0,1.0,-1.5])", "false", 17),
    ("sets.intersects([1,-1,-1,-1],[-3,0,0,0])", "false", 17),
    ("sets.intersects([-1.5,1.0,-0.5,-1.5,1.0,-1.5],[0.5,0.5,-1.5,-1.0])", "true", 25),
    ("sets.intersects([2u,1u,2u,1u,1u,2u],[3u])", "false", 7),
    ('sets.intersects(["","b","ab","ab","a",""],[])', "false", 1),
    ('sets.intersects(["ab","a","","b","b",""],["ab"])', "true", 7),
    ("sets.intersects([duration('-1s')],[])", "false", 1),
    ("sets.intersects([-1.0,-0.5,1.0],[1.5,-1.5])", "false", 7),
    ('sets.intersects([],["a"])', "false", 1),
    ("sets.intersects([2u],[2u,2u,2u])", "true", 4),
    ('sets.intersects(["ab","ab"],["","b","b"])', "false", 7),
    ("sets.intersects([0u],[0u,0u,1u])", "true", 4),
    ("sets.intersects([3u,0u,1u,3u],[])", "false", 1),
    ("sets.intersects([-1,3,0,0,-2],[])", "false", 1),
    ("sets.intersects([false,true],[false,false,true])", "true", 7),
    ("sets.intersects([-1.0],[])", "false", 1),
    ("sets.intersects([],[-0.5,-0.5,1.5])", "false", 1),
    ("sets.intersects([1],[3])", "false", 2),
    ("sets.intersects([0.0],[])", "false", 1),
    ("sets.intersects([false,false,false,false,true],[false,false])", "true", 11),
    ("sets.intersects([-2,2,2],[1,-1,-2])", "true", 10),
]  # fmt: skip


@pytest.mark.parametrize("row", INTERSECTS_WHEN_ONE_IS_SHARED, ids=itemgetter(0))
def test_intersects_when_one_is_shared(check, row):
    check(*row)


EQUIVALENT_WHEN_EACH_CONTAINS_THE_OTHER = [
    ("sets.equivalent(li,[1,2])", "false", 54),
    ("sets.equivalent(li,li)", "true", 341),
    ("sets.equivalent([],[])", "true", 1),
    ("sets.equivalent([1,2],[2,1,1])", "true", 13),
    ("sets.equivalent([-0.5,0.5,1.0],[])", "false", 1),
    ("sets.equivalent([],[0.5,-1.5,0.0,-1.5])", "false", 1),
    ("sets.equivalent([b'',b'bb',b'',b''],[b'bb'])", "false", 9),
    ("sets.equivalent([-1,-1,-1,-1],[-3,-2,3,1])", "false", 33),
    ("sets.equivalent([true,false,true],[true,true])", "false", 13),
    ("sets.equivalent([2u,3u],[1u])", "false", 5),
    ("sets.equivalent([],[duration('-2s'),duration('2s')])", "false", 1),
    ("sets.equivalent([b'a'],[b'bb',b'',b'bb'])", "false", 7),
    ("sets.equivalent([1],[2,3])", "false", 5),
    ('sets.equivalent(["a","a",""],["","","","ab"])', "false", 25),
    ("sets.equivalent([b'bb',b'',b'bb',b'',b'bb'],[])", "false", 1),
    ("sets.equivalent([],[0.0,-1.5,-1.0])", "false", 1),
    ("sets.equivalent([-1.0,0.0,0.0],[-1.5,-1.0,-1.5,0.0])", "false", 25),
    ("sets.equivalent([],[3u,1u,3u,1u])", "false", 1),
    ("sets.equivalent([0u,2u,0u],[3u,2u,0u])", "false", 19),
    ("sets.equivalent([b'',b'a'],[])", "false", 1),
    ("sets.equivalent([true],[false,false,false])", "false", 7),
    ("sets.equivalent([b'a',b'bb',b'bb',b'',b'bb',b'a'],[b'a'])", "false", 13),
    ("sets.equivalent([3u,1u,2u,2u,0u,1u],[])", "false", 1),
    ("sets.equivalent([0.5,-1.0,-0.5],[-1.0])", "false", 7),
    ("sets.equivalent([],[b'a',b'bb',b'a',b'bb'])", "false", 1),
    ("sets.equivalent([3,-1],[-2,2])", "false", 9),
    ("sets.equivalent([2u],[0u,0u,2u,2u])", "false", 9),
    ("sets.equivalent([false,false,false,true,true,true],[true])", "false", 13),
    ("sets.equivalent([0.0,-1.5,-1.5,-1.5],[-1.0,-1.5,-1.5,-0.5])", "false", 33),
    ("sets.equivalent([],[false,false,false])", "false", 1),
    ("sets.equivalent([-1.0,-1.0,0.0,0.0,0.5,1.0],[1.0])", "false", 13),
    ("sets.equivalent([0,1,-3,0,3,-1],[-2,2,2,1])", "false", 49),
    ("sets.equivalent([0.5,1.0],[-0.5,1.0,1.0])", "false", 13),
    ("sets.equivalent([true],[false])", "false", 3),
    ("sets.equivalent([-1,0,1],[-1,2])", "false", 13),
    ("sets.equivalent([],[false,true])", "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", EQUIVALENT_WHEN_EACH_CONTAINS_THE_OTHER, ids=itemgetter(0))
def test_equivalent_when_each_contains_the_other(check, row):
    check(*row)
