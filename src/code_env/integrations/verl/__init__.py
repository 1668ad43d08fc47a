"""verl: `compute_score`, for `reward.custom_reward_function`, and a tool that runs cells.

verl calls the function with keywords, for one response at a time, in a pool of threads; it awaits a coroutine function.
verl logs all values that are returned with `score`, so every sample has the same keys. If a sample has no reward, the
function raises an exception: the v1 trainer (the default of verl 0.9) leaves this sample out of its group and goes on.
This package does not import verl, except `code_env.integrations.verl.tool`, which verl imports.

The rows come from `TaskSuite.to_dataset("verl")`. Ground truths of prime-code and code-r1 work too.
"""

from .scores import acompute_score, compute_score

__all__ = ["acompute_score", "compute_score"]
