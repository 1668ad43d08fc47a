"""An answer that attacks its judge, or looks for what the tests hide, earns nothing."""

import pytest

from code_env import CallTest, Outcome, StdinTest, judge
from judging.answers import ADD, asserts, task

# A program that makes its judge fail, after it was heard, has failed itself.
SABOTAGE = {
    "a value that takes for ever to compare": (
        asserts("assert sorted(f()) == []"), "def f(): return [str(i % 7) * 50 for i in range(400000)][::-1] * 4"
    ),
    "a huge exponent": (
        asserts("assert int(f()) == 1"), "import decimal\ndef f(): return decimal.Decimal('1E+999999999')"
    ),
    "memory": (asserts("assert len(str(f()) * 4000) == 1"), "def f(): return 'x' * 5000000"),
    "frames on every descriptor": (
        ADD,
        "import os, struct\nframe = struct.pack('>IB', 2, ord('M')) + b'{}'\n"
        "for fd in range(3, 60):\n    try: os.write(fd, frame * 3)\n    except OSError: pass\ndef f(x): return x",
    ),
    "every descriptor closed": (ADD, "import os\nos.closerange(0, 60)\ndef f(x): return x"),
    "every descriptor flooded": (
        ADD,
        "import os\nfor fd in range(3, 60):\n    try:\n        os.set_blocking(fd, False)\n"
        "        while os.write(fd, b'\\xff' * 65536): pass\n    except OSError: pass\ndef f(x): return x",
    ),
    "replies to nobody": (
        ADD,
        "import gc\nfrom code_env_harness.wire.channel import Channel, Kind\n"
        "for c in gc.get_objects():\n    if type(c) is Channel:\n        for n in range(9):\n"
        "            c.send_json(Kind.MESSAGE, {'n': n, 'value': 1})\ndef f(x): return x",
    ),
    "frames that are not its to send": (
        ADD,
        "import gc\nfrom code_env_harness.wire.channel import Channel, Kind\n"
        "for c in gc.get_objects():\n    if type(c) is Channel:\n"
        "        c.send_json(Kind.ENDED, {'status': 'ok'})\ndef f(x): return x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SABOTAGE)
def test_sabotage_of_the_judge_buys_nothing(name, executor):
    problem, answer = SABOTAGE[name]
    verdict = judge(problem, answer, executor)
    assert verdict.outcome in (Outcome.FAIL, Outcome.POLICY_ERROR)
    # `f(1) == 1` is right where the answer still answers.
    assert verdict.fraction <= 1 / 3


FORGE = """
import os, sys
channel = sys._getframe(1).f_locals["channel"]
from code_env_harness.wire.channel import Kind
channel.send_json(Kind.MESSAGE, {"n": 0, "error": None})
channel.send_json(Kind.MESSAGE, {"n": 1, "callable": {"f": True}, "exceptions": {}})
channel.send_json(Kind.MESSAGE, {"n": 2, "ended": ENDED, "reply": None})
os._exit(0)
"""


@pytest.mark.parametrize(
    "ended",
    [
        {"status": "error", "error": "x"},
        {"status": "error", "error": {"name": "a", "message": "b", "zzz": 1}},
        {"status": "error", "error": {"name": [], "message": {}}, "stderr": [1], "exit_code": "x", "signal": []},
        {"status": "perfect"},
        {"status": ["ok"]},
        7,
    ],
    ids=str,
)
def test_a_forged_end_of_a_call_is_a_failed_test(ended, executor):
    from code_env.envs.feedback import feedback

    problem = task(CallTest((1,), {}, 1))
    verdict = judge(problem, FORGE.replace("ENDED", repr(ended)), executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)
    assert isinstance(verdict.execution.stderr, str)
    assert feedback(problem, verdict)


def test_public_tests_run_before_the_program_has_seen_a_hidden_input(executor):
    spy = "import sys\ndef f(x):\n    frame = sys._getframe()\n    while 'request' not in frame.f_locals:\n"
    spy += "        frame = frame.f_back\n    return frame.f_locals['request']['inputs']"
    verdict = judge(task(CallTest((51234,), {}, 1), CallTest((2,), {}, 1, hidden=False)), spy, executor)
    assert verdict.cases[1].actual == "[[[2], {}]]"
    keeps = "import os\ngiven = input()\nprint(open('/proc/self/cwd/../seen').read() if given == '2' else '')\n"
    keeps += "open('../seen', 'a').write(given)"
    verdict = judge(task(StdinTest("51234", "x"), StdinTest("2", "x", hidden=False)), keeps, executor)
    assert "51234" not in verdict.cases[1].actual


def test_an_answer_that_kills_what_serves_it_was_tested(executor):
    verdict = judge(task(StdinTest("", "x")), "import os\nos.kill(os.getppid(), 9)", executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)


LIES = """
import asyncio
async def f(x):
    await asyncio.sleep(0.001)
    return x
import code_env_harness.program.loops as loops
true = loops.Loops._run
def run(self, one, op, request):
    reply = true(self, one, op, request)
    return LIE
loops.Loops._run = run
"""
OF_TASKS = """
import asyncio
async def main():
    assert await asyncio.gather(f(1), f(2)) == [1, 2]
    try: await f(3)
    except BaseException: pass
try: asyncio.run(main())
except BaseException: pass
assert 1 + 1 == 2
"""
KEPT = """
import asyncio
async def main(): return await asyncio.gather(f(1), return_exceptions=True)
try: results = asyncio.run(main())
except BaseException: results = []
assert not any(isinstance(result, Exception) for result in results)
"""


@pytest.mark.parametrize(
    "lie",
    ["{}", "{'ready': [[99, {'value': 1}]]}", "{**reply, 'ready': reply['ready'] * 2}", "{**reply, 'given': [[0, 7]]}"],
)
@pytest.mark.parametrize("tests", [OF_TASKS, KEPT], ids=["caught", "kept"])
def test_lies_about_tasks_buy_nothing(lie, tests, executor):
    verdict = judge(asserts(tests, entry_point="f"), LIES.replace("LIE", lie), executor)
    # The last case passes where the tests catch everything.
    assert (verdict.outcome, verdict.cases[0].passed) == (Outcome.FAIL, False), verdict.cases
