import sys

sys.path.insert(0, "/app")

from ranges import merge, overlap


def test_overlap():
    assert overlap((1, 3), (3, 5))
    assert not overlap((1, 2), (3, 5))
    assert overlap((1, 9), (3, 5))


def test_merge():
    assert merge([(1, 3), (3, 5), (7, 8)]) == [(1, 5), (7, 8)]
