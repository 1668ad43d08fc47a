import asyncio
from types import SimpleNamespace

import pytest

from code_env import NoVerdict
from code_env.integrations.agentfly import code_reward_test
from support import BrokenExecutor


def reward(prediction, *args, **kwargs):
    return asyncio.run(code_reward_test(prediction, *args, **kwargs))


def test_the_examples_of_the_page(executor):
    context = SimpleNamespace(executor=executor)
    assert reward(prediction="print('Hello, World!')", context=context) == {"reward": 1.0, "output": "Hello, World!"}
    assert reward(prediction="print(undefined_variable)", context=context) == {
        "reward": 0.0,
        "output": "NameError: name 'undefined_variable' is not defined",
    }


@pytest.mark.parametrize(
    ("prediction", "output"),
    [
        ("raise ConnectionError('HTTP 500: detail')", "ConnectionError: HTTP 500: detail"),
        ("print('success')\n1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", "SyntaxError: invalid syntax (main.py, line 1)"),
        ("while True: pass", "the time limit was reached"),
        ("bytearray(10**11)", "MemoryError"),
        ("import sys\nsys.exit('why')", "exit code 1\nwhy"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "killed by signal 11"),
        ("", "NoProgram: the answer holds no code"),
    ],
    ids=lambda text: text[:20],
)
def test_d9_failing_code_gets_no_reward(executor, prediction, output):
    assert reward(prediction, None, executor=executor) == {"reward": 0.0, "output": output}


@pytest.mark.parametrize(
    ("prediction", "output"),
    [
        ("Sure:\n```python\nprint(1)\n```", "1"),
        ("import sys\nprint('out')\nprint('err', file=sys.stderr)", "out\nerr"),
        ("import sys\nprint(1)\nsys.exit(0)", "1"),
        ("x = 1", ""),
    ],
    ids=lambda text: text[:20],
)
def test_code_that_runs_is_rewarded(executor, prediction, output):
    assert reward(prediction, {"executor": executor}) == {"reward": 1.0, "output": output}


def test_many_are_awaited_at_once_and_see_nothing_of_one_another(executor):
    async def all_of_them():
        predictions = [f"import os\nopen('x', 'a').write('x')\nprint({n}, os.path.getsize('x'))" for n in range(20)]
        return await asyncio.gather(*[code_reward_test(one, executor=executor) for one in predictions])

    assert [found["output"] for found in asyncio.run(all_of_them())] == [f"{n} 1" for n in range(20)]


def test_a_failing_sandbox_is_no_reward_of_zero(executor):
    with pytest.raises(NoVerdict, match="SandboxError: no luck"):
        reward("print(1)", None, executor=BrokenExecutor())
    assert reward("print(1)", None, executor=BrokenExecutor(executor, failures=2))["reward"] == 1.0


def test_long_output_loses_its_middle(executor):
    found = reward("print('x' * 1_000_000)", None, executor=executor)
    assert found["reward"] == 1.0
    assert len(found["output"]) <= 16_384
    assert "left out" in found["output"]


def test_a_context_may_name_an_executor():
    assert reward("print(1)", {"executor": "local"}) == {"reward": 1.0, "output": "1"}
    assert reward("print(1)") == {"reward": 1.0, "output": "1"}


def test_it_is_a_coroutine_function_that_refuses_what_it_does_not_take(executor):
    assert asyncio.iscoroutinefunction(code_reward_test)
    with pytest.raises(TypeError, match="no argument 'answer'; known are prediction, context, executor"):
        reward(prediction="print(1)", context=None, answer="x")
    assert reward(prediction="print(1)", context=None, executor=executor)["reward"] == 1.0
