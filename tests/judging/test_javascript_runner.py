"""Tests in JavaScript that are written for `node:test`."""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

RIGHT = "function f(x) { return 2 * x; }"
WRONG = "function f(x) { return x; }"
REQUIRED = "const { test, describe, it, before, after, beforeEach, afterEach, mock } = require('node:test');\n"
CHECK = "const check = (a, b) => { if (a !== b) throw new Error('no'); };\n"
SUITES = {
    "a test": "test('doubles', () => { assert.equal(f(1), 2); });",
    "the module as a function": (
        "const t = require('node:test');\nt('doubles', async () => { assert.equal(await f(1), 2); });"
    ),
    "a test in a test": CHECK + "test('f', async () => { await null; await test('doubles', () => check(f(1), 2)); });",
    "a suite": "describe('f', () => { it('doubles', () => { assert.equal(f(1), 2); }); });",
    "a subtest": "test('f', async (t) => { await t.test('doubles', () => { assert.equal(f(1), 2); }); });",
    "an awaited test": "await test('doubles', () => { assert.equal(f(1), 2); });",
    "a callback": "test('doubles', (t, done) => { setTimeout(() => { assert.equal(f(1), 2); done(); }, 2); });",
    "no assert": CHECK + "test('doubles', () => check(f(1), 2));\ntest('again', async () => check(await f(0), 0));",
    "no assert, in a suite": CHECK + "describe('f', () => { it('doubles', async () => { check(await f(1), 2); }); });",
    "an error for a callback": "test('doubles', (t, done) => { done(f(1) === 2 ? null : new Error('no')); });",
    "a hook": "let x;\nbefore(async () => { x = await f(1); });\n" + CHECK + "test('x', () => check(x, 2));",
    "a hook that fails": CHECK + "let x = 0;\nafterEach(() => check(f(x), 2));\ntest('x', () => { x = 1; });",
    "a hook at the end": CHECK + "let x = 0;\nafter(() => check(f(x), 2));\ntest('x', () => { x = 1; });",
    "what is left out": (
        CHECK + "test('no', { skip: true }, () => { throw 1; });\nit.skip('no', () => { throw 2; });\n"
        "test.todo('later');\ntest('todo', { todo: true }, () => { throw 3; });\ntest('yes', () => check(f(1), 2));"
    ),
    "mocks": (
        "test('calls', (t) => { const g = t.mock.fn((x) => f(x)); g(1);\n"
        "assert.deepEqual(g.mock.calls[0].result, 2); });\n"
        "test('methods', () => { const o = { m: f }; mock.method(o, 'm'); assert.equal(o.m(2), 4); });"
    ),
}


def judged(text, answers, executor):
    task = Task("t", "", (AssertTest(REQUIRED + text, language="javascript"),), language="javascript")
    return judge_many([(task, answer) for answer in answers], executor)


@pytest.mark.parametrize("name", SUITES)
def test_what_is_written_for_node_decides(name, executor):
    hanging = "function f(x) { return new Promise(() => {}); }"
    verdicts = judged(SUITES[name], [RIGHT, WRONG, hanging], executor)
    assert [verdict.fraction for verdict in verdicts] == [1.0, 0.0, 0.0]


def test_hooks_come_in_the_order_in_which_node_calls_them(executor):
    """The order is what Node 20 prints."""
    text = """
before(() => log.push('B')); beforeEach(() => log.push('b')); afterEach(() => log.push('a'));
test('t1', () => { log.push('t1'); });
describe('s', () => {
  before(() => log.push('sB')); beforeEach(() => log.push('sb'));
  afterEach(() => log.push('sa')); after(() => log.push('sA'));
  it('s1', async () => { await null; log.push('s1'); });
  it('s2', (t, done) => { log.push('s2'); setTimeout(done, 5); });
});
test('t3', async (t) => { log.push('t3'); await t.test('sub', () => { log.push('sub'); }); });
log.push('top');
after(() => assert.equal(log.join(), 'B,top,b,t1,a,sB,b,sb,s1,sa,a,b,sb,s2,sa,a,sA,b,t3,b,sub,a,a'));
"""
    (verdict,) = judged(f"const log = [];{text}", [RIGHT], executor)
    assert verdict.fraction == 1.0, verdict.cases


TAMPERING = {
    "another runner": (
        "const own = require('node:test');\nfor (const key of Object.keys(own)) try { own[key] = () => {}; } catch {}\n"
        "require.cache['node:test'] = { exports: () => {} };"
    ),
    "tests of its own": "try { require('node:test').after(() => process.exit(0)); } catch {}",
    "other mocks": (
        "const { mock } = require('node:test');\n"
        "Object.getPrototypeOf(mock).fn = () => Object.assign(() => 2, { mock: { calls: [{ result: 2 }] } });"
    ),
    "another exit code": "process.on('exit', () => { process.exitCode = 0; });",
    "an exit": "const leave = () => process.exit(0);",
}


@pytest.mark.parametrize("name", TAMPERING)
def test_an_answer_cannot_reach_the_runner(name, executor):
    text = f"{CHECK}test('f', (t) => {{ const g = t.mock.fn(f); g(1); check(g.mock.calls[0].result, 2); }});"
    wrong = WRONG if name != "an exit" else "function f() { leave(); }"
    right, cheated = judged(text, [f"{TAMPERING[name]}\n{RIGHT}", f"{TAMPERING[name]}\n{wrong}"], executor)
    assert (right.fraction, cheated.fraction) == (1.0, 0.0)


def test_a_failure_names_the_test(executor):
    (verdict,) = judged(f"{CHECK}describe('f', () => {{ it('doubles', () => check(f(1), 2)); }});", [WRONG], executor)
    assert 'the test "f > doubles" failed: Error: no' in verdict.cases[0].message
