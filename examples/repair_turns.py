"""Repair turns: after an answer that fails, the policy is told what failed, and tries again."""

import gymnasium as gym

from code_env import CallTest, Task, TaskSuite

TASK = Task(
    "midpoint",
    "Write a function `midpoint(a, b)` that returns the number in the middle of two.",
    (CallTest((2, 4), {}, 3.0, hidden=False), CallTest((1, 2), {}, 1.5), CallTest((0, -1), {}, -0.5)),
    entry_point="midpoint",
)


def policy(messages: list[dict[str, str]]) -> str:
    """What a language model would do: answer to what was said last."""
    feedback = messages[-1]["content"]
    if "NameError" in feedback:
        return "def midpoint(a, b):\n    return (a + b) // 2"
    if "tests passed" in feedback:
        return "def midpoint(a, b):\n    return (a + b) / 2"
    return "def midpoint(a, b):\n    return mean(a, b)"


with gym.make("CodeRepair-v0", suite=TaskSuite("one", [TASK]), max_turns=4) as env:
    transcript, info = env.reset(seed=0)
    over = False
    while not over:
        transcript, reward, terminated, truncated, info = env.step(policy(info["messages"]))
        print(f"turn {info['turn']}: {info['tests_passed']} of {info['tests_total']} passed, reward {reward}")
        over = terminated or truncated
    print(transcript)
