"""Compares what vector environments return: values, types and masks."""

import numpy as np


def same(left, right, path="info"):
    """Raise AssertionError, saying where, unless two nested infos or arrays are the same."""
    assert type(left) is type(right), (path, type(left), type(right))
    if isinstance(left, dict):
        assert set(left) == set(right), (path, set(left) ^ set(right))
        for key, value in left.items():
            same(value, right[key], f"{path}[{key!r}]")
    elif isinstance(left, np.ndarray):
        assert (left.dtype, left.shape) == (right.dtype, right.shape), (path, left.dtype, right.dtype)
        assert left.tolist() == right.tolist(), (path, left.tolist(), right.tolist())
    else:
        assert left == right, (path, left, right)


def same_step(left, right):
    """The same for all that a reset or a step returns."""
    assert len(left) == len(right)
    for number, (one, other) in enumerate(zip(left, right, strict=True)):
        same(one, other, f"returned[{number}]")
