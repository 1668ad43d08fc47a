import pytest

from code_env import judge_many
from code_env.errors import TaskError
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.multipl_e import FIELDS, task_from_row

SCRIPT = {
    "name": "HumanEval_53_add",
    "language": "js",
    "prompt": "//Add two numbers x and y\n// >>> add(2, 3)\n// 5\nfunction add(x, y){\n",
    "tests": (
        "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = add;\n"
        "  assert.deepEqual(candidate(0, 1),1);\n  assert.deepEqual(candidate(2, 3),5);\n}\n\ntest();"
    ),
    "stop_tokens": ["\nfunction "],
}
SHELL = {
    "name": "HumanEval_28_concatenate",
    "language": "sh",
    "prompt": "#!/bin/bash\n# Concatenate list of strings into a single string\n#\n# $1 is a list\nconcatenate() {\n",
    "tests": (
        '}\n\ncandidate() {\n    concatenate "$@"\n}\n\nset -e\nrun_test() {\n'
        '    [[ $(candidate "") = "" ]]\n    [[ $(candidate "x y (z)") = "xy(z)" ]]\n'
        '    [[ $(candidate "\\$1 \\"q\\"") = "\\$1\\"q\\"" ]]\n    [[ $(candidate a) = a ]]\n}\n\nrun_test'
    ),
    "stop_tokens": ["\n}"],
}
WITH_TR = "concatenate() {\n    echo \"$1\" | tr -d ' '\n}\n"
WITHIN_BASH = (
    "function concatenate {\n    local all=\n    for one in $1; do all+=$one; done\n    printf '%s' \"$all\"\n}\n"
)


@pytest.mark.parametrize(
    ("row", "right", "wrong"),
    [
        (SCRIPT, "  return x + y;\n}\n", "  return x - y;\n}\n"),
        (SCRIPT, "const add = (x, y) => x + y;", "const add = (x, y) => 7;"),
        (SHELL, WITH_TR, WITH_TR.replace("' '", "'x'")),
        (SHELL, WITHIN_BASH, WITHIN_BASH.replace("$one", "$1$one")),
        (SHELL, f"#!/bin/bash\nset -e\n{WITHIN_BASH}exit", "concatenate() { exit 0; }"),
        (SHELL, f"{WITHIN_BASH}concatenate 'a b'\nread -r line\n", f"{WITHIN_BASH}exec >&- 3>&-\n"),
        (SHELL, f'{WITHIN_BASH}if [[ "${{BASH_SOURCE[0]}}" == "$0" ]]; then concatenate "$@"; fi', "exit 0"),
        (SHELL, f"file=$(mktemp)\ntrap 'rm -f \"$file\"' EXIT\n{WITHIN_BASH}", "trap 'echo x' EXIT"),
    ],
)
def test_answers_are_judged(row, right, wrong, executor):
    assert format_of_row(row) == "multipl-e"
    task = task_from_row(row)
    verdicts = judge_many([(task, right), (task, wrong)], executor)
    assert [verdict.passed for verdict in verdicts] == [True, False], verdicts


def test_what_a_shell_expects_stays_outside():
    task = task_from_row(SHELL)
    assert [(test.stdin, test.stdout) for test in task.tests] == [
        ('concatenate ""\n', "\n"),
        ('concatenate "x y (z)"\n', "xy(z)\n"),
        ('concatenate "\\$1 \\"q\\""\n', '$1"q"\n'),
        ("concatenate a\n", "a\n"),
    ]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_is_no_text_is_refused(name):
    with pytest.raises(TaskError, match=f"^{name}: text was expected; got int$"):
        task_from_row({**SCRIPT, name: 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"language": "rs"}, "^language: js or sh was expected; got 'rs'$"),
        ({"tests": "x"}, "^tests: a function under the name candidate was expected; got 'x'$"),
        ({"language": "sh", "tests": "candidate() {\n f \n}"}, r"^tests: \[\[ \$\(candidate ...\) = \"...\" \]\] was"),
    ],
)
def test_a_row_that_makes_no_task_is_refused(change, message):
    with pytest.raises(TaskError, match=message):
        task_from_row({**SCRIPT, **change})
