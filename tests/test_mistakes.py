"""docs/mistakes.md: what users type by mistake gets the message that is written there."""

import re

import gymnasium as gym
import pytest

import code_env
from code_env import CallTest, Task, make_executor
from support import ROOT

ROW = re.compile(r"^\| `(.+?)` \| `(.+)` \|$", re.MULTILINE)
ROWS = [
    tuple(cell.replace("\\|", "|") for cell in row) for row in ROW.findall((ROOT / "docs" / "mistakes.md").read_text())
]


@pytest.fixture(scope="module")
def names(executor):
    """What the snippets may name."""
    public = {name: getattr(code_env, name) for name in code_env.__all__}
    env, begun, closed = gym.make("CodeExec-v0"), gym.make("CodeExec-v0"), make_executor("local")
    begun.reset(seed=0)
    closed.close()
    task = Task("a", "", (CallTest((1,), expected=1),), entry_point="f")
    yield public | {"gym": gym, "env": env, "begun": begun, "task": task, "executor": executor, "closed": closed}
    env.close()
    begun.close()


def test_there_are_sixty():
    assert len(ROWS) >= 60


def message_of(typed, names):
    try:
        return f"nothing: {eval(typed, names)}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("typed", "answered"), ROWS, ids=[typed for typed, _ in ROWS])
def test_a_mistake_gets_its_message(names, typed, answered):
    message = message_of(typed, names)
    pattern = ".*".join(map(re.escape, answered.split("…")))
    # Gymnasium adds what it was called with.
    assert re.fullmatch(rf"{pattern}( was raised from the environment creator .*)?", message, re.DOTALL), message
