"""RewardKit's rewards for code that is run, over any executor of this package.

The protocol is that of https://github.com/fw-ai-external/reward-kit and its guides on E2B: the modules
`reward_function`, `rewards.code_execution` and `evaluation`. A reward refuses keywords that it does not know, which
theirs ignore: one that ignores what it was asked for gives a number all the same. For a trainer that passes all columns
of a dataset, `reward_function` leaves out what a reward does not take.

An answer is a program, or a response with one (`extract_code`). Its standard output decides: 1.0 where it agrees with
the expected one, 0.0 where the program had a fault, else how alike they are. Where the sandbox fails there is no score:
`NoVerdict` is raised.
"""

from .code_execution import (
    calculate_output_similarity,
    e2b_code_execution_reward,
    fractional_code_reward,
    local_code_execution_reward,
)
from .dataset_evaluation import DatasetEvaluation, evaluate_dataset
from .notebook_rewards import advanced_code_evaluation, data_analysis_reward, file_based_code_reward
from .reward_functions import reward_function
from .reward_outputs import MetricRewardOutput, RewardOutput

__all__ = [
    "DatasetEvaluation",
    "MetricRewardOutput",
    "RewardOutput",
    "advanced_code_evaluation",
    "calculate_output_similarity",
    "data_analysis_reward",
    "e2b_code_execution_reward",
    "evaluate_dataset",
    "file_based_code_reward",
    "fractional_code_reward",
    "local_code_execution_reward",
    "reward_function",
]
