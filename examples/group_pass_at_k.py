"""Training for pass@k: with one right answer in four tries as the aim, a policy learns to spread its bets.

Each task wants one number printed and does not say which: 0 more often than others. A policy trained for pass@1 always
prints 0. Trained for pass@4, it prints others too, and solves more tasks in four tries.
"""

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from code_env import OutputTest, Task, TaskSuite
from code_env.wrappers.vector import GroupPassAtKReward

ANSWERS = [0, 0, 0, 1, 1, 2, 3, 4]
GROUP = 8
Chances = npt.NDArray[np.float64]
SUITE = TaskSuite("bets", [Task(f"bet-{n}", "Which?", (OutputTest(str(a)),)) for n, a in enumerate(ANSWERS)])


def chance_of_a_pass(chances: Chances, k: int) -> float:
    """pass@k over all tasks, of a policy that prints each number with these chances."""
    return float(np.mean([1 - (1 - chances[answer]) ** k for answer in ANSWERS]))


def train(k: int, seed: int, steps: int = 300, rate: float = 1.0) -> list[Chances]:
    """Train for pass@k by REINFORCE; the chances of each number after each step."""
    bare = gym.make_vec("CodeExec-v0", num_envs=4 * GROUP, suite=SUITE, rewards={}, cache_size=100)
    env = GroupPassAtKReward(bare, k=k, group_size=GROUP, credit="sample")
    rng = np.random.default_rng(seed)
    env.reset(seed=[seed + group for group in range(4) for _ in range(GROUP)])
    logits = np.zeros(5)
    history: list[Chances] = []
    for _ in range(steps):
        chances: Chances = np.exp(logits) / np.exp(logits).sum()
        history.append(chances)
        bets = rng.choice(5, size=4 * GROUP, p=chances)
        _, rewards, *_ = env.step(tuple(f"print({bet})" for bet in bets))
        # The gradient of log p(bet) is one at the bet, less the chances.
        logits += rate * np.mean(rewards[:, None] * (np.eye(5)[bets] - chances), axis=0)
    env.close()
    return history


if __name__ == "__main__":
    for k in (1, 4):
        chances = train(k, seed=0)[-1]
        results = ", ".join(f"pass@{n} {chance_of_a_pass(chances, n):.2f}" for n in (1, 4))
        print(f"rewarded for pass@{k}: {results}; chances {chances.round(2)}")
