"""Called in an environment that has verl: its agent loop calls the tool as it does for a policy's words."""

import asyncio
import gc
import json
import sys
import tempfile
from pathlib import Path

from verl.experimental.agent_loop.tool_agent_loop import AgentData, ToolAgentLoop
from verl.experimental.agent_loop.tool_parser import FunctionCall
from verl.tools.tool_registry import load_all_tools

TOOLS = """
tools:
  - class_name: code_env.integrations.verl.tool.CellTool
    config: {type: native, rewards: {tests: 1.0}, limits: {cpu_s: 1}, max_submissions: 2}
"""
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "tools.yaml").write_text(TOOLS)
    (tool,) = load_all_tools(str(Path(folder) / "tools.yaml"), None)

loop = object.__new__(ToolAgentLoop)  # What calls tools needs no more of it than this.
loop.tools, loop.max_tool_response_length, loop.tool_response_truncate_side = {tool.name: tool}, 4096, "middle"


def trajectory(ground_truth=None):
    kwargs = {} if ground_truth is None else {"create_kwargs": {"ground_truth": ground_truth}}
    return AgentData([], [], [], None, None, {}, "id", {tool.name: kwargs})


async def say(data, **arguments):
    call = FunctionCall(name="run_cell", arguments=json.dumps(arguments))
    response, reward, _ = await loop._call_tool(call, data.tools_kwargs, data)
    return [response.text, reward]


async def play(truth):
    one, other = trajectory(truth), trajectory()
    told = {"schema": tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True)["function"]["name"]}
    told["state"] = [await say(one, code="x = 20"), await say(one, code="print(x)\nx + 1")]
    told["apart"] = await say(other, code="x")
    told["together"] = [text for text, _ in await asyncio.gather(*[say(one, code="x += 1\nx") for _ in range(3)])]
    told["no code"] = await say(one)
    told["no task"] = await say(other, code="x", submit=True)
    told["solutions"] = [await say(one, code=code, submit=True) for code in ("print(x)", "print(3)", "print(4)")]
    session = tool._trajectories[one].cells._session
    told["released"] = [len(tool._instances), str(session.state)]
    return told, session


async def play_as_before(truth):
    """As earlier versions: one instance for a trajectory, whose reward is asked for."""
    instance, _ = await tool.create("mine", ground_truth=truth)
    await tool.execute(instance, {"code": "y = 5"})
    kept, reward, _ = await tool.execute(instance, {"code": "y"})
    rewards = [reward, await tool.calc_reward(instance)]
    _, reward, numbers = await tool.execute(instance, {"code": "print(sum(map(int, input().split())))", "submit": True})
    rewards += [reward, await tool.calc_reward(instance)]
    session = tool._instances[instance].cells._session
    await tool.release(instance)
    await tool.release(instance)
    return {"kept": kept.text, "rewards": rewards, "numbers": numbers, "state": str(session.state)}


truth = json.loads(sys.argv[1])
told, session = asyncio.run(play(truth))
gc.collect()
told["gone"] = [len(tool._trajectories), str(session.state)]
told["before"] = asyncio.run(play_as_before(truth))
try:
    type(tool)({"type": "native", "reward": {}})
except TypeError as error:
    told["misspelt"] = str(error)
print(json.dumps(told))
