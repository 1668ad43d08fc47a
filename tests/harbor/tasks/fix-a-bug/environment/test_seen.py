from ranges import overlap


def test_overlap():
    assert overlap((1, 9), (3, 5))
