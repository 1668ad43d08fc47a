"""JavaScript tests in the shapes in which people write them, for right answers and for wrong ones."""

import pytest

from code_env import AssertTest, CallTest, Task
from code_env.judging import judge_many

RIGHT = "function f(x) { if (x < 0) throw new RangeError('negative'); return x; }"
WRONG = "function f(x) { return x + 1; }"
SUITES = {
    "assert.fail": (
        "try { f(-1); assert.fail('no'); } catch (e) { assert.ok(e instanceof RangeError); }\nassert.equal(f(1), 1);"
    ),
    "assert.fail of a module": "const assert = require('assert');\nif (f(1) !== 1) assert.fail('no');",
    "assert(false)": "if (f(1) !== 1) assert(false, 'no');",
    "assert.ok(false)": "if (f(1) !== 1) assert.ok(false);",
    "an exit code": "if (f(1) !== 1) process.exitCode = 1;",
    "an exception": "if (f(1) !== 1) throw new Error('no');",
}


def judged(task, answers, executor):
    return [verdict.fraction for verdict in judge_many([(task, answer) for answer in answers], executor)]


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_decides(name, executor):
    test = AssertTest(SUITES[name], language="javascript")
    task = Task("t", "", (test,), entry_point="f", language="javascript")
    tampering = f"require('assert').fail = () => {{}}; process.exitCode = 0; {WRONG}"
    answers = [RIGHT, f"process.exitCode = 3; {RIGHT}", WRONG, tampering]
    assert judged(task, answers, executor) == [1.0, 1.0, 0.0, 0.0]


def test_a_method_of_solution_is_the_function_that_was_asked_for(executor):
    task = Task("t", "", (CallTest((1,), expected=2),), entry_point="f", language="javascript")
    right = [
        "class Solution { f(x) { return x + this.one(); } one() { return 1; } }",
        "module.exports = class Solution { f(x) { return x + 1; } }",
        "module.exports = class { f(x) { return x + 1; } }",
        "export default class Solution { f(x) { return x + 1; } }",
        "class Solution { f(x) { return 0; } }\nfunction f(x) { return x + 1; }",
    ]
    wrong = ["class Solution { f(x) { return x; } }", "class Solution { g(x) { return x + 1; } }", "class Solution {}"]
    assert judged(task, right + wrong, executor) == [1.0] * len(right) + [0.0] * len(wrong)
