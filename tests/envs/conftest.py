"""An environment over the small suite."""

import pytest

from code_env import CodeExecEnv
from envs.small_suite import SUITE


@pytest.fixture
def env(executor):
    with CodeExecEnv(SUITE, executor, max_turns=3) as made:
        made.reset(seed=0, options={"task_id": "add"})
        yield made
