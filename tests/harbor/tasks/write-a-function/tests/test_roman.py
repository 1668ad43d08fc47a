import sys

import pytest

sys.path.insert(0, "/app")

from roman import roman


@pytest.mark.parametrize(("n", "text"), [(1, "I"), (4, "IV"), (1994, "MCMXCIV"), (3888, "MMMDCCCLXXXVIII")])
def test_roman(n, text):
    assert roman(n) == text
