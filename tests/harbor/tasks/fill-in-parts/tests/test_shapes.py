import sys

sys.path.insert(0, "/app")

import shapes


def test_square():
    assert shapes.square(3) == 9


def test_rectangle():
    assert shapes.rectangle(2, 5) == 10


def test_circle():
    assert abs(shapes.circle(2) - 12.566370614) < 1e-6
