"""RewardKit's rewards for code that is run, over any executor of this package.

The protocol is that of https://github.com/fw-ai-external/reward-kit and its guides on E2B: the modules
`reward_function`, `rewards.code_execution` and `evaluation`. A reward here refuses unknown keywords; RewardKit's
rewards ignore them. A reward that ignores a keyword still returns a number, and this number can be wrong. For a trainer
that passes all columns of a dataset, `reward_function` removes the keywords that a reward does not take.

A reward takes a program, or a response that contains a program (see `extract_code`). The standard output decides: the
score is 1.0 if the output agrees with the expected output, 0.0 if the program had a fault, and otherwise the similarity
of the two outputs. If the sandbox fails, there is no score: the reward raises `NoVerdict`.
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
