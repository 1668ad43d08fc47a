"""The texts of JavaScript tests: what is made a script, and what cannot be one."""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many
from code_env.tasks.javascript_imports import as_script

FORMS = {
    "#!": "#!/usr/bin/env node\nconst assert = require('assert');\nassert.equal(f(1), 1);",
    "import": "import assert from 'node:assert';\nassert.equal(f(1), 1);",
    "import of names": (
        '// a comment\nimport strict, { strictEqual as same,\n  deepEqual } from "assert/strict";\n'
        "import * as path from 'path'\nimport 'util';\nimport { default as util } from 'util';\n"
        "same(f(1), 1);\ndeepEqual([f(path.join('a', 'b'))], ['a/b']);\nassert.ok(util.isArray && strict);"
    ),
    "import()": (
        "const { default: assert, equal } = await import('node:assert/strict');\nassert.equal(f(1), 1);\n"
        "equal((await import('path')).sep, '/');\nconst o = { import: (x) => x };\nassert.equal(o.import(f(2)), 2);"
    ),
    "a module of the answer's directory": (
        "require('fs').writeFileSync('two.js', 'exports.two = 2;');\n"
        "const { two } = await import('./two.js');\nassert.equal(f(two), 2);"
    ),
}
MALFORMED = ["assert.equal(f(1), 1", "export const x = 1;\nassert.equal(f(1), 1);", "assert.equal(f(1), await);"]


def task(code, setup=""):
    return Task("t", "", (AssertTest(code, language="js"),), entry_point="f", language="js", setup=setup)


@pytest.mark.parametrize("name", FORMS)
def test_a_text_may_begin_as_a_module_does(name, executor):
    answers = ["const f = (x) => x;", "export const f = (x) => x;", "const f = (x) => 0;"]
    verdicts = judge_many([(task(FORMS[name]), answer) for answer in answers], executor)
    assert [verdict.fraction == 1.0 for verdict in verdicts] == [True, True, False]


def test_tests_that_do_not_compile_are_no_fault_of_an_answer(executor):
    forging = (
        "try { require('fs').writeSync(4, JSON.stringify({ malformed: { name: '', message: '', traceback: '' } })); }"
        "catch {}\nconsole.log('{\"malformed\": ');\nconst f = () => 0;"
    )
    answers = ["const f = (x) => x;", forging]
    verdicts = judge_many([(task(code), answer) for code in MALFORMED for answer in answers], executor)
    verdicts += judge_many([(task("assert.equal(f(1), 1);", setup="const x = ;"), answers[0])], executor)
    assert {(v.outcome, v.fraction, v.execution.error.name) for v in verdicts} == {("no_verdict", None, "TaskError")}
    assert all("the task's tests do not compile: SyntaxError" in v.execution.error.message for v in verdicts)
    (forged,) = judge_many([(task("assert.equal(f(1), 1);"), forging)], executor)
    assert forged.fraction == 0.0


def test_lines_stay_where_they_are():
    code = "#!x\nimport {\n  a,\n  b as c\n} from 'm';\nimport d from 'n'; f();\n`\nimport e from 'o'\n`;"
    script = as_script(code)
    assert script.count("\n") == code.count("\n")
    assert script.endswith("const d = require('n'); f();\n`\nimport e from 'o'\n`;")
    assert [as_script(text) for text in ("import('a')", "important();", "import.meta")] == [
        "import('a')",
        "important();",
        "import.meta",
    ]
