"""A policy that is no language model learns to write a function, token by token, with MaskablePPO of sb3-contrib.

An action is a token of the grammar of `envs/functions`, an episode a program, its reward the share of tests that it
passes; each program runs in the jail. Needs the extra `sb3`; takes a minute or two on two cores.
"""

import collections
import time

import gymnasium as gym
import numpy as np
import torch
import typer
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList

import code_env
from code_env.integrations.sb3 import CodeVecEnv, VerdictCallback
from code_env.wrappers import vector

SOLVED = 0.97
"""Training ends when the last 500 programs passed this share of their tests, and so did the last 100."""


def make_env(function: str) -> CodeVecEnv:
    """32 environments with one task: to write this function of `envs/functions`."""
    suite = code_env.load_suite("functions").filter(lambda task: task.id == f"functions/{function}")
    env = gym.make_vec("CodeExec-v0", num_envs=32, suite=suite, cache_size=100_000)
    return CodeVecEnv(vector.TokenActions(env, "functions", max_tokens=22, observe_prompt=False))


class Progress(BaseCallback):
    """Keeps the learning curve, lets exploration fade, and ends training when the function is learnt."""

    model: MaskablePPO

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.rewards = steps, list[float]()
        self.curve: list[tuple[int, float]] = []  # Programs so far, and the mean reward of the last 100.

    def _on_step(self) -> bool:
        done = self.locals["dones"]
        self.rewards += self.locals["rewards"][done].tolist()
        solved = all(np.mean(self.rewards[-count:]) >= SOLVED for count in (100, 500)) if done.any() else False
        return not (solved and len(self.rewards) >= 500)

    def _on_rollout_end(self) -> None:
        self.model.ent_coef = 0.003 + 0.1 * max(0.0, 1 - self.num_timesteps / self.steps)
        self.curve.append((len(self.rewards), float(np.mean(self.rewards[-100:]))))
        print(f"{self.num_timesteps:7} tokens, {self.curve[-1][0]:6} programs: mean reward {self.curve[-1][1]:.3f}")


def train(function: str, seed: int, steps: int, log: str | None = None) -> tuple[MaskablePPO, Progress]:
    """Train a policy on a function."""
    torch.set_num_threads(1)
    env = make_env(function)
    # Advantages keep their scale, so that the bonus for entropy, as a share of the reward, keeps exploration up.
    model = MaskablePPO(
        "MlpPolicy", env, seed=seed, n_steps=128, batch_size=256, n_epochs=4, learning_rate=2e-3, gamma=1.0,
        normalize_advantage=False, policy_kwargs={"net_arch": [128, 128]}, device="cpu", tensorboard_log=log,
    )  # fmt: skip
    progress = Progress(steps)
    try:
        model.learn(steps, callback=CallbackList([progress, VerdictCallback()]))
    finally:
        env.close()
    progress.curve.append((len(progress.rewards), float(np.mean(progress.rewards[-100:]))))
    return model, progress


def play(function: str, model: MaskablePPO | None, programs: int, seed: int = 0) -> tuple[list[float], str]:
    """The rewards of programs of a policy, or of random tokens if there is none; and the most frequent program."""
    env = make_env(function)
    draw, rewards, codes = np.random.default_rng(seed), list[float](), collections.Counter[str]()
    env.seed(seed)
    observations = env.reset()
    while len(rewards) < programs:
        masks = np.stack(env.env_method("action_masks"))
        if model is None:
            actions = np.array([draw.choice(np.flatnonzero(mask)) for mask in masks])
        else:
            actions, _ = model.predict(np.asarray(observations), action_masks=masks)
        observations, step_rewards, dones, infos = env.step(actions)
        rewards += step_rewards[dones].tolist()
        codes.update(info["verdicts"][0].code for info, done in zip(infos, dones, strict=True) if done)
    env.close()
    return rewards[:programs], codes.most_common(1)[0][0]


def main(
    function: str = "larger", held_out: str = "smaller", seed: int = 0, steps: int = 250_000, log: str = ""
) -> None:
    """Learn a function, and show what the policy makes of another."""
    began = time.monotonic()
    model, progress = train(function, seed, steps, log or None)
    programs, mean = progress.curve[-1]
    print(f"{function}, seed {seed}: mean reward of the last 100 of {programs} programs {mean:.3f}, "
          f"of the first 100 {np.mean(progress.rewards[:100]):.3f}; {time.monotonic() - began:.0f} s")  # fmt: skip
    rewards, program = play(function, model, 100)
    print(f"mean reward of 100 more {np.mean(rewards):.3f}, most often of\n{program}")
    rewards, _ = play(held_out, model, 100)
    print(f"held out, {held_out}: mean reward {np.mean(rewards):.3f}. It has learnt a program, not to read a task.")


if __name__ == "__main__":
    typer.run(main)
