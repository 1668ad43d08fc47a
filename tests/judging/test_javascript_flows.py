"""Tests in JavaScript that start async functions and do not wait for them: they must come to an end.

An answer whose promise never settles leaves Node with nothing to do, and Node ends without an error.
"""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

RIGHT = "const f = async (x) => { await null; return 2 * x; };"
NEVER = "const f = async (x) => x === 1 ? 2 : new Promise(() => {});"
CHECK = "const check = (a, b) => { if (a !== b) throw new Error('no'); };\n"
WAITING = {
    "a function": "(async () => { for (const x of [1, 2, 3]) assert.equal(await f(x), 2 * x); })();",
    "a function with a handler": (
        "async function main() { for (const x of [1, 2]) assert.equal(await f(x), 2 * x); }\n"
        "main().catch((e) => { console.error(e); process.exit(1); });"
    ),
    "a helper": (
        "const one = async (x, y) => { assert.equal(await f(x), y); };\n"
        "(async () => { await one(1, 2); await one(2, 4); })();"
    ),
    "a table": "Promise.all([1, 2, 3].map(async (x) => { assert.equal(await f(x), 2 * x); })).then(() => {});",
    "no cases": CHECK + "(async () => { check(await f(1), 2); check(await f(2), 4); })();",
    "an own runner": (
        "const tests = [];\nconst test = (name, run) => tests.push([name, run]);\n"
        "test('a', async () => { if (await f(2) !== 4) throw new Error('no'); });\n"
        "(async () => { let failed = 0; for (const [, run] of tests) try { await run(); } catch { failed += 1; }\n"
        "process.exit(failed ? 1 : 0); })();"
    ),
    "tests that run at once": (
        CHECK + "const test = async (run) => { try { await run(); } catch { process.exitCode = 1; } };\n"
        "test(async () => check(await f(2), 4));\ntest(async () => check(await f(1), 2));"
    ),
    "a loop with a way out": (
        CHECK + "(async () => { for (let x = 1; ; x += 1) { check(await f(x), 2 * x); if (x > 3) return; } })();"
    ),
}


def judged(text, answer, executor):
    test = AssertTest(text, language="javascript")
    (verdict,) = judge_many([(Task("t", "", (test,), language="javascript"), answer)], executor)
    return verdict


@pytest.mark.parametrize("name", WAITING)
def test_tests_that_still_wait_have_not_ended(name, executor):
    assert judged(WAITING[name], RIGHT, executor).fraction == 1.0
    verdict = judged(WAITING[name], NEVER, executor)
    assert verdict.fraction == 0.0
    assert "an async function of theirs still waits" in verdict.cases[0].message


QUEUE = (
    "class Queue { a = []; w = []; put(x) { const w = this.w.shift(); if (w) w(x); else this.a.push(x); }\n"
    "get() { return this.a.length ? Promise.resolve(this.a.shift()) : new Promise((r) => this.w.push(r)); } }"
)
LIMIT = (
    "const limited = (run, ms) => Promise.race([Promise.resolve().then(run),\n"
    "new Promise((_, reject) => setTimeout(() => reject(new Error('late')), ms))]);"
)
SEMAPHORE = "class Semaphore { n = 1; async acquire() { this.n -= 1; if (this.n < 0) await new Promise(() => {}); } }"
EMPTYING = "const q = new Queue();\nconst seen = [];\n"
FEEDING = "q.put(1); q.put(2); for (let i = 0; i < 9; i += 1) await null; assert.deepEqual(seen, [1, 2]);"
TAKING = (
    "let got = 0;\nconst s = new Semaphore();\n"
    "const take = async () => { await s.acquire(); got += 1; };\ntake(); take();\n"
)
ENDLESS = {
    "what empties a queue": (
        QUEUE,
        f"{EMPTYING}(async () => {{ while (seen.length < 9) seen.push(await q.get()); }})();\n"
        f"(async () => {{ {FEEDING} }})();",
    ),
    "what empties a queue, started last": (
        QUEUE,
        f"{EMPTYING}(async () => {{ {FEEDING} }})();\n(async () => {{ for (;;) seen.push(await q.get()); }})();",
    ),
    "what a timer looks at": (
        QUEUE,
        f"{EMPTYING}(async () => {{ while (seen.length < 9) seen.push(await q.get()); }})();\nq.put(1); q.put(2);\n"
        "setTimeout(() => assert.deepEqual(seen, [1, 2]), 10);",
    ),
    "beside tests that await": (
        QUEUE,
        f"{EMPTYING}(async () => {{ while (seen.length < 9) seen.push(await q.get()); }})();\n{FEEDING}",
    ),
    "who stays outside": (SEMAPHORE, f"{TAKING}setImmediate(() => assert.equal(got, 1));"),
    "who stays outside till the end": (SEMAPHORE, f"{TAKING}process.on('exit', () => assert.equal(got, 1));"),
    "what an answer calls": (
        LIMIT,
        "(async () => { await assert.rejects(limited(async () => { await new Promise(() => {}); }, 5), /late/);\n"
        "assert.equal(await limited(async () => 3, 20), 3); })();",
    ),
    "what an answer is given": (
        LIMIT,
        "const never = async () => { await new Promise(() => {}); };\nconst p = never();\n"
        "assert.rejects(limited(() => p, 5), /late/);",
    ),
    "who waits when the tests exit": (
        RIGHT,
        "(async () => { assert.equal(await f(1), 2); process.exit(0); })();\n"
        "(async () => { await new Promise((r) => process.once('never', r)); })();",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_tests_may_have_functions_that_never_end(name, executor):
    answer, text = ENDLESS[name]
    verdict = judged(text, answer, executor)
    assert verdict.fraction == 1.0, verdict.cases


HIDING = {
    "a script of the same name": (
        "const text = '(class { async run() {} async f() { await new Promise(() => {}); } })';\n"
        "const S = require('vm').runInThisContext(text, { filename: 'tests.js' });"
    ),
    "no calls to show": (
        "class S { async run() {} f() { Error.stackTraceLimit = 0; Error.prepareStackTrace = () => ''; "
        "return new Promise(() => {}); } }"
    ),
    "no calls to show, for good": (
        "class S { async run() {} f() { return new Promise(() => {}); } constructor() {\n"
        "Object.defineProperty(Error, 'stackTraceLimit', { value: 0, writable: false, configurable: false }); } }"
    ),
    "another way to show values": (
        "Object.assign(require('util').inspect.defaultOptions, { colors: true, compact: false, showHidden: true });\n"
        "class S { async run() {} f() { return new Promise(() => {}); } }"
    ),
    "hooks of its own": (
        "const { promiseHooks } = require('v8');\n"
        "class S { async run() {} f() { return new Promise(() => {}); } constructor() {\n"
        "for (const key of Object.keys(promiseHooks)) try { promiseHooks[key](() => {})(); } catch {} } }"
    ),
}


@pytest.mark.parametrize("name", HIDING)
def test_an_answer_cannot_hide_that_tests_still_wait(name, executor):
    text = CHECK + "const s = new S();\n(async () => { check(await s.f(1), 2); })();\ns.run();"
    assert judged(text, "class S { async run() {} async f(x) { return 2 * x; } }", executor).fraction == 1.0
    assert judged(text, HIDING[name], executor).fraction == 0.0
