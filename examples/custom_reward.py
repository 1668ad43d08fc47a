"""A reward of your own is one function of a task and a verdict."""

import gymnasium as gym

import code_env
from code_env import Task, TermReward, Verdict


def brevity(task: Task, verdict: Verdict) -> float:
    """1.0 for a correct answer no longer than the reference, falling to 0.0 at three times its length."""
    if not verdict.passed or task.reference is None:
        return 0.0
    ratio = len(verdict.code) / len(task.reference)
    return min(1.0, max(0.0, (3.0 - ratio) / 2.0))


def main() -> None:
    # The tests decide most of it; the wrapper adds its own line to the ledger.
    env = TermReward(gym.make("code_env:CodeExec-v0", rewards={"tests": 1.0}), brevity, weight=0.2)
    suite: code_env.TaskSuite = env.get_wrapper_attr("suite")
    task = suite.task("starter/seat-total")
    padding = "# a remark that helps nobody\n" * 20
    for answer in (task.reference, padding + (task.reference or "")):
        env.reset(seed=0, options={"task_id": task.id})
        _, reward, _, _, info = env.step(answer)
        print(f"{len(answer or ''):4} characters: reward {float(reward):.3f} = {info['reward_terms']}")
    env.close()


if __name__ == "__main__":
    main()
