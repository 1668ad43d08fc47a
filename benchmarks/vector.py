"""What a step of many environments costs beside judging its programs, and what one that is slow costs the others.

Three parts, each in interleaved rounds, so that what else the machine does falls on all:

1. `gym.make_vec` against `judge_many` on the same programs, at several widths: the difference is the environment's. It
   is small beside what programs take, which moves by more from round to round. So it is measured again with results at
   hand: an executor that gives each program at once what it gave before.
2. The native environment against Gymnasium's `SyncVectorEnv`, `AsyncVectorEnv` (a process and an executor of one worker
   for each environment) and a thread for each environment, on the same programs.
3. How many answers of 63 environments are judged in a second while the program of another takes 2 s, with a deadline
   and without.

    python benchmarks/vector.py                 # some minutes
    python benchmarks/vector.py --rounds 3 --widths 64

Programs are different in every step, so nothing is shared or remembered. The table shows medians and, in brackets, the
smallest and the largest round.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from rich.console import Console
from rich.table import Table

import code_env
from code_env import (
    ExecutionResult,
    Executor,
    Isolation,
    OutputTest,
    Program,
    Task,
    TaskSuite,
    judge_many,
    make_executor,
)

SUITE = TaskSuite("one", [Task("number", "Print the number.", (OutputTest("1"),))])

EVERY_REWARD: dict[str, Any] = {
    "tests": 1.0,
    "execution": 0.1,
    "similarity": 0.1,
    "pass@1": 1.0,
    "clip": {"high": 2.0},
}

DEADLINE_S = 0.1
"""Of part 3: less than a step of all takes, so that each step brings what is ready."""

_serial = itertools.count()


def programs(count: int) -> tuple[str, ...]:
    """Programs of which no two are the same."""
    return tuple(f"print(1)  # {next(_serial)}" for _ in range(count))


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class Replay(Executor):
    """Gives at once what another executor gave for a program that did the same.

    Args:
        executor: The other one.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._result: ExecutionResult | None = None

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """The first program's result, again and again."""
        if self._result is None:
            self._result = self._executor.run(program)
        future: Future[ExecutionResult] = Future()
        future.set_result(self._result)
        return future

    def describe(self) -> Isolation:
        """What the other executor isolates."""
        return self._executor.describe()

    def close(self) -> None:
        """Nothing is here to be freed."""


def overhead(executor: Executor, widths: list[int], rounds: int, rewards: dict[str, Any]) -> list[dict[str, Any]]:
    """Part 1: microseconds for each environment that a step takes longer than `judge_many`."""
    return [overhead_at(executor, width, rounds, rewards) for width in widths]


def overhead_at(executor: Executor, width: int, rounds: int, rewards: dict[str, Any]) -> dict[str, Any]:
    """Part 1 at one width."""
    env = gym.make_vec("CodeExec-v0", num_envs=width, suite=SUITE, executor=executor, rewards=rewards)
    env.reset(seed=0)

    def judged() -> float:
        answers = [(SUITE[0], code) for code in programs(width)]
        return timed(lambda: judge_many(answers, executor))

    def stepped() -> float:
        actions = programs(width)
        return timed(lambda: env.step(actions))

    times: dict[Callable[[], float], list[float]] = {judged: [judged()], stepped: [stepped()]}
    for number in range(rounds):
        for part in (judged, stepped) if number % 2 else (stepped, judged):
            times[part].append(part())
    env.close()
    judge_s, step_s = times[judged][1:], times[stepped][1:]
    return {
        "envs": width,
        "judge_ms": statistics.median(judge_s) * 1e3,
        "step_ms": statistics.median(step_s) * 1e3,
        "more_us": [(step - judge) / width * 1e6 for step, judge in zip(step_s, judge_s, strict=True)],
    }


@contextlib.contextmanager
def threads(width: int, executor: Executor) -> Iterator[Callable[[tuple[str, ...]], Any]]:
    """A thread for each single environment."""
    envs = [gym.make("CodeExec-v0", suite=SUITE, executor=executor, disable_env_checker=True) for _ in range(width)]
    for number, env in enumerate(envs):
        env.reset(seed=number)

    def step(env: gym.Env[Any, Any], action: str) -> Any:
        stepped = env.step(action)
        env.reset()
        return stepped

    with ThreadPoolExecutor(width) as pool:
        yield lambda actions: list(pool.map(step, envs, actions))


def make_single() -> gym.Env[Any, Any]:
    """An environment with an executor of its own."""
    return gym.make("code_env:CodeExec-v0", suite=SUITE, executor_kwargs={"workers": 1}, disable_env_checker=True)


def against_others(executor: Executor, width: int, rounds: int) -> dict[str, list[float]]:
    """Part 2: seconds for a step of each kind of vector environment."""
    with contextlib.ExitStack() as stack:
        native = gym.make_vec("CodeExec-v0", num_envs=width, suite=SUITE, executor=executor)
        sync = SyncVectorEnv(
            [lambda: gym.make("CodeExec-v0", suite=SUITE, executor=executor, disable_env_checker=True)] * width,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        processes = AsyncVectorEnv([make_single] * width, shared_memory=False, autoreset_mode=AutoresetMode.SAME_STEP)
        steps: dict[str, Callable[[tuple[str, ...]], Any]] = {}
        for name, env in (("native", native), ("SyncVectorEnv", sync), ("AsyncVectorEnv", processes)):
            stack.enter_context(contextlib.closing(env))
            env.reset(seed=0)
            steps[name] = env.step
        steps["threads"] = stack.enter_context(threads(width, executor))
        times: dict[str, list[float]] = {name: [] for name in steps}
        for number in range(rounds + 1):
            for name in list(steps)[:: 1 if number % 2 else -1]:
                took = timed(lambda step=steps[name]: step(programs(width)))  # type: ignore[misc]
                if number:  # The first starts servers.
                    times[name].append(took)
        return times


def straggler(executor: Executor, width: int, rounds: int) -> dict[str, list[float]]:
    """Part 3: answers of all others that are judged in a second, while one environment's program takes 2 s or not."""
    kinds = [(deadline_s, is_slow) for deadline_s in (None, DEADLINE_S) for is_slow in (False, True)]
    rates: dict[str, list[float]] = {_kind(*kind): [] for kind in kinds}
    slow = "import time\ntime.sleep(2)\n"
    for number in range(rounds):
        for deadline_s, is_slow in kinds[:: 1 if number % 2 else -1]:
            env = gym.make_vec("CodeExec-v0", num_envs=width, suite=SUITE, executor=executor, deadline_s=deadline_s)
            env.reset(seed=0)
            began, judged = time.perf_counter(), 0
            actions = programs(width)
            actions = (slow * is_slow + actions[0], *actions[1:])
            while time.perf_counter() - began < 2.0:
                info = env.step(actions)[4]
                judged += int((~info["pending"][1:]).sum())
                actions = programs(width)
            took_s = time.perf_counter() - began
            env.close()
            rates[_kind(deadline_s, is_slow)].append(judged / took_s)
    return rates


def _kind(deadline_s: float | None, slow: bool) -> str:
    return f"{'one' if slow else 'nobody'} is slow, {'no' if deadline_s is None else 'a'} deadline"


def shown(values: list[float], digits: int) -> str:
    """A median, with the smallest and the largest."""
    low, middle, high = (f"{value:.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def main() -> None:
    """Measure, and print tables or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="at least 5 for figures to be quoted")
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64, 256, 1024], help="environments, in part 1")
    parser.add_argument("--others", type=int, default=16, help="environments in part 2; 0 leaves it out")
    parser.add_argument("--straggler", type=int, default=64, help="environments in part 3; 0 leaves it out")
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    options = parser.parse_args()
    console = Console()
    found: dict[str, Any] = {"version": code_env.__version__}
    with make_executor("local") as executor:
        for name, over in (("programs run", executor), ("results at hand", Replay(executor))):
            for rewards in ({"tests": 1.0}, EVERY_REWARD):
                key = f"{name}, {len(rewards)} reward{'s' if len(rewards) > 1 else ''}"
                found[key] = overhead(over, options.widths, options.rounds, rewards)
        if options.others:
            found["others"] = against_others(executor, options.others, options.rounds)
        if options.straggler:
            found["straggler"] = straggler(executor, options.straggler, options.rounds)
    if options.json:
        console.print_json(json.dumps(found))
        return
    for name, rows in found.items():
        if name in ("version", "others", "straggler"):
            continue
        table = Table("environments", "judge_many, ms", "step, ms", "more for each, us", title=name)
        for row in rows:
            table.add_row(str(row["envs"]), f"{row['judge_ms']:.1f}", f"{row['step_ms']:.1f}", shown(row["more_us"], 0))
        console.print(table)
    if options.others:
        console.print(compared(found["others"], f"{options.others} environments", "step, ms", 1e3))
    if options.straggler:
        console.print(compared(found["straggler"], f"{options.straggler} environments", "answers a second", 1.0))


def compared(found: dict[str, list[float]], title: str, what: str, unit: float) -> Table:
    """Each contender's figures, and their ratios to those of the first in the same round."""
    first = next(iter(found))
    table = Table("", what, f"x {first}", title=title)
    for name, values in found.items():
        ratios = [one / of_first for one, of_first in zip(values, found[first], strict=True)]
        table.add_row(name, shown([unit * one for one in values], 1), shown(ratios, 2))
    return table


if __name__ == "__main__":
    main()
