"""Called in an environment that has verifiers: tasks are loaded and traces scored by its own code."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.errors import RolloutError
from verifiers.v1.state import state_cls
from verifiers.v1.trace import AgentInfo, TraceTask
from verifiers.v1.utils.loaders import load_taskset, taskset_class

from code_env.integrations.verifiers import CodeTaskConfig, CodeTasksetConfig


def trace_of(task, reply):
    """What a rollout leaves: verifiers makes it so in `rollout.py`."""
    about = TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
    trace = vf.Trace(task=about, state=state_cls(type(task))(), agent=AgentInfo(config=vf.AgentConfig()))
    trace.root_reply = reply
    return trace


def scored(task, reply):
    trace = trace_of(task, reply)
    asyncio.run(task.score(trace))
    return {"reward": trace.reward, "rewards": sorted(trace.rewards), "metrics": trace.metrics}


with tempfile.TemporaryDirectory() as folder:
    module = "from code_env.integrations.verifiers import CodeTaskset\n__all__ = ['CodeTaskset']\n"
    (Path(folder) / "my_tasks.py").write_text(module)
    sys.path.insert(0, folder)
    found = taskset_class("my-tasks").__name__
    settings = CodeTaskConfig(code_rewards={"tests": 1.0, "pass@1": 0.5}, limits={"cpu_s": 1})
    tasks = list(load_taskset(CodeTasksetConfig(id="my-tasks", task=settings)))
    first = tasks[0]
    broken = type(first)(first.data, CodeTaskConfig(executor="support:BrokenExecutor"))
    try:
        asyncio.run(broken.score(trace_of(first, "x = 1")))
        fault = ""
    except RolloutError as error:
        fault = f"{type(error).__name__}: {error}"
    from code_env import load_suite

    reference = load_suite("starter").task(first.key).reference
    told = {
        "taskset": found,
        "keys": [task.key for task in tasks],
        "prompt": first.data.prompt,
        "right": scored(first, f"```python\n{reference}\n```"),
        "wrong": scored(first, "```python\nx = 1\n```"),
        "no code": scored(first, ""),
        "valid": asyncio.run(first.validate(None)),
        "fault": fault,
    }
print(json.dumps(told))
