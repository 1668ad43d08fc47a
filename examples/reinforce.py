"""REINFORCE over the vector environment, in plain numpy: a policy learns how to fill a template for each task.

The policy is a table of logits, one row for each task and slot; the baseline is what a task's answers earned lately.
"""

import gymnasium as gym
import numpy as np
import numpy.typing as npt

import code_env
from code_env.wrappers import vector

TEMPLATE = "def f(a, b):\n    if a $comparison b:\n        return a $operator b\n    return $last\n"
SLOTS = {
    "comparison": ["<", ">"],
    "operator": ["* 1 + 0 *", "* 0 +", "-", "+"],
    "last": ["a", "b", "a - b", "b - a", "a + b"],
}
TASKS = ["larger", "smaller", "distance"]


class Policy:
    """Logits for each task and slot."""

    def __init__(self, tasks: list[str], seed: int, rate: float = 0.08) -> None:
        self.logits = {task: [np.zeros(len(texts)) for texts in SLOTS.values()] for task in tasks}
        self.baseline = dict.fromkeys(tasks, 0.0)
        self.draw, self.rate = np.random.default_rng(seed), rate

    def act(self, task: str) -> list[int]:
        """An action for a task: which text fills each slot."""
        return [int(self.draw.choice(len(slot), p=softmax(slot))) for slot in self.logits[task]]

    def learn(self, task: str, action: list[int], reward: float) -> None:
        """Make an action likelier by how much more it earned than is usual, or less likely."""
        advantage = reward - self.baseline[task]
        self.baseline[task] += 0.05 * advantage
        for slot, choice in zip(self.logits[task], action, strict=True):
            gradient = -softmax(slot)
            gradient[choice] += 1.0
            slot += self.rate * advantage * gradient

    def best(self, task: str) -> dict[str, str]:
        """How it would fill the template for a task."""
        return {
            name: texts[np.argmax(slot)] for (name, texts), slot in zip(SLOTS.items(), self.logits[task], strict=True)
        }


def softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Chances from logits."""
    weights: npt.NDArray[np.float64] = np.exp(logits - np.max(logits))
    return weights / np.sum(weights)


def main(seed: int = 0, steps: int = 150) -> None:
    suite = code_env.load_suite("functions").filter(lambda task: task.id.removeprefix("functions/") in TASKS)
    env = gym.make_vec("CodeExec-v0", num_envs=24, suite=suite, rewards={"tests": 1.0}, cache_size=1000)
    env = vector.TemplateActions(env, TEMPLATE, SLOTS)
    policy = Policy([task.id for task in suite], seed)
    _, info = env.reset(seed=seed)
    for step in range(steps):
        tasks = info["task_id"]
        actions = [policy.act(task) for task in tasks]
        _, rewards, _, _, info = env.step(np.array(actions))  # The next episodes have begun: info is theirs.
        for task, action, reward in zip(tasks, actions, rewards, strict=True):
            policy.learn(task, action, float(reward))
        if step % 25 == 0 or step == steps - 1:
            print(f"step {step:3}: mean reward {rewards.mean():.2f}")
    env.close()
    for task in policy.logits:
        print(f"{task}: {policy.best(task)}")


if __name__ == "__main__":
    main()
