"""Rewards as ordinary Gymnasium wrappers, each of which adds one entry to the ledger.

A wrapper returns the inner reward plus what its entry adds. `code_env.wrappers.vector` has the same ones, under the
same names and with the same arguments, for vector environments. What each takes is told in `terms.py` and `shaping.py`.
"""

from __future__ import annotations

from .ledger import EntryWrapper
from .shaping import ClipArguments, GateArguments, PotentialArguments, ScheduleArguments
from .terms import (
    CpuTimeArguments,
    ExecutionArguments,
    FileArguments,
    FormatArguments,
    InsightArguments,
    LengthArguments,
    MemoryArguments,
    OutputSimilarityArguments,
    PassAtKArguments,
    PassFractionArguments,
    TermArguments,
)


class ExecutionReward(ExecutionArguments, EntryWrapper):
    """Adds `terms.execution`: whether the program ran without a fault.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.

    Raises:
        DuplicateRewardTerm: If the env has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = ExecutionReward(gym.make("code_env:CodeExec-v0", rewards={}), weight=0.1)
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> env.step("def xor_seal(*args): pass")[1]
        0.1
        >>> env.close()
    """


class PassFractionReward(PassFractionArguments, EntryWrapper):
    """Adds `terms.pass_fraction`: the share of the test cases that passed.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.

    Raises:
        RewardError: If the env stops at the first failure, so that the share is not known.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class OutputSimilarityReward(OutputSimilarityArguments, EntryWrapper):
    """Adds `terms.output_similarity`: how alike actual and expected outputs are.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        measure: See `rewards.Measure`.

    Raises:
        RewardError: If no task of the suite expects an output, or there is no such measure, or the env stops at the
            first failure.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class FormatReward(FormatArguments, EntryWrapper):
    """Adds `terms.well_formed`: whether an answer has a fence, parses, and defines what the tests call.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        parts: Which of `fence`, `parses`, `defines` count, each as much.

    Raises:
        RewardError: If a part is unknown.
        DuplicateRewardTerm: If the env has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = FormatReward(gym.make("code_env:CodeExec-v0", rewards={}), parts=["fence", "parses"])
        >>> _, info = env.reset(seed=0)
        >>> env.step("def f(:")[1]
        0.0
        >>> env.close()
    """


class LengthReward(LengthArguments, EntryWrapper):
    """Adds `terms.brevity`: how short an answer that passes is beside the reference.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        free: Up to so many times the reference's length the term is 1.0.
        most: From so many times its length on the term is 0.0.

    Raises:
        RewardError: If no task has a reference, or the numbers do not fit together.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class CpuTimeReward(CpuTimeArguments, EntryWrapper):
    """Adds `economy.cpu_economy`: how little CPU time an answer that passes takes beside the reference.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        free: Up to so many times the reference's time the term is 1.0.
        most: From so many times its time on the term is 0.0.

    Raises:
        RewardError: If no task says what its reference takes, or the numbers do not fit together.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class MemoryReward(MemoryArguments, EntryWrapper):
    """Adds `economy.memory_economy`: how little memory an answer that passes takes beside the reference.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        free: Up to so many times the reference's memory the term is 1.0.
        most: From so many times its memory on the term is 0.0.

    Raises:
        RewardError: If no task says what its reference takes, or the numbers do not fit together.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class FileReward(FileArguments, EntryWrapper):
    """Adds `terms.file_operations`: the share of the files that are as they should be.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.

    Raises:
        RewardError: If no task has a `file` test, or the env stops at the first failure.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class InsightReward(InsightArguments, EntryWrapper):
    """Adds `terms.insights`: the share of the insights that the output mentions, and a bonus for a plot.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        plot_bonus: What a figure is worth, in insights. Any figure earns it, so keep it small.

    Raises:
        RewardError: If no task has an `insight` test, or the env stops at the first failure.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class PassAtKReward(PassAtKArguments, EntryWrapper):
    """Adds pass@k of the answers of a step: the chance that one of k of them passes, estimated without bias.

    Answers without a verdict are left out (`info["samples_valid"]` counts the others). If fewer than k are left, the
    reward is pass@n of the n that are.

    Args:
        env: The env to wrap; its `samples_per_step` is at least `k`. `k=1` is the share of answers that pass.
        k: Of how many answers one is to pass.
        weight: What it is multiplied by.
        name: Its name in the ledger; `pass@k` with the number, by default.

    Raises:
        RewardError: If a step has fewer than `k` answers.
        DuplicateRewardTerm: If the env has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = PassAtKReward(gym.make("code_env:CodeExec-v0", rewards={}, samples_per_step=3), k=2)
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> reference = env.unwrapped.suite.task("starter/xor-seal").reference
        >>> round(env.step((reference, "no", "no"))[1], 3)
        0.667
        >>> env.close()
    """


class TermReward(TermArguments, EntryWrapper):
    """Adds a term of your own: one function of a task and a verdict.

    Args:
        env: The env to wrap.
        term: The function, or `"package.module:function"`, which lets `env.spec` survive JSON.
        weight: What the term is multiplied by.
        name: Its name in the ledger; the function's own by default.

    Raises:
        RewardError: If there is no such function.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class GateReward(GateArguments, EntryWrapper):
    """Takes the whole reward of a step away unless a term holds.

    Args:
        env: The env to wrap.
        term: Name of a reward that is in the ledger, or a function of a task and a verdict, or where one is
            (`"package.module:function"`).
        at_least: The term holds if its value is at least this.
        name: Its name in the ledger, whose value is 1.0 where the term holds.

    Raises:
        RewardError: If there is no such term.
        DuplicateRewardTerm: If the env has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("code_env:CodeExec-v0", rewards={"tests": 1.0, "execution": 0.1})
        >>> env = GateReward(env, "tests")
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> _, reward, _, _, info = env.step("def xor_seal(*args): pass")
        >>> reward, info["reward_terms"]
        (0.0, {'tests': 0.0, 'execution': 0.1, 'gate': -0.1})
        >>> env.close()
    """


class PotentialReward(PotentialArguments, EntryWrapper):
    """Adds potential-based shaping between turns: gamma * potential(after) - potential(before).

    The potential is 0.0 where an episode begins and where it ends, so over an episode the additions cancel (with
    gamma 1), and the best policy stays the best: Ng, Harada and Russell 1999; for the end, Grzes 2017. An episode
    of one turn is not changed.

    Args:
        env: The env to wrap.
        potential: A function of a task and a verdict, or where one is (`"package.module:function"`); the pass
            fraction by default.
        gamma: Discount of the return that is maximized.
        weight: What it is multiplied by.
        name: Its name in the ledger.

    Raises:
        RewardError: If an argument is out of range.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class ScheduledReward(ScheduleArguments, EntryWrapper):
    """Multiplies what a term adds by a factor that goes in a line from `start` to `end` over `steps` steps.

    Steps of an environment are counted from its making, over all its episodes; of many environments, each counts its
    own.

    Args:
        env: The env to wrap.
        term: Name of a reward that is in the ledger.
        start: Factor at the first step.
        end: Factor from step number `steps` on.
        steps: How many steps it takes.
        name: Its name in the ledger, whose value is the factor; that of the term with `:schedule`, by default.

    Raises:
        RewardError: If there is no such term, or an argument is out of range.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


class ClipReward(ClipArguments, EntryWrapper):
    """Keeps the reward of a step within bounds.

    Args:
        env: The env to wrap.
        low: Least reward.
        high: Largest reward.
        name: Its name in the ledger, whose value is what was changed.

    Raises:
        RewardError: If `low` is above `high`.
        DuplicateRewardTerm: If the env has a reward of that name.
    """
