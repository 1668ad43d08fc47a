"""Trusted code is parsed, also while other threads parse."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from code_env import load_suite
from code_env.harness.judge.nodes import parse


@pytest.fixture
def often_interrupted():
    """Have Python code run in the middle of parsing, as a library that watches the garbage collector does."""
    before = gc.get_threshold()
    gc.callbacks.append(_look)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(_look)


def _look(*_):
    sum(range(200))


def test_threads_that_parse_do_not_disturb_each_other(often_interrupted):
    """In Python 3.11 this fails hundreds of times with `ast.parse`."""
    codes = [test.code for task in load_suite("starter") for test in task.tests if hasattr(test, "code")] * 50
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(parse, codes))
    assert len(trees) == len(codes)
