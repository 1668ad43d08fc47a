"""Cases of test code in JavaScript are found by its text."""

import pytest

from code_env.tasks.javascript import find_cases


@pytest.mark.parametrize(
    ("code", "sources"),
    [
        ("assert(f(1));", ["assert(f(1))"]),
        ("assert.equal(f(1), 2)\nassert . ok ( f ( 2 ) )", ["assert.equal(f(1), 2)", "assert . ok ( f ( 2 ) )"]),
        ("console.assert(f(1) === ')', 'x');", ["console.assert(f(1) === ')', 'x')"]),
        (
            "const assert = require('assert');\nassert.deepEqual(\n  f([1, 2]),\n  [3],\n);",
            ["assert.deepEqual( f([1, 2]), [3], )"],
        ),
        ("// assert(1)\n/* assert(2) */ 'assert(3)'; \"assert(4)\"; `assert(5)`; /assert(6)/;", []),
        ("`${assert(f(1))} ${`${{ a: assert.ok(2) }.a}`} assert(3)`", ["assert(f(1))", "assert.ok(2)"]),
        ("x = 4 / 2; assert(f(/[/)]assert(/.test('/')));", ["assert(f(/[/)]assert(/.test('/')))"]),
        ("a / assert(1) / assert(2)", ["assert(1)", "assert(2)"]),
        ("return /assert(1)/.test(x)", []),
        ("function assert(x) {}\nchai.assert(1); new assert(2); assertion(3); $assert(4)", []),
        ("class A { assert(x, y = f(1)) { g(x); } }\nconst o = { async assert() {}, n: 1 };", []),
        ("assert(f(1))\n{ assert(f(2)); }\nif (assert(f(3))) {}", ["assert(f(1))", "assert(f(2))", "assert(f(3))"]),
        ("assert(f(1", ["assert(f(1"]),
        ("class A { #assert() {} m() { this.#assert(1); } }", []),
        ("assert.strict.equal(1, 1);", ["assert.strict.equal(1, 1)"]),
        (
            "const { equal, deepEqual: same } = assert; equal(f(1), 1); same(2); deepEqual(3)",
            ["equal(f(1), 1)", "same(2)"],
        ),
        (
            "const { strict: { ok }, 'throws': t, fail } = require('node:assert');\nok(1); t(f); fail(); ok(false)",
            [
                "ok(1)",
                "t(f)",
            ],
        ),
        (
            "let fs = require('fs'), t = require(\"assert/strict\"); t(1); t.equal(2, 2); u.t(3); t.fail()",
            [
                "t(1)",
                "t.equal(2, 2)",
            ],
        ),
        ("const same = require('assert').strictEqual;\nsame(1, 1)", ["same(1, 1)"]),
        (
            "require('assert').equal(f(1), 1); require('assert')(2)",
            ["require('assert').equal(f(1), 1)", "require('assert')(2)"],
        ),
        ("const { equal } = require('assert'); class A { equal(x) { this.equal(x); } }\nfunction equal() {}", []),
        ("const { equal } = require('chai').assert, e = assert.equal(1, 1); equal(1); e(1)", ["assert.equal(1, 1)"]),
        ("", []),
        ("'unclosed\nassert(1)", ["assert(1)"]),
        ("`unclosed assert(1)", []),
    ],
)
def test_the_places_where_something_is_asserted_are_cases(code, sources):
    cases = find_cases(code)
    assert cases.sites == len(sources)
    assert list(cases.sources) == (sources or ["the tests run to their end"])
    assert cases.code.count("$cases[") == len(sources)


def test_the_rest_of_the_text_stays():
    code = "const a = 1; // assert\nassert.equal(a, 1); console.assert(a);\nlog(`${a}`);"
    assert find_cases(code).code == (
        "const a = 1; // assert\n$cases[0](assert, 'equal')(a, 1); $cases[1](null)(a);\nlog(`${a}`);"
    )


def test_the_name_is_looked_up_where_it_is_called():
    assert find_cases("const { equal: is } = assert.strict; is(1, 1); assert.strict.ok(1)").code == (
        "const { equal: is } = assert.strict; $cases[0](is, null, true)(1, 1); $cases[1](assert.strict, 'ok')(1)"
    )
    assert find_cases("await assert\n .rejects(f); assert(x)").code == (
        "await $cases[0](assert, 'rejects')(f); $cases[1](assert)(x)"
    )
