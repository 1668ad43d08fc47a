"""A curriculum: tasks are drawn by their pass rate, most often those that are neither mastered nor out of reach.

The policy of `reinforce.py` learns all of `envs/functions` with its one template, which cannot express most of them.
Drawn evenly, most programs go to tasks that it will never pass; a curriculum finds out and spends them on the others.
"""

import gymnasium as gym
import numpy as np
from reinforce import SLOTS, TEMPLATE, Policy

import code_env
from code_env.wrappers import vector

NUM_ENVS, STEPS = 16, 120


class Curriculum:
    """Draws tasks by the rate at which they were passed lately: p (1 - p) is how much the outcome is in doubt."""

    def __init__(self, tasks: list[str], seed: int) -> None:
        self.rates = dict.fromkeys(tasks, 0.5)
        self.draw = np.random.default_rng(seed)

    def tasks(self, count: int) -> list[str]:
        """So many tasks. A fifth of them is drawn evenly, so that none is given up for good."""
        doubt = np.array([rate * (1 - rate) for rate in self.rates.values()])
        chances = 0.8 * doubt / doubt.sum() + 0.2 / len(doubt)
        return [str(task) for task in self.draw.choice(list(self.rates), size=count, p=chances)]

    def learn(self, task: str, passed: bool) -> None:
        """Take an outcome; a rate stays away from 0 and 1, for a task may yet become possible, or be forgotten."""
        self.rates[task] = float(np.clip(self.rates[task] + 0.1 * (passed - self.rates[task]), 0.01, 0.99))


def train(name: str, seed: int) -> tuple[float, list[str]]:
    """Train with tasks drawn in this way; the pass rate over the tasks that were ever passed, and these tasks."""
    suite = code_env.load_suite("functions")
    rewards_of = {"tests": 0.5, "pass@1": 0.5}
    env = gym.make_vec("CodeExec-v0", num_envs=NUM_ENVS, suite=suite, rewards=rewards_of, cache_size=1000)
    env = vector.TemplateActions(env, TEMPLATE, SLOTS)
    tasks = [task.id for task in suite]
    policy, curriculum = Policy(tasks, seed), Curriculum(tasks, seed)
    passed_ever = set()
    for _ in range(STEPS):
        drawn = curriculum.tasks(NUM_ENVS) if name == "curriculum" else list(curriculum.draw.choice(tasks, NUM_ENVS))
        env.reset(options={"task_ids": drawn})
        actions = [policy.act(task) for task in drawn]
        _, rewards, _, _, info = env.step(np.array(actions))
        passed = info["final_info"]["passed"]
        for task, action, reward, has_passed in zip(drawn, actions, rewards, passed, strict=True):
            policy.learn(task, action, float(reward))
            curriculum.learn(task, bool(has_passed))
            passed_ever |= {task} if has_passed else set()
    env.close()
    return float(np.mean([curriculum.rates[task] for task in passed_ever])), sorted(passed_ever)


def main() -> None:
    for name in ("evenly", "curriculum"):
        results = [train(name, seed) for seed in range(2)]
        mean = np.mean([rate for rate, _ in results])
        print(f"{name:10}: pass rate {mean:.2f} after {NUM_ENVS * STEPS} rewards, on {', '.join(results[0][1])}")


if __name__ == "__main__":
    main()
