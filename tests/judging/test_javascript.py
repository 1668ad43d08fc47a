"""Honest programs in JavaScript pass, on each executor that runs them; what is wrong is told as for Python."""

import pytest

from code_env import (
    AssertTest,
    CallTest,
    CheckerTest,
    Limits,
    Outcome,
    OutputTest,
    Program,
    StdinTest,
    Task,
    TaskError,
    judge,
    judge_many,
)
from support import somewhere
from tiers import sample

LIMITS = Limits(cpu_s=5, wall_s=20)


@pytest.fixture(scope="module", params=["full", "contained", "subprocess"])
def executor(request):
    with somewhere(request.param) as made:
        yield made


def suite(code):
    return AssertTest(code, language="javascript")


def task(*tests, name=None, **fields):
    return Task("t", "p", tests, entry_point=name, language="javascript", limits=LIMITS, **fields)


SUM = task(StdinTest("3\n1 2 3\n", "6\n"), StdinTest("1\n-5", "-5\n"))
LINES = task(StdinTest("b\na\nc\n", "a\nb\nc\n"))
HELLO = task(OutputTest("hello\n"))
NUMBERS = task(OutputTest("3\n0.1\n1e+21\nNaN\n-Infinity\n[ 1, 2, 3 ] { a: 1 }\n"))
ADD = task(CallTest((1, 2), expected=3), CallTest((0.5, 2.5), expected=3.0), CallTest((-1, 1), expected=0), name="add")
FACTORIAL = task(CallTest((25,), expected=15511210043330985984000000), CallTest((3,), expected=6), name="factorial")
COUNTS = task(CallTest(("abca",), expected={"a": 2, "b": 1, "c": 1}), CallTest(("",), expected={}), name="counts")
SORTED = task(CallTest(([3, 1, 2],), expected=[1, 2, 3]), CallTest(([],), expected=[]), name="sorted")
NOTHING = task(CallTest((), expected=None), name="nothing")
UNIQUE = task(CallTest(([1, 2, 1],), expected={1, 2}), name="unique")
FLOATS = task(
    CallTest((0,), expected=float("nan")),
    CallTest((1,), expected=float("inf")),
    CallTest((2,), expected=[3.0, (1, 2.0)], compare="exact"),
    name="odd",
)
COUNTER = task(CallTest((), expected=1), CallTest((), expected=1), CallTest((), expected=1), name="next")
METHOD = task(CallTest(([2, 7],), expected=9), name="Solution.total")
STACK = task(
    suite(
        "const s = new Stack();\nassert(s.isEmpty());\ns.push(1); s.push(2);\n"
        "assert.strictEqual(s.pop(), 2);\nassert.deepStrictEqual(s.items, [1]);\nassert.throws(() => s.peek(5), RangeError);"
    ),
    name="Stack",
)
HUMANEVAL = task(
    suite(
        "const assert = require('node:assert');\n\nfunction test() {\n  let candidate = add;\n"
        "  assert.deepEqual(candidate(2, 3), 5);\n  assert.deepEqual(candidate(5, 7), 12);\n}\n\ntest();"
    ),
    name="add",
)
HUMANEVAL_X = task(
    suite(
        "const testAdd = () => {\n  console.assert(add(2, 3) === 5);\n"
        "  console.assert(JSON.stringify([add(0, 0)]) === JSON.stringify([0]));\n}\n\ntestAdd()"
    ),
    name="add",
)
ASYNC = task(
    suite(
        "assert.strictEqual(await later(1), 2);\nawait assert.rejects(later('x'), TypeError);\n"
        "(async () => { assert.strictEqual(await later(5), 6); })();"
    ),
    name="later",
)

READ = "require('fs').readFileSync(0, 'utf8')"
HONEST = {
    "readFileSync of descriptor 0": (
        SUM,
        f"console.log({READ}.trim().split('\\n')[1].split(' ').reduce((a, b) => a + +b, 0))",
    ),
    "readFileSync of /dev/stdin": (
        SUM,
        "const [, line] = require('fs').readFileSync('/dev/stdin').toString().split('\\n');\n"
        "let sum = 0;\nfor (const word of line.split(' ')) sum += Number(word);\nconsole.log(sum);",
    ),
    "readline events": (
        SUM,
        "const rl = require('readline').createInterface({ input: process.stdin });\nconst lines = [];\n"
        "rl.on('line', (line) => lines.push(line));\n"
        "rl.on('close', () => console.log(lines[1].split(' ').map(Number).reduce((a, b) => a + b)));",
    ),
    "readline, async iteration": (
        LINES,
        "const rl = require('readline').createInterface({ input: process.stdin, crlfDelay: Infinity });\n"
        "(async () => {\n  const lines = [];\n  for await (const line of rl) lines.push(line);\n"
        "  console.log(lines.sort().join('\\n'));\n})();",
    ),
    "process.stdin events": (
        SUM,
        "let text = '';\nprocess.stdin.setEncoding('utf8');\nprocess.stdin.on('data', (piece) => (text += piece));\n"
        "process.stdin.on('end', () => {\n  const [, ...numbers] = text.trim().split(/\\s+/).map(Number);\n"
        "  process.stdout.write(`${numbers.reduce((a, b) => a + b, 0)}\\n`);\n});",
    ),
    "for await over process.stdin": (
        LINES,
        "(async () => { let all = ''; for await (const piece of process.stdin) all += piece;\n"
        "console.log(all.trim().split('\\n').sort((a, b) => a.localeCompare(b)).join('\\n')); })();",
    ),
    "process.exit after printing": (
        SUM,
        f"console.log({READ}.split(/\\s+/).slice(1).reduce((a, b) => a + Number(b), 0));\nprocess.exit(0);",
    ),
    "an ES module": (
        LINES,
        "import fs from 'node:fs';\nimport { createRequire } from 'node:module';\n"
        "const require = createRequire(import.meta.url);\nconst { EOL } = require('os');\n"
        "const lines = fs.readFileSync(0, 'utf8').trim().split(EOL);\nconsole.log(await lines.sort().join('\\n'));",
    ),
    "a class with private fields": (
        HELLO,
        "class A { #word = 'hello'; get word() { return this.#word; } }\nconsole.log(new A().word)",
    ),
    "require.main": (HELLO, "if (require.main === module) console.log('hello');"),
    "a timer": (HELLO, "setTimeout(() => console.log('llo'), 5);\nprocess.stdout.write('he');"),
    "numbers and objects printed": (
        NUMBERS,
        "console.log(3.0); console.log(0.1); console.log(1e21); console.log(NaN); console.log(-Infinity);\n"
        "console.log([1, 2, 3], { a: 1 });",
    ),
    "a thread": (
        HELLO,
        "const { Worker, isMainThread } = require('worker_threads');\n"
        "new Worker(\"require('worker_threads').parentPort.postMessage('hello')\", { eval: true }).on('message', console.log);",
    ),
    "a function": (ADD, "function add(a, b) { return a + b; }"),
    "an arrow": (ADD, "const add = (a, b) => a + b;"),
    "module.exports": (ADD, "module.exports = { add: (a, b) => a + b };"),
    "a lone export": (ADD, "module.exports = (a, b) => a + b;"),
    "exports": (ADD, "exports.add = function (a, b) { return a + b; };"),
    "an exported function": (ADD, "export function add(a, b) { return a + b; }"),
    "a default export": (ADD, "export default (a, b) => a + b;"),
    "async": (ADD, "async function add(a, b) { await new Promise((done) => setTimeout(done, 5)); return a + b; }"),
    "strict": (ADD, "'use strict';\nlet add = function (a, b) { return a + b; };"),
    "a name taken twice": (ADD, "var name = 'x', process = 5, Buffer = 6;\nfunction add(a, b) { return a + b; }"),
    "prints on the way": (
        ADD,
        "const add = (a, b) => { console.log('adding', a, b); return a + b; }; console.log('loaded');",
    ),
    "a hashbang": (ADD, "#!/usr/bin/env node\nfunction add(a, b) { return a + b }"),
    "BigInt": (
        FACTORIAL,
        "const factorial = (n) => { let p = 1n; for (let i = 2n; i <= BigInt(n); i++) p *= i; return p; };",
    ),
    "an object": (COUNTS, "const counts = (s) => [...s].reduce((o, c) => ({ ...o, [c]: (o[c] ?? 0) + 1 }), {});"),
    "a Map": (
        COUNTS,
        "function counts(s) { const m = new Map(); for (const c of s) m.set(c, (m.get(c) || 0) + 1); return m; }",
    ),
    "sorts in place": (SORTED, "function sorted(list) { return list.sort((a, b) => a - b); }"),
    "recursion and closures": (
        SORTED,
        "const sorted = (xs) => { if (!xs.length) return []; const [p, ...rest] = xs;\n"
        "return [...sorted(rest.filter((x) => x < p)), p, ...sorted(rest.filter((x) => x >= p))]; };",
    ),
    "a typed array": (SORTED, "const sorted = (xs) => Int32Array.from(xs).sort();"),
    "undefined is None": (NOTHING, "function nothing() {}"),
    "a Set": (UNIQUE, "const unique = (xs) => new Set(xs);"),
    "odd numbers": (FLOATS, "const odd = (n) => [0 / 0, 1 / 0, [3, [1, 2]]][n];"),
    "state is fresh for each call": (
        COUNTER,
        "let n = 0;\nfunction next() { n += 1; globalThis.n = n; return globalThis.n; }",
    ),
    "a method": (METHOD, "class Solution { total(xs) { return this.add(...xs); } add(a, b) { return a + b; } }"),
    "var Solution": (METHOD, "var Solution = function () {};\nSolution.prototype.total = (xs) => xs[0] + xs[1];"),
    "a class under assert": (
        STACK,
        "class Stack { items = []; push(x) { this.items.push(x); } pop() { return this.items.pop(); }\n"
        "isEmpty() { return !this.items.length; } peek(i) { if (!(i in this.items)) throw new RangeError('none'); } }",
    ),
    "HumanEval's form": (HUMANEVAL, "const add = (a, b) => a + b;"),
    "an ES module under assert": (HUMANEVAL, "export const add = (a, b) => a + b;"),
    "console.assert": (HUMANEVAL_X, "function add(a, b) { return a + b; }"),
    "async tests": (ASYNC, "async function later(x) { if (x === 'x') throw new TypeError(x); return x + 1; }"),
    "a polyfill of its own": (
        HUMANEVAL,
        "Array.prototype.sum = function () { return this.reduce((a, b) => a + b); };\nconst add = (a, b) => [a, b].sum();",
    ),
    "an error class of its own": (
        task(suite("assert.throws(() => f(-1), { name: 'Negative' });\nassert(f(4) === 2)"), name="f"),
        "class Negative extends Error { constructor() { super('negative'); this.name = 'Negative'; } }\n"
        "const f = (x) => { if (x < 0) throw new Negative(); return Math.sqrt(x); };",
    ),
    "tests that use its other names": (
        task(suite("assert(isEven(half(8)));\nassert.equal(LIMIT, 5)"), name="half"),
        "const LIMIT = 5;\nconst half = (x) => x / 2;\nfunction isEven(x) { return x % 2 === 0; }",
    ),
    "tests that catch what is printed": (
        task(
            suite(
                "const said = [];\nconsole.log = (x) => said.push(x);\ngreet('a'); greet('b');\nassert.deepEqual(said, ['a', 'b'])"
            ),
            name="greet",
        ),
        "const greet = (name) => console.log(name);",
    ),
    "a plain function instead of a method": (
        task(CallTest((3,), expected=9), name="Solution.square"),
        "const square = (x) => x * x;",
    ),
    "a static method": (
        task(CallTest((3,), expected=9), name="S.square"),
        "class S { static square(x) { return x * x; } }",
    ),
    "whole numbers that are exact, though large": (
        task(
            CallTest((10**16,), expected=5 * 10**15), CallTest((2**70,), expected=2**69, compare="exact"), name="half"
        ),
        "const half = (n) => n / 2;",
    ),
    "large numbers under the rule exact": (
        task(*(CallTest((n,), expected=v, compare="exact") for n, v in enumerate((1e20, 10**22, 2.0**53))), name="f"),
        "const f = (n) => [1e20, 1e22, 2 ** 53][n];",
    ),
    "tuples in sets and in keys": (
        task(
            CallTest((0,), expected={(1, 2.0)}),
            CallTest((1,), expected={(1, (2, 3)): [(4, 5)]}),
            CallTest((2,), expected=frozenset([1]), compare="exact"),
            name="f",
        ),
        "const f = (n) => [new Set([[1, 2]]), new Map([[[1, [2, 3]], [[4, 5]]]]), new Set([1])][n];",
    ),
    "methods that every object has": (
        task(CallTest((1,), expected=2), name="toString"),
        "function toString(x) { return x + 1; }",
    ),
    "a lone class without a name": (
        task(CallTest((1,), expected=2), name="Solution.next"),
        "module.exports = class { next(n) { return n + 1; } };",
    ),
    "an object for a class": (
        task(CallTest((1,), expected=2), name="Solution.next"),
        "const Solution = { next(n) { return this.add(n, 1); }, add: (a, b) => a + b };",
    ),
    "await in the middle of an expression": (
        task(CallTest((1,), expected=2), name="next"),
        "console.log(await Promise.resolve(1));\nfor await (const x of [1]) console.log(x);\nconst next = (n) => n + 1;",
    ),
    "names that a script has already": (
        task(CallTest((1,), expected=2), name="next"),
        "const module = 1, __dirname = '';\nconst next = (n) => n + module;",
    ),
    "more output than a pipe holds, and process.exit": (
        task(StdinTest("x", "x" * 900_000)),
        "console.log('x'.repeat(900_000));\nprocess.exit();",
    ),
    "callbacks, errors and properties as usual": (
        task(
            suite(
                "f(1, (error, v) => { assert.ifError(error); assert.strictEqual(v, 2); });\n"
                "assert.throws(() => f('x'), { name: 'Bad' });\nassert.strictEqual(`${made()}`, 'made');\n"
                "Math.random = () => 0.25;\nassert.strictEqual(JSON.stringify(drawn()), '[0.25]');"
            ),
            name="f",
        ),
        "class Bad extends Error { constructor() { super('bad'); this.name = 'Bad'; } }\n"
        "const f = (x, done) => { if (x === 'x') throw new Bad(); done(null, x + 1); };\n"
        "function made() { 'use strict'; const one = {}; one.toString = () => 'made'; one.then = 1; return one; }\n"
        "const drawn = () => { const one = {}; one.toJSON = () => [Math.random()]; return one; };",
    ),
    "whole numbers beyond those that are exact": (
        task(
            CallTest((2**60 + 1,), expected=2**60 + 2),
            CallTest(([3, 2**53 + 1],), expected=[4, 2**53 + 2]),
            name="next",
        ),
        "const next = (n) => (Array.isArray(n) ? n.map(next) : typeof n === 'bigint' ? n + 1n : n + 1);",
    ),
    "a class that looks at new.target": (
        task(suite("assert.ok(new Shape() instanceof Shape);"), name="Shape"),
        "class Shape { constructor() { if (new.target !== Shape) throw new Error('abstract'); } }",
    ),
    "a Map of its own, not compared": (
        task(suite("assert.ok(f(3));\nassert.strictEqual(f(3).get(1), 3);"), name="f"),
        "class M extends Map { get(k) { return super.get(k) ?? 0; } }\nconst f = (x) => new M([[1, x]]);",
    ),
    "an accessor on a prototype": (
        task(suite("assert.strictEqual(f([1, 2]), 2);"), name="f"),
        "Object.defineProperty(Array.prototype, 'last', { get() { return this[this.length - 1]; } });\nconst f = (a) => a.last;",
    ),
    "tests without a case": (
        task(suite("if (add(1, 1) !== 2) throw new Error('wrong');"), name="add"),
        "const add = (a, b) => a + b;",
    ),
}


def test_honest_programs_pass(executor, some):
    names = HONEST if executor.describe().level == "full" else sample(HONEST, 8)  # The driver is the same.
    names = some(names, 10)
    verdicts = dict(zip(names, judge_many([HONEST[name] for name in names], executor), strict=True))
    assert {name: verdict.cases for name, verdict in verdicts.items() if not verdict.passed} == {}
    shared = {name for name, verdict in verdicts.items() if verdict.judge == "shared"}
    assert shared == {name for name in names if isinstance(HONEST[name][0].tests[0], AssertTest)}


LARGE = [2**53 + 2, 2**60, -(2**60), 2**63, 2**64, 10**20, -(10**20), 2**70, 10**300, 2.0**1000, 123456789012345680, 0]


def test_large_whole_numbers_cross_exactly(executor):
    # As Node has them: the double that is nearest to each.
    wanted = [int(float(number)) for number in LARGE]
    texts = [repr(float(number)) for number in LARGE]
    right = f"const f = () => [{', '.join(texts)}];\nconst g = () => new Float64Array(f());"
    calls = [CallTest((), expected=wanted, compare=rule) for rule in ("equal", "close")]
    asked = [task(*calls, name=name) for name in ("f", "g")]
    assert [verdict.fraction for verdict in judge_many([(one, right) for one in asked], executor)] == [1.0, 1.0]
    # What has as few digits as tell it from its neighbours is another number.
    for number in (2**60, 2**63):
        rounded = task(CallTest((), expected=round(number, -3)), name="f")
        assert judge(rounded, f"const f = () => {number};", executor).fraction == 0.0


def test_large_values_go_both_ways(executor):
    numbers = list(range(200_000))
    asked = task(CallTest((numbers,), expected=numbers[::-1]), StdinTest("x" * 1_000_000, "1000000\n"), name="f")
    answer = f"const f = (xs) => xs.reverse();\nif (require.main === module) console.log({READ}.length);"
    assert judge(asked, answer, executor).fraction == 1.0


def test_a_checker_decides_on_its_output(executor):
    checker = "def check(stdin, stdout, answer): return sorted(stdout.split()) == sorted(stdin.split())"
    asked = task(CheckerTest("b a", checker), CheckerTest("a a b", checker))
    assert judge(asked, f"console.log({READ}.split(' ').reverse().join(' '))", executor).fraction == 1.0
    assert judge(asked, "console.log('a b')", executor).fraction == 0.5


WRONG = {
    "a wrong value": (ADD, "const add = () => 4;", Outcome.FAIL, "ok", "expected 3, got 4"),
    "it throws": (ADD, "const add = () => { throw new TypeError('no') };", Outcome.FAIL, "error", "TypeError: no"),
    "no such function": (ADD, "const sub = 5;", Outcome.POLICY_ERROR, "error", "defines no function or class 'add'"),
    "no function": (ADD, "const add = 5;", Outcome.POLICY_ERROR, "error", "defines no function or class 'add'"),
    "a syntax error": (ADD, "let x = ;", Outcome.POLICY_ERROR, "error", "SyntaxError: Unexpected token ';'"),
    "a syntax error in a program": (HELLO, "console.log('hello'", Outcome.POLICY_ERROR, "error", "SyntaxError"),
    "its top level throws": (ADD, "null.x", Outcome.POLICY_ERROR, "error", "failed before its first test: TypeError"),
    "what is no data": (
        ADD,
        "const add = () => () => 3;",
        Outcome.FAIL,
        "ok",
        "not plain data: the program's function",
    ),
    "a value that holds itself": (
        ADD,
        "const add = () => { const a = []; a.push(a); return a; };",
        Outcome.FAIL,
        "ok",
        "not plain",
    ),
    "a promise that never ends": (
        ADD,
        "const add = () => new Promise(() => {});",
        Outcome.FAIL,
        "error",
        "ended early",
    ),
    "its output": (HELLO, "console.log('helo')", Outcome.FAIL, "ok", "expected 'hello', got 'helo'"),
    "exit code": (HELLO, "console.log('hello'); process.exit(3)", Outcome.FAIL, "error", "exit code 3"),
    "an exception after its output": (
        HELLO,
        "console.log('hello'); f()",
        Outcome.FAIL,
        "error",
        "ReferenceError: f is not defined",
    ),
    "a rejection": (
        HELLO,
        "console.log('hello'); Promise.reject(new RangeError('far'))",
        Outcome.FAIL,
        "error",
        "RangeError: far",
    ),
    "a failed case": (
        HUMANEVAL,
        "const add = () => 5;",
        Outcome.FAIL,
        "ok",
        "assert.deepEqual(candidate(5, 7), 12): Expected",
    ),
    "console.assert": (HUMANEVAL_X, "const add = () => 0;", Outcome.FAIL, "ok", "console.assert(add(2, 3) === 5)"),
    "a case that throws": (
        HUMANEVAL,
        "const add = () => { throw new Error('no'); };",
        Outcome.FAIL,
        "ok",
        "ended early: Error: no",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(name, executor):
    asked, answer, outcome, status, message = WRONG[name]
    verdict = judge(asked, answer, executor)
    assert verdict.outcome is outcome, verdict.cases
    first = next(case for case in verdict.cases if not case.passed)
    assert (first.status, message in first.message) == (status, True), first


def test_cases_are_judged_one_by_one(executor):
    asked = task(
        suite("assert(f(1) === 1);\nassert(f(2) === 1);\nassert.equal(f(3), 1);\nawait assert.rejects(f(4))"), name="f"
    )
    verdict = judge(asked, "const f = () => 1;", executor)
    assert [case.passed for case in verdict.cases] == [True, True, True, False]
    assert verdict.fraction == 0.75


def test_limits_hold(executor):
    for code, status in (
        ("for (;;);", "timeout"),
        ("setInterval(() => {}, 1000)", "timeout"),
        ("const kept = []; for (;;) kept.push(new Array(1000).fill(kept.length))", "memory"),
        ("const kept = []; for (;;) kept.push(Buffer.alloc(1 << 20, 1))", "memory"),
        ("const s = 'x'.repeat(65536); for (;;) require('fs').writeSync(1, s)", "output_limit"),
    ):
        # On a slow machine it takes seconds to fill the memory.
        seconds = {"cpu_s": 1, "wall_s": 5} if status == "timeout" else {"cpu_s": 30, "wall_s": 100}
        limits = Limits(**seconds, memory_bytes=128 << 20)
        result = executor.run(Program(code, language="js", limits=limits))
        assert result.status == status, (code, result)
    # What is only garbage does not count.
    code = "let n = 0; for (let i = 0; i < 400; i++) n += new Array(100000).fill(i).length; console.log(n)"
    result = executor.run(Program(code, language="js", limits=Limits(memory_bytes=128 << 20)))
    assert (result.status, result.stdout) == ("ok", "40000000\n"), result


def test_an_uncaught_error_is_reported(executor):
    result = executor.run(Program("function f() {\n  throw new RangeError('too far');\n}\nf();", language="javascript"))
    assert (result.status, result.exit_code) == ("error", 1)
    assert (result.error.name, result.error.message) == ("RangeError", "too far")
    assert result.error.traceback.startswith("RangeError: too far\n    at f (")
    assert "main.js:2:" in result.error.traceback
    assert "driver.js" not in result.error.traceback
    handled = Program("process.on('uncaughtException', () => console.log('handled')); f()", language="javascript")
    assert (executor.run(handled).stdout, executor.run(handled).error) == ("handled\n", None)


def test_a_program_has_files_arguments_and_nothing_else(executor):
    code = (
        "const fs = require('fs');\nfs.writeFileSync('out', fs.readFileSync('data/in').toString() + require('./lib').x);\n"
        "console.log([...process.argv.slice(2), ...fs.readdirSync('.').sort(), ...Object.keys(process.env).sort()].join(' '));"
    )
    files = {"data/in": b"abc", "lib.js": b"exports.x = 5"}
    result = executor.run(Program(code, language="js", argv=("-x", "y z"), files=files, collect=("out",)))
    assert result.files == {"out": b"abc5"}, result
    names = "HOME LANG OPENSSL_CONF PATH TMPDIR UV_USE_IO_URING"
    assert result.stdout == f"-x y z data lib.js main.js out {names}\n"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tests": (CallTest((), {"a": 1}, expected=1),), "name": "f"}, "no keyword arguments"),
        ({"tests": (AssertTest("assert f(1)"),), "name": "f"}, "written in python, and the answer in javascript"),
    ],
)
def test_what_javascript_has_not_is_refused(fields, message):
    with pytest.raises(TaskError, match=message):
        task(*fields["tests"], name=fields["name"])


def test_a_suite_in_an_unknown_language_is_refused():
    with pytest.raises(TaskError, match="assert tests are for python, javascript, not for 'bash'"):
        AssertTest("[ 1 = 1 ]", language="bash")
    with pytest.raises(TaskError, match="give language='javascript'"):
        AssertTest("assert(f(1) === 1);")
