"""TRL: reward functions for `GRPOTrainer` and its kin, and environments whose tools run programs.

TRL calls a reward function by keyword, with each column of the data set beside the prompts and completions, and takes
None for a completion that has no reward. An environment's public methods are its tools, all of them. TRL itself is not
imported here.

The rows come from `TaskSuite.to_dataset("trl")`: the column `task` carries the whole task.
"""

from .environments import CodeEnvironment, EnvironmentFactory, environment_factory
from .rewards import AsyncRewardFunction, RewardFunction, async_reward_function, reward_function

__all__ = [
    "AsyncRewardFunction",
    "CodeEnvironment",
    "EnvironmentFactory",
    "RewardFunction",
    "async_reward_function",
    "environment_factory",
    "reward_function",
]
