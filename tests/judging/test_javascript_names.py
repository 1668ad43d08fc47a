"""What the names of an answer in JavaScript are for tests beside it."""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

NAMES = {
    "module.exports": (
        "const { f: g } = module.exports;\nassert.equal(g(1), 1);\nassert.equal(new module.exports.P(2).x, 2);",
        [
            "class P { constructor(x) { this.x = x; } }\nmodule.exports = { f: (x) => x, P };",
            "exports.f = (x) => x;\nexports.P = function (x) { this.x = x; };",
            "export const f = (x) => x;\nexport class P { constructor(x) { this.x = x; } }",
        ],
        ["class P {}\nmodule.exports = { f: (x) => x + 1, P };", "const f = (x) => x + 1;"],
    ),
    "an assignment": (
        "count = 10;\nassert.equal(f(), 11);\nassert.equal(count, 11);",
        ["let count = 0;\nconst f = () => ++count;", "var count;\nexport const f = () => (count += 1);"],
        ["let count = 0;\nconst f = () => 1;", "const count = 10;\nconst f = () => 11;", "const f = () => 11;"],
    ),
    "an assignment to a constant": (
        "assert.throws(() => { limit = 5; }, TypeError);\nassert.equal(f(), 3);",
        ["const limit = 3;\nconst f = () => limit;"],
        ["let limit = 3;\nconst f = () => limit + 1;"],
    ),
    "a variable without a value": (
        "assert.equal(last, undefined);\nf(4);\nassert.equal(last, 4);",
        ["let last;\nfunction f(x) { last = x; }"],
        ["let last = 3;\nfunction f(x) {}", "function f(x) {}"],
    ),
    "a constructor": (
        "assert.equal(new f(1).x, 1);\nassert.equal(f.prototype.constructor, f);\n"
        "assert.equal(Object.getPrototypeOf(g), f);\nassert.equal(new g(2).constructor, g);",
        [
            "function f(x) { this.x = x; }\nclass g extends f {}",
            "function f(x) { this.x = x; }\nfunction g() {}\nObject.setPrototypeOf(g, f);",
        ],
        ["function f(x) { this.x = 0; }\nf.prototype = {};\nfunction g() {}\ng.prototype = f.prototype;"],
    ),
    "a function in a Map": (
        "assert.ok(f(g));\nassert.equal(handlers.get('g'), g);\n"
        "assert.ok(!f(() => {}));\nassert.equal(f.call(f, g), true);",
        ["const g = () => {};\nconst handlers = new Map([['g', g]]);\nconst f = (h) => handlers.get(h.name) === h;"],
        ["const g = () => {};\nconst handlers = new Map();\nconst f = (h) => h.name !== 'g';"],
    ),
    "the kind of a function": (
        "const { types } = require('util');\nassert.ok(types.isAsyncFunction(f));\nassert.ok(!types.isProxy(f));",
        ["async function f() {}"],
        ["const f = new Proxy(() => {}, {});"],
    ),
    "this of a function": (
        "assert.equal([f].length, 1);\nassert.equal(f(), undefined);\nassert.equal(g.h(), g);",
        ["'use strict';\nfunction f() { return this; }\nfunction g() {}\ng.h = f;"],
        ["function f() { return this ?? 1; }\nfunction g() {}\ng.h = () => f;"],
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_name_of_the_answer_means(name, executor):
    """Of the wrong answers, some are right in one case."""
    code, right, wrong = NAMES[name]
    task = Task("t", "", (AssertTest(code, language="javascript"),), language="javascript")
    verdicts = judge_many([(task, answer) for answer in [*right, *wrong]], executor)
    assert [verdict.fraction == 1.0 for verdict in verdicts] == [True] * len(right) + [False] * len(wrong)


ENTRY_POINTS = {
    "registry": (
        "assert.equal(registry.a(), 1);",
        "const registry = { a: () => 1 };",
        "const registry = { a: () => 2 };",
    ),
    "cache": (
        "cache.set('a', 1);\nassert.equal(candidate.get('a'), 1);\nassert.equal(cache, candidate);",
        "const cache = new Map();",
        "const cache = { set() {}, get() {} };",
    ),
    "COLOR": (
        "assert.equal(COLOR.RED, 'r');\nassert.throws(() => { COLOR.X = 1; }, TypeError);",
        "module.exports.COLOR = Object.freeze({ RED: 'r' });",
        "const COLOR = { RED: 'b' };",
    ),
    "LIMIT": ("assert.equal(LIMIT, 5);", "const LIMIT = 5;", "const LIMIT = 4;"),
    "f": ("assert.equal(f(5), 5);", "const f = (x) => x;", "const f = {};"),
}


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_entry_point_may_be_any_constant(name, executor):
    code, right, wrong = ENTRY_POINTS[name]
    task = Task("t", "", (AssertTest(code, language="javascript"),), entry_point=name, language="javascript")
    verdicts = judge_many([(task, answer) for answer in (right, wrong, "const other = 1;")], executor)
    assert [verdict.fraction == 1.0 for verdict in verdicts] == [True, False, False]
    assert verdicts[2].outcome == "policy_error"
