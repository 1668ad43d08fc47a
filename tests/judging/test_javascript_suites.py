"""JavaScript tests in the shapes in which people write them, for right answers and for wrong ones."""

import pytest

from code_env import AssertTest, CallTest, Limits, Task
from code_env.judging import judge_many
from tiers import sample

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


RAISING = {
    "a function": "function g(x) { return x.length; }",
    "a function expression": "const g = function (x) { return x.length; };",
    "an arrow": "const g = (x) => x.length;",
    "an arrow without parentheses": "const g = x => { return x.no().length; };",
    "an async function": "async function g(x) { return x.length; }",
    "an async arrow": "const g = async (x) => (await x).length;",
    "an async arrow without parentheses": "const g = async x => { await 1; return x.length; };",
    "an async arrow with a comment": "const g = async/* of x */(x, { y } = {}, ...z) => x.no().length;",
    "an async arrow in a template": "const g = async (x) => `${await (async () => x.length)()}`;",
    "a generator": "const g = (x) => [...(function* () { yield x.length; })()];",
    "an async generator": "const h = async function* (x) { yield x.length; };\nconst g = (x) => h(x).next();",
    "a method": "const o = { m(x) { return x.no(); }, async n(x) { return this.m(x); } };\nconst g = (x) => o.n(x);",
    "a getter": "const g = (x) => ({ get m() { return x.length; } }).m;",
    "a default": "const g = async (x, y = x.length) => y;",
    "a class": "class A { constructor(x) { this.l = x.length; } }\nclass B extends A {}\nconst g = (x) => new B(x);",
    "a class without new": "class A { #p = 1; }\nconst g = (x) => A(x);",
    "a field": "const g = (x) => { class A { l = x.length; #p = 1; } return new A(); };",
    "an async arrow in a field": "const g = (x) => { class A { l = async () => x.length; } return new A().l(); };",
    "a static block": "const g = (x) => { class A { static { this.l = x.length; } } return A; };",
    "a private member": "const g = (x) => { class A { static m(a) { return a.#p; } #p = 1; } return A.m({ x }); };",
    "its iterator": "const g = async (x) => { const [y] = x; return y; };",
    "what it calls": "const g = async (x) => { for (const y of [x]) y(); };",
    "what it constructs": "const g = async (x) => new x();",
}


@pytest.mark.parametrize("fate", ["caught", "expected", "uncaught"])
def test_tests_may_raise_a_type_error(fate, executor, some):
    """V8 reads the code again that raised one. What stands for the tests by then must not end Node."""
    ends = {
        "caught": "let e;\ntry { await g(f()); } catch (error) { e = error; }\nassert(e instanceof TypeError);",
        "expected": "await assert.rejects(async () => { await g(f()); }, TypeError);\nassert.equal(f(2), 2);",
        "uncaught": "await g(f());\nassert.equal(f(2), 2);",
    }
    # What becomes of an error is the same for all that raise one.
    forms = some(RAISING if fate == "caught" else sample(RAISING, 3), 6)
    texts = {name: f"assert.equal(f(1), 1);\n{RAISING[name]}\n{ends[fate]}" for name in forms}
    tests = {name: (AssertTest(text, language="javascript"),) for name, text in texts.items()}
    jobs = [(Task("t", "", test, entry_point="f", language="javascript"), RIGHT) for test in tests.values()]
    verdicts = dict(zip(forms, judge_many(jobs, executor), strict=True))
    passed = {name: ([case.passed for case in verdict.cases], verdict.cases) for name, verdict in verdicts.items()}
    wanted = [True, False] if fate == "uncaught" else [True] * (3 if fate == "expected" else 2)
    assert {name: found for name, found in passed.items() if found[0] != wanted} == {}


def test_a_type_error_at_the_top_of_the_tests(executor):
    text = (
        "assert.equal(f(1), 1);\n"
        "try { f().length; assert.fail('no'); } catch (e) { assert.ok(e instanceof TypeError); }\n"
        "assert.throws(() => f().length, TypeError);\nf().length;\nassert.equal(f(2), 2);"
    )
    task = Task("t", "", (AssertTest(text, language="javascript"),), entry_point="f", language="javascript")
    assert judged(task, [RIGHT, WRONG], executor) == [0.75, 0.0]


EXPECTED = {
    "assert.throws(() => f(-1), { name: 'RangeError', message: /^neg/ });": "",
    "assert.throws(() => f(-1), new RangeError('negative'));": "",
    "await assert.rejects(async () => f(-1), { message: 'negative' }, 'no');": "",
    "assert.throws(() => f(-1), { name: 'Bad' });": "Expected values to be strictly deep-equal",
    "assert.throws(() => f(-1), { code: undefined });": "Expected values to be strictly deep-equal",
    "await assert.rejects(async () => f(-1), { name: 'Bad' }, 'in my words');": "in my words",
    "assert.throws(() => f(-1), {});": "may not be an empty object",
    "assert.throws(() => f(1), { name: 'Bad' });": "Missing expected exception (Bad).",
    "await assert.rejects(async () => f(1), new RangeError('x'));": "Missing expected rejection (RangeError).",
}


def test_an_object_that_is_expected_to_be_thrown_is_compared_as_node_does(executor):
    test = AssertTest("\n".join(EXPECTED), language="javascript")
    (verdict,) = judge_many([(Task("t", "", (test,), entry_point="f", language="javascript"), RIGHT)], executor)
    found = {text: case.message for text, case in zip(EXPECTED, verdict.cases, strict=True)}
    differing = {
        text: said for text, said in found.items() if EXPECTED[text] not in said or bool(said) != bool(EXPECTED[text])
    }
    assert differing == {}


HOLDING = (
    "require('child_process').spawn('sleep', ['1000'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 4] })"
    ".unref();\nfunction f(x) { %s }"
)


def test_a_child_that_holds_the_channel_does_not_outlive_its_test(executor):
    """A test ends when Node ends, also if a child still holds the channel."""
    tests = {
        "call": (CallTest((1,), expected=1), CallTest((2,), expected=2)),
        "assert": (AssertTest("assert.equal(f(1), 1);\nassert.equal(f(2), 2);", language="javascript"),),
    }
    ends = {"return x;": "ok", "process.reallyExit(0);": "error", "process.kill(process.pid, 9);": "signal"}
    jobs = {(kind, end): (task_with_children(tests[kind]), HOLDING % end) for kind in tests for end in ends}
    verdicts = dict(zip(jobs, judge_many(jobs.values(), executor), strict=True))
    found = {key: {case.status for case in verdict.cases} for key, verdict in verdicts.items()}
    assert found == {(kind, end): {status} for kind in tests for end, status in ends.items()}
    passed = {key for key, verdict in verdicts.items() if verdict.passed}
    assert passed == {(kind, "return x;") for kind in tests}


def task_with_children(tests):
    return Task("t", "", tests, entry_point="f", language="javascript", limits=Limits(processes=2))


UNUSUAL = {
    "a method that is a field": (
        (CallTest((1, 2), expected=3),),
        "Solution.f",
        ["class Solution { f = (a, b) => a + b; }", "function Solution() { this.f = (a, b) => a + b; }"],
        ["class Solution { f = (a, b) => a - b; }", "class Solution { f = 3; }", "class Solution { g = () => 3; }"],
    ),
    "a field of Solution, where a function was asked for": (
        (CallTest((1, 2), expected=3),),
        "f",
        ["class Solution { f = (a, b) => a + b; }", "module.exports = class { f = (a, b) => a + b; };"],
        ["class Solution { constructor() { throw 1; } f = (a, b) => a + b; }"],
    ),
    "a class in a call test": (
        (CallTest((1, 2), expected={"sum": 3}),),
        "P",
        [
            "class P { constructor(a, b) { this.sum = a + b; } }",
            "const P = class { #a; constructor(a, b) { this.sum = a + b } };",
        ],
        ["class P { constructor(a, b) { this.sum = a; } }", "class P { constructor() { throw 1; } }", "class P {}"],
    ),
    "a function that begins like a class": ((CallTest((3,), expected=3),), "f", ["const f = class$ => class$;"], []),
    "a return outside functions": (
        (CallTest((1, 2), expected=3),),
        "f",
        [
            "function f(a, b) { return a + b; }\nif (require.main !== module) return;\nthrow 1;",
            "const f = (a, b) => a + b;\nreturn;",
            "#!/usr/bin/env node\nfunction f(a, b) { return a + b; }\nreturn;\nconst no = 1;",
            "// strict\n'use strict';\nfunction f(a, b) { return this === undefined ? a + b : 0; }\nreturn;",
            "function f(a, b) { return this === globalThis ? a + b : 0; }\nreturn 'use strict';",
        ],
        ["return;\nconst f = (a, b) => a + b;", "function f() {}\nreturn () => () => 3;"],
    ),
    "a method of the tests with the name assert": (
        (
            AssertTest(
                "class T { assert(x) { if (!x) throw new Error('no'); } }\nnew T().assert(f(1) === 1);\n"
                "const o = { async assert(x) { assert(x); } };\nawait o.assert(f(2) === 2);\n"
                "assert(f(3) === 3)\n{ assert.equal(f(4), 4); }",
                language="javascript",
            ),
        ),
        "f",
        [RIGHT],
        [WRONG],
    ),
    "an interval that is left": (
        (AssertTest("assert.equal(f(1), 1);\nsetTimeout(() => assert.equal(f(2), 2), 20);", language="javascript"),),
        "f",
        [f"setInterval(() => {{}}, 50);\n{RIGHT}"],
        [f"setInterval(() => {{}}, 50);\n{WRONG}"],
    ),
    "the text of the answer": (
        (AssertTest("assert(!/for|while/.test(f.toString()));\nassert(`${f}`.includes('x'));", language="javascript"),),
        "f",
        [RIGHT, "const f = (x) => x;", "class f { x() {} }"],
        [],
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_answers_and_tests(name, executor):
    tests, entry_point, right, wrong = UNUSUAL[name]
    task = Task("t", "", tests, entry_point=entry_point, language="javascript", limits=Limits(wall_s=6))
    assert judged(task, right + wrong, executor) == [1.0] * len(right) + [0.0] * len(wrong)


def test_tests_find_what_an_answer_must_not_have(executor):
    test = AssertTest("assert(!/for|while/.test(f.toString()));\nassert.equal(f(2), 2);", language="javascript")
    task = Task("t", "", (test,), entry_point="f", language="javascript")
    assert judged(task, ["function f(x) { for (;;) return x; }", RIGHT], executor) == [0.5, 1.0]


FLOODS = {
    "asks while it loads": "send('{\"loaded\":true}\\n'); for (;;) send('\"ask\"\\n'); function f() {}",
    "asks in a call": "function f() { for (;;) send('\"ask\"\\n'); }",
    "values": "function f() { for (;;) send('{\"value\":0}\\n'); }",
    "lists": "function f() { const s = `[${'1,'.repeat(1e5)}1]\\n`; for (;;) send(s); }",
}


def test_who_floods_the_channel_is_cut_off(executor):
    """Reading it would cost time that the limits of the answer do not bound."""
    task = Task("t", "", (CallTest((1,), expected=1),), entry_point="f", language="javascript")
    codes = [f"const send = (text) => require('fs').writeSync(4, text);\n{FLOODS[name]}" for name in FLOODS]
    verdicts = dict(zip(FLOODS, judge_many([(task, code) for code in codes], executor), strict=True))
    assert {name: (v.fraction, v.cases[0].status) for name, v in verdicts.items()} == dict.fromkeys(
        FLOODS, (0.0, "error")
    )


def test_a_long_argument_and_a_long_answer_cross(executor):
    numbers = list(range(100_000))
    task = Task("t", "", (CallTest((numbers,), expected=numbers[::-1]),), entry_point="f", language="javascript")
    assert judged(task, ["const f = (xs) => xs.reverse();", "const f = (xs) => xs;"], executor) == [1.0, 0.0]


EACH = "for (const x of [1, 2, 3]) assert.strictEqual(await f(x), x);"
CHECK = "function check(a, b) { assert.strictEqual(a, b); }\n"
UNAWAITED = {
    "a function": f"(async () => {{ {EACH} }})();",
    "a named function": f"async function main() {{ {EACH} }}\nmain();",
    "a callback": "[1, 2].forEach(async (x) => { assert.strictEqual(await f(x), x); });",
    "a timer": f"{CHECK}check(f(1), 1);\nsetTimeout(() => check(f(2), 2), 20);",
    "an error in a timer": "assert.equal(f(1), 1);\nsetTimeout(() => { if (f(2) !== 2) throw new Error('no'); }, 10);",
    "a rejection": "(async () => { assert.equal(await f(1), 1); if (await f(2) !== 2) throw new Error('no'); })();",
    "an exit code at the end": (
        "assert.equal(f(1), 1);\nprocess.on('exit', () => { if (f(2) !== 2) process.exitCode = 1; });"
    ),
    "a case at the end": "process.once('exit', (code) => { assert.equal(f(2), 2); assert.equal(code, 0); });",
    "an error at the end": "process.prependListener('exit', () => { if (f(2) !== 2) throw new Error('no'); });",
    "an exit": f"{CHECK}(async () => {{ check(await f(1), 1); check(await f(2), 2); process.exit(0); }})();",
    "an exit with a code": "let n = 0;\nif (f(2) !== 2) n += 1;\nprocess.exit(n);",
    "an exit that says no code": "process.on('exit', () => { process.exitCode = f(2) - 2; });\nprocess.exit();",
    "an own runner": (
        "const test = async (fn) => { try { await fn(); } catch (e) { process.exitCode = 1; } };\n"
        "(async () => { await test(async () => { assert.equal(await f(1), 1); });\n"
        "await test(async () => { if (await f(2) !== 2) throw new Error('no'); }); })();"
    ),
}


@pytest.mark.parametrize("name", UNAWAITED)
def test_what_tests_do_not_await_counts(name, executor):
    """An answer that gives 1 for everything has reached each case once before it fails one."""
    task = Task("t", "", (AssertTest(UNAWAITED[name], language="javascript"),), entry_point="f", language="javascript")
    forms = ["function f(x) { return %s; }"]
    if "await f" in UNAWAITED[name]:
        forms += [
            "async function f(x) { return %s; }",
            "async function f(x) { await new Promise((r) => setTimeout(r, 3 * x)); return %s; }",
        ]
    assert judged(task, [form % "x" for form in forms], executor) == [1.0] * len(forms)
    verdicts = judge_many([(task, form % "1") for form in forms], executor)
    assert [verdict.passed for verdict in verdicts] == [False] * len(forms)


OWN = {
    "a name and a condition": (
        "const assert = (name, ok) => { if (!ok) throw new Error(name); };\n"
        "assert('one', f(1) === 1);\nassert('two', f(2) === 2);"
    ),
    "two values": "function assert(a, b) { if (a !== b) throw new Error('no'); }\nassert(f(0), 0);\nassert(f(2), 2);",
    "a count": (
        "let failures = 0;\nfunction assert(name, ok) { if (!ok) failures += 1; }\nassert('one', f(1) === 1);\n"
        "assert('two', f(2) === 2);\nif (failures) throw new Error(`${failures} failed`);"
    ),
    "a count and an exit code": (
        "const assert = { failures: 0, same(a, b) { this.failures += a === b ? 0 : 1; } };\n"
        "assert.same(f(1), 1);\nassert.same(f(2), 2);\nprocess.exitCode = assert.failures;"
    ),
    "a count and an exit": (
        "let failures = 0;\nconst assert = (ok) => { failures += ok ? 0 : 1; };\n"
        "assert(f(1) === 1);\nassert(f(2) === 2);\nprocess.exit(failures ? 1 : 0);"
    ),
    "a function to call": "function assert(check) { if (!check()) throw new Error('no'); }\nassert(() => f(1) === 1);",
    "a promise": "async function assert(p, y) { if (await p !== y) throw new Error('no'); }\nassert(f(1), 1);",
    "an awaited promise": (
        "const assert = async (p, y) => { if (await p !== y) throw new Error('no'); return y; };\n"
        "if (await assert(f(1), 1) !== 1) throw new Error('no');"
    ),
    "an object": "const assert = { isTrue(x) { if (!x) throw new Error('no'); } };\nassert.isTrue(f(1) === 1);",
    "equal that compares deeply": (
        "const assert = { equal(a, b) { if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error('no'); } };\n"
        "assert.equal([f(2)], [2]);"
    ),
    "Node's, with one more method": (
        "const { equal } = require('assert');\n"
        "const assert = Object.assign(require('assert'), { one(x) { equal(x, 1); } });\n"
        "assert.one(f(1));\nassert.deepEqual([f(2)], [2]);"
    ),
    "a function of Node's": "const { strictEqual: assert } = require('assert');\nassert(f(1), 1);\nassert(f(0), 0);",
    "what a runner hands over": (
        "const test = (run) => run({ equal(a, b) { if (a !== b) throw new Error('no'); } });\n"
        "test((assert) => { assert.equal(f(1), 1); });"
    ),
    "what it returns": (
        "const assert = (x) => ({ is(y) { if (x !== y) throw new Error('no'); } });\nassert(f(1)).is(1);"
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_tests_may_have_an_assert_of_their_own(name, executor):
    test = AssertTest(OWN[name], language="javascript")
    task = Task("t", "", (test,), entry_point="f", language="javascript")
    tampering = f"const assert = () => {{}}; Object.assign(require('assert'), {{ strictEqual() {{}} }}); {WRONG}"
    assert judged(task, [RIGHT, WRONG, tampering], executor) == [1.0, 0.0, 0.0]


TAKEN = {
    "functions": (
        "const { strictEqual, deepEqual: same } = require('assert');\nstrictEqual(f(1), 1);\nsame([f(2)], [2]);"
    ),
    "the module": "const t = require('node:assert');\nt(f(1) === 1);\nt.equal(f(2), 2);",
    "the strict module": "const t = require('assert').strict;\nt.equal(f(1), 1);",
    "a function": "const is = require('node:assert/strict').equal;\nis(f(1), 1);",
    "no name": "require('assert').equal(f(1), 1);\nrequire('assert').strict.equal(f(2), 2);",
    "in a callback": (
        "const { equal: is } = require('assert');\nconst each = (call) => { try { call(f(1)); } catch {} };\n"
        "each((x) => is(x, 1));"
    ),
    "a parameter of the same name": (
        "const { equal } = require('assert');\nconst run = (equal) => equal('one', 'two', 3);\n"
        "equal(run((...words) => words.length), 3);\nequal(f(1), 1);\n"
        "const no = (equal) => { try { equal(); return 'no'; } catch { return 'yes'; } };\n"
        "if (no(() => { throw new Error('no'); }) !== 'yes' || f(2) !== 2) throw new Error('no');"
    ),
    "another value later": (
        "let t = require('assert');\nt = { count: 0, equal(a, b) { this.count += a === b ? 0 : 1; } };\n"
        "t.equal(f(1), 1);\nif (t.count > 0) throw new Error('no');"
    ),
    "a method of the same name": (
        "const { ok } = require('assert');\nclass T { ok(x) { ok(x); return this; } }\n"
        "new T().ok(f(1) === 1).ok(f(2) === 2);"
    ),
    "what waits": (
        "const { rejects, equal } = require('assert');\nawait rejects(async () => f(-1), RangeError);\n"
        "equal(await f(1), 1);"
    ),
    "an assert that uses them": (
        "const { deepEqual } = require('assert');\nconst assert = { same: async (a, b) => deepEqual(await a, b) };\n"
        "await assert.same(f(1), 1);\nawait assert.same(f(2), 2);"
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_tests_take_out_of_assert_counts(name, executor):
    test = AssertTest(TAKEN[name], language="javascript")
    task = Task("t", "", (test,), entry_point="f", language="javascript")
    right, wrong = judged(task, [RIGHT, WRONG.replace("x + 1", "x < 0 ? x : x + 1")], executor)
    assert right == 1.0
    assert wrong == (0.75 if name == "a parameter of the same name" else 0.0)


STRICT = {
    "strict": "const assert = require('assert').strict;",
    "destructured": "const { strict: assert } = require('node:assert');",
    "in two steps": "const { strict } = require('assert');\nconst assert = strict;",
    "in brackets": "const assert = require('assert')['strict'];",
    "a module": "const assert = require('assert/strict');",
    "a name that is put together": "const assert = require(['node:assert', 'strict'].join('/'));",
}


@pytest.mark.parametrize("name", STRICT)
def test_the_strict_form_of_assert_is_strict(name, executor):
    code = f"{STRICT[name]}\nassert.equal(f(1), 1);\nassert.deepEqual([f(2)], [2]);\nassert.notEqual(f(1), '1');"
    task = Task("t", "", (AssertTest(code, language="javascript"),), entry_point="f", language="javascript")
    assert judged(task, [RIGHT, "const f = (x) => String(x);"], executor) == [1.0, 0.0]


def test_a_property_with_the_name_strict_makes_nothing_strict(executor):
    code = "assert.deepEqual(new P(1), { x: 1 });\nassert.equal({ strict: '1' }.strict, 1);"
    task = Task("t", "", (AssertTest(code, language="javascript"),), entry_point="P", language="javascript")
    answers = ["class P { constructor(x) { this.x = x; } }", "class P { constructor(x) { this.y = x; } }"]
    assert judged(task, answers, executor) == [1.0, 0.5]


ORDERS = {
    "a script": "%s",
    "a script that ends early": "%s\nreturn;",
    "a module": "export { log };\n%s",
    "a module that waits": "await null;\n%s",
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_next_tick_comes_before_promises(name, executor):
    """So it is at the top level of a script of Node's."""
    code = (
        "const said = [];\nlog((x) => said.push(x));\n"
        "setTimeout(() => assert.equal(said.join(), 'sync,tick,promise'), 5);"
    )
    task = Task("t", "", (AssertTest(code, language="javascript"),), entry_point="log", language="javascript")
    right = (
        "const log = (say) => { Promise.resolve().then(() => say('promise')); "
        "process.nextTick(() => say('tick')); say('sync'); };"
    )
    assert judged(
        task, [ORDERS[name] % right, ORDERS[name] % right.replace("process.nextTick", "setTimeout")], executor
    ) == [1.0, 0.0]
