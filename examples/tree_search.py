"""Best-first search over the branches of an episode, and the same policy that plays on in a line, with as many turns.

The policy cleans the columns of a table by a random step a turn, and is told how far they are from what is wanted. In a
line, a wrong step spoils the rest of the episode. The search goes on from the state that is nearest.
"""

import heapq
import json
import random
from typing import Any, cast

import gymnasium as gym

from code_env import CallTest, CodeReplEnv, Task, TaskSuite

CHANGES = [".strip()", ".title()", ".replace('EUR ', '')", ".replace(',', '.')", ".replace('/', '-')", ".upper()"]
CHANGES += [" + '?'", " * 2", ".zfill(12)"]
STEPS = [f"row[{column}] = row[{column}]{change}" for column in range(3) for change in CHANGES]
ROWS = [["  ada b. ", "EUR 12,50", "31/12/23"], ["BEN", "EUR 1,25", " 01/02/24"], [" cleo", "7,5", "5/6/24 "]]
TASKS = {"names": [0, 1, 12], "prices": [11, 12, 1, 0], "all": [0, 1, 11, 12, 18, 22]}  # The steps of the solution.
TURNS, DEPTH, TRIES = 80, 8, 3  # The turns of a try, those of an episode, and how often each player tries.
BEGIN = """```python
import json
rows, wanted = map(list, zip(*json.load(open("rows.json"))))
def wrong(row, clean):
    return sum(abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b)) for a, b in zip(row, clean))
far = lambda: sum(map(wrong, rows, wanted))
far()
```"""


def program(steps: list[str]) -> str:
    """The program that takes these steps."""
    return "def clean(row):\n" + "".join(f"    {step}\n" for step in steps) + "    return row\n"


def task(name: str, steps: list[str]) -> Task:
    """A task with two of the rows as examples in a file; its tests have one more."""
    names: dict[str, Any] = {}
    exec(program(steps), names)
    pairs = [(row, names["clean"](list(row))) for row in ROWS]
    tests = tuple(CallTest((row,), {}, clean) for row, clean in pairs)
    files = {"rows.json": json.dumps(pairs[:2]).encode()}
    return Task(name, "Write clean(row) as in rows.json.", tests, entry_point="clean", files=files)


def play(env: gym.Env[Any, Any], name: str, rng: random.Random, is_search: bool) -> float:
    """Play until the rows are as wanted, or all turns are used; returns the reward."""
    steps: list[str] = []
    used, base = 0, cast(CodeReplEnv, env.unwrapped)
    while used < TURNS:
        if not steps or (len(steps) == DEPTH - 2 and not is_search):  # The last turn is for the answer.
            env.reset(options={"task_id": name})
            distance = int(env.step(BEGIN)[4]["cells"][0].text)
            steps, used = [], used + 1
            open_states: list[Any] = [(distance, used, base.clone_state(), steps, rng.sample(STEPS, len(STEPS)))]
        if is_search:
            _, _, state, steps, untried = open_states[0]
            base.restore_state(state)
            if len(untried) == 1:
                heapq.heappop(open_states)
        steps, used = [*steps, untried.pop() if is_search else rng.choice(STEPS)], used + 1
        cell = f"```python\nfor row in rows: {steps[-1]}\nfar()\n```"
        distance = int(env.step(cell)[4]["cells"][0].text)
        if distance == 0:
            return float(env.step(f"```answer\n{program(steps)}```")[1])
        if is_search and len(steps) < DEPTH - 2:
            untried = rng.sample(STEPS, len(STEPS))
            heapq.heappush(open_states, (distance, used, base.clone_state(), steps, untried))
    return 0.0


if __name__ == "__main__":
    tasks = [task(name, [STEPS[number] for number in numbers]) for name, numbers in TASKS.items()]
    with gym.make("CodeRepl-v0", suite=TaskSuite("rows", tasks), rewards={"pass@1": 1.0}, max_turns=DEPTH) as env:
        print(f"{'task':<8} {'mean reward in a line':>22} {'of a search':>12}")
        for name in TASKS:
            rewards = [[play(env, name, random.Random(seed), way) for seed in range(TRIES)] for way in (False, True)]
            print(f"{name:<8} {sum(rewards[0]) / TRIES:>22.2f} {sum(rewards[1]) / TRIES:>12.2f}")
