"""Called in an environment that has OpenEnv: its own client plays an episode."""

import json
import sys

from openenv.core.generic_client import GenericEnvClient

from code_env import load_suite

suite = load_suite("starter")
with GenericEnvClient(base_url=f"{sys.argv[1]}/envs/starter").sync() as env:
    first = env.reset(seed=3)
    task = suite.task(first.observation["task_id"])
    last = env.step({"response": task.reference})
    state = env.state()
told = {"prompt": first.observation["text"] == task.prompt, "done": [first.done, last.done], "reward": last.reward}
print(json.dumps(told | {"valid": last.observation["valid"], "steps": state["step_count"]}))
