"""TRL: reward functions for `GRPOTrainer` and similar trainers, and environments whose tools run programs.

TRL calls a reward function with keywords: the prompts, the completions and each column of the data set. It accepts None
for a completion that has no reward. TRL uses every public method of an environment as a tool, except `reset` and
`get_reward`. This package does not import TRL.

The rows come from `TaskSuite.to_dataset("trl")`: the column `task` holds the whole task.
"""

from .environments import CodeEnvironment, EnvironmentFactory, SessionEnvironment, environment_factory
from .rewards import AsyncRewardFunction, RewardFunction, async_reward_function, reward_function

__all__ = [
    "AsyncRewardFunction",
    "CodeEnvironment",
    "EnvironmentFactory",
    "RewardFunction",
    "SessionEnvironment",
    "async_reward_function",
    "environment_factory",
    "reward_function",
]
