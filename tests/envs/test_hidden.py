"""Policies that try, turn by turn, to read hidden tests; the feedback tells them how many tests passed, and no more."""

import re

import pytest

from code_env import AssertTest, CallTest, CodeExecEnv, StdinTest, Task, TaskSuite, judge
from code_env.harness.wire.channel import _header

TURNS = 20
FIRST, SECOND = "input-tango", "input-quebec"
TASKS = {
    "assert": Task(
        "t", "Write f.", (AssertTest(f"assert f({FIRST!r}) == 'S1'\nassert f({SECOND!r}, [3]) == 'S2'"),), "f"
    ),
    "assert with helpers": Task(
        "t",
        "Write f.",
        (AssertTest(f"def check(candidate):\n    assert candidate({FIRST!r}) == helper_sierra()"),),
        "f",
        setup="",
    ),
    "call": Task("t", "Write f.", (CallTest((FIRST,), expected="S1"), CallTest((SECOND, [3]), expected="S2")), "f"),
    "stdin": Task("t", "Echo.", (StdinTest(FIRST, "S1"), StdinTest(SECOND, "S2"))),
}

PEEK = """
import json, os, socket, struct, sys, threading, time
def peek(wait=0.0):
    "All that waits in the descriptors of this process."
    time.sleep(wait)
    found = b""
    for fd in range(3, 64):
        try:
            found += socket.socket(fileno=os.dup(fd)).recv(1 << 16, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            pass
    return found
def send(message):
    "A frame of this process's own to whoever judges it."
    text = json.dumps(message).encode()
    for fd in range(3, 64):
        try:
            socket.socket(fileno=os.dup(fd)).send(FRAME(len(text)) + text)
        except OSError:
            pass
def report(text):
    "An error as the harness would tell of it, to whoever takes it."
    line = json.dumps({"name": "E", "message": text, "traceback": text}).encode() + b"\\n"
    for fd in range(3, 64):
        try: os.write(fd, line)
        except OSError: pass
"""
POLICIES = {
    "looks at its descriptors": "raise ValueError(repr(peek(0.2)))",
    "looks again and again": """
for _ in range(50):
    if (found := peek(0.01)): raise ValueError(repr(found))
raise ValueError('nothing')
""",
    "says that it is loaded, then reports an error": """
send({"n": 0, "error": None})
text = repr(peek(0.3))
report(text)
raise ValueError(text)
""",
    "says that it is loaded, then dies with an error of its own": """
send({"n": 0, "error": None})
text = repr(peek(0.3))
print(text, file=sys.stderr, flush=True)
send({"n": 0, "error": {"name": "E", "message": text, "traceback": text}})
os._exit(3)
""",
    "says that it is loaded, then tells by its exit code": """
send({"n": 0, "error": None})
os._exit(len(peek(0.3)) % 100 + 100)
""",
    "says that it is loaded, then tells by a signal": """
send({"n": 0, "error": None})
os.kill(os.getpid(), [9, 15, 10][len(peek(0.3)) % 3])
""",
    "says that it does not compile": """
send({"n": 0, "error": None})
text = repr(peek(0.3))
send({"n": 0, "error": {"name": "SyntaxError", "message": text, "traceback": text}, "uncompiled": True})
""",
    "has a thread that looks later": """
def later():
    text = repr(peek(0.2))
    report(text)
    sys.stderr.write(text)
    os._exit(1)
threading.Thread(target=later).start()
def f(*args): time.sleep(1)
""",
    "tells by its exceptions": "def f(*args): raise [KeyError, IndexError, OSError][len(args[0]) % 3](args)",
    "tells by its own exceptions": "def f(*args): raise type(args[0].replace('-', '_'), (Exception,), {})(args)",
    "shows its inputs": "def f(*args):\n    print(args)\n    raise ValueError(args)\nf(sys.stdin.read())",
    "shows a traceback": "def f(*args):\n    exec(compile('raise ValueError', repr(args), 'exec'))",
}
SECRETS = ("tango", "quebec", "sierra", "S1", "S2")
WORDS = re.compile(
    r"\d+ of \d+ tests passed\."
    r"(\n|Hidden tests not passed: \d+ \((wrong result|error|timeout|memory|not reached)\)\.)*"
)


@pytest.fixture(scope="module", params=TASKS)
def env(request, executor):
    with CodeExecEnv(TaskSuite("hidden", [TASKS[request.param]]), executor, max_turns=TURNS) as made:
        made.reset(seed=0)
        yield made


def test_what_a_policy_is_told_holds_nothing_of_hidden_tests(env):
    frame = f"def FRAME(size): return struct.pack({_header.format!r}, size, ord('M'))"
    for name, code in POLICIES.items():
        *_, info = env.step(f"{PEEK}{frame}\n{code}")
        told = info["messages"][-1]["content"]
        assert not [secret for secret in SECRETS if secret in told], (name, told)
        assert "code_env" not in told, (name, told)
        assert "exit code" not in told, (name, told)
        if info["outcome"] == "fail":
            assert WORDS.fullmatch(told), (name, told)


JAVASCRIPT_TASKS = {
    "assert": Task(
        "t",
        "Write f.",
        (
            AssertTest(
                "const assert = require('assert');\n"
                f"assert.equal(f({FIRST!r}), 'S1'); assert.equal(f({SECOND!r}), 'S2')",
                language="javascript",
            ),
        ),
        "f",
        language="javascript",
    ),
    "call": Task(
        "t",
        "Write f.",
        (CallTest((FIRST,), expected="S1"), CallTest((SECOND, [3]), expected="S2")),
        "f",
        language="javascript",
    ),
    "stdin": Task("t", "Echo.", (StdinTest(FIRST, "S1"), StdinTest(SECOND, "S2")), language="javascript"),
}

JAVASCRIPT_PEEK = """
const fs = require('fs');
function peek(most) {
  let found = JSON.stringify([process.argv, process.env]);
  for (const name of fs.readdirSync('.')) found += fs.readFileSync(name, 'latin1');
  for (let fd = 0; fd < most; fd++) {
    try {
      const bytes = Buffer.alloc(65536);
      found += bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, 65536, null));
    } catch (error) {}
  }
  return found;
}
"""
JAVASCRIPT_POLICIES = {
    "throws what its files and arguments hold": "throw new Error(peek(0))",
    "throws what its standard input holds": "throw new Error(peek(1))",
    "throws what its descriptors hold": "throw new Error(peek(40))",
    "prints it and ends": "const found = peek(1); console.log(found); console.error(found); process.exit(3);",
    "looks later": "setTimeout(() => { console.error(peek(1)); process.exit(1); }, 50); function f() { return 1; }",
    "throws its inputs": "function f(...args) { throw new Error(JSON.stringify(args)); }",
    "throws an error of a class named after its input": """
function f(text) { const C = { [text]: class extends Error {} }[text]; throw new C(text); }
""",
    "prints its inputs": "function f(...args) { console.log(args); console.error(args); return args; }",
    "ends with a code that tells": "function f(text) { process.exit(text.length % 100 + 100); }",
    "ends by a signal that tells": "function f(text) { process.kill(process.pid, [9, 15, 10][text.length % 3]); }",
    "rejects with its inputs": "async function f(...args) { return Promise.reject(new Error(args)); }",
    "shows a stack": "function f(...args) { return new Function(`throw new Error(${JSON.stringify(args)})`)(); }",
}


@pytest.mark.parametrize("kind", JAVASCRIPT_TASKS)
def test_what_a_policy_is_told_of_an_answer_in_javascript_holds_nothing_of_hidden_tests(kind, executor):
    suite = TaskSuite("hidden", [JAVASCRIPT_TASKS[kind]]).with_limits({"wall_s": 3})
    with CodeExecEnv(suite, executor, max_turns=TURNS) as env:
        env.reset(seed=0)
        for name, code in JAVASCRIPT_POLICIES.items():
            *_, info = env.step(JAVASCRIPT_PEEK + code)
            told = info["messages"][-1]["content"]
            assert not [secret for secret in SECRETS if secret in told], (name, told)
            assert "code_env" not in told, (name, told)
            if info["outcome"] == "fail":
                assert WORDS.fullmatch(told), (name, told)


def test_a_public_test_is_shown_and_hidden_ones_are_not(executor):
    """An answer that keeps what it was given shows what public tests gave it only."""
    task = Task("t", "Write f.", (CallTest((1,), expected=2, hidden=False), CallTest((FIRST,), expected=3)), "f")
    with CodeExecEnv(TaskSuite("hidden", [task]), executor, max_turns=2) as env:
        env.reset(seed=0)
        *_, info = env.step("seen = []\ndef f(x):\n    seen.append(x)\n    raise ValueError(seen)")
        told = info["messages"][-1]["content"]
        assert "Public test not passed: f(1): ValueError: [1]" in told
        assert "Hidden tests not passed: 1 (error)." in told
        assert "tango" not in told


CALLS_BACK = """
def apply(f, x):
    try:
        return f(x)
    except KeyError as error:
        raise ValueError('no') from error
"""


def test_frames_of_the_harness_are_in_no_traceback(executor):
    """Also where the answer calls a function of the tests that fails, and where one error led to another."""
    suite = "def helper(x):\n    raise KeyError(x)\nassert apply(helper, 1) == 1"
    task = Task("t", "Write apply.", (AssertTest(suite, hidden=False),), "apply")
    error = judge(task, CALLS_BACK, executor).execution.error
    assert error is not None
    files = re.findall(r'File "(.*?)"', error.traceback)
    assert files.count("main.py") == 2
    assert {*files} <= {"main.py", "<tests>"}
