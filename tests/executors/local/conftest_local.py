"""Executors at a level of one's choice."""

import pytest

from code_env import make_executor

LEVELS = ("full", "contained")


def local(level, **kwargs):
    """An executor at a level, also where the machine grants a higher one."""
    executor = make_executor("local", **{"workers": 2, **kwargs})
    if level == "contained":
        executor._started()._level = level
    elif executor.describe().level != level:
        executor.close()
        pytest.skip(f"this machine does not grant level {level}: {executor.describe()}")
    return executor
