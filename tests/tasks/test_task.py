import dataclasses

import pytest

from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.tasks import MAX_PROMPT_CHARS, AssertTest, CallTest, OutputTest, Task

CALL, OUTPUT = CallTest((1,), {}, 2), OutputTest("1")


def make(**fields):
    return Task(**{"id": "t", "prompt": "Do it.", "tests": (OUTPUT,), **fields})


def test_a_task_has_defaults():
    task = make()
    assert (task.language, task.setup, task.prefix, task.reference, task.entry_point) == ("python", "", "", None, None)
    assert (task.limits, task.judge, task.files, task.metadata) == (Limits(), "blind", {}, {})


def test_a_task_is_equal_by_value_and_never_changed():
    assert make() == make()
    assert make() != make(id="u")
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().id = "u"


def test_tests_are_kept_as_a_tuple():
    assert make(tests=[OUTPUT]).tests == (OUTPUT,)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 1}, "id must be text; got int"),
        ({"id": None}, "id must be text; got NoneType"),
        ({"id": ""}, "id must not be empty"),
        ({"prompt": None}, "prompt must be text; got NoneType"),
        ({"prompt": b"a"}, "prompt must be text; got bytes"),
        ({"prompt": "a" * (MAX_PROMPT_CHARS + 1)}, "prompt has 65537 characters; at most 65536 fit"),
        ({"language": None}, "language must be text; got NoneType"),
        ({"setup": None}, "setup must be text; got NoneType"),
        ({"prefix": 1}, "prefix must be text; got int"),
        ({"entry_point": 1}, "entry_point must be text or absent; got int"),
        ({"reference": []}, "reference must be text or absent; got list"),
        ({"tests": ()}, "tests must not be empty"),
        ({"tests": ("assert f(1)",)}, r"tests\[0\] is a str, which is no kind of test"),
        ({"tests": (OUTPUT, None)}, r"tests\[1\] is a NoneType, which is no kind of test"),
        ({"tests": (OUTPUT, CALL)}, r"tests\[1\] calls the entry point, and entry_point is missing"),
        ({"tests": None}, "tests must be"),
        ({"tests": OUTPUT}, "tests must be"),
        ({"judge": "sighted"}, "judge must be one of blind, objects.*; got 'sighted'"),
        ({"judge": None}, "judge must be one of"),
        ({"judge": ["blind"]}, "judge must be one of"),
        ({"limits": None}, r"limits must be a Limits, such as Limits\(cpu_s=1\); got NoneType"),
        ({"limits": {"cpu_s": 1}}, r"limits must be a Limits, such as Limits\(cpu_s=1\); got dict"),
        ({"files": ["a"]}, "files"),
        ({"files": {"a": 5}}, "files"),
        ({"files": {"a": "text"}}, "files"),
        ({"files": {"../a": b""}}, "files"),
        ({"files": {"/etc/passwd": b""}}, "files"),
        ({"files": {"": b""}}, "files"),
        ({"metadata": 5}, "metadata"),
    ],
    ids=lambda value: ascii(value)[:60] if isinstance(value, dict) else "",
)
def test_a_malformed_field_is_refused_by_name(fields, message):
    with pytest.raises(TaskError, match=f"^{message}"):
        make(**fields)


def test_a_prompt_of_the_greatest_length_fits():
    assert len(make(prompt="a" * MAX_PROMPT_CHARS).prompt) == MAX_PROMPT_CHARS


def test_an_assert_test_needs_no_entry_point():
    assert make(tests=(AssertTest("assert f(1)"),)).entry_point is None


PREFIX = "import math\n\ndef f(x):\n"


@pytest.mark.parametrize(
    ("prefix", "answer", "program"),
    [
        pytest.param("", "a = 1", "a = 1", id="no-prefix"),
        pytest.param(
            "", "from __future__ import annotations", "from __future__ import annotations", id="no-prefix-future"
        ),
        pytest.param(PREFIX, "    return x", PREFIX + "    return x", id="body"),
        pytest.param(PREFIX.rstrip("\n"), "    return x", PREFIX + "    return x", id="missing-newline"),
        pytest.param(PREFIX, "", PREFIX, id="blank"),
        pytest.param(PREFIX, "\n    return x\n", PREFIX + "\n    return x\n", id="newline-first"),
        pytest.param(
            PREFIX,
            "from __future__ import annotations\n\ndef f(x): return x",
            "from __future__ import annotations\n" + PREFIX + "\ndef f(x): return x",
            id="future",
        ),
        pytest.param(
            PREFIX,
            "'''Doc'''\nfrom __future__ import annotations, division\nx = 1\n",
            "from __future__ import annotations, division\n" + PREFIX + "'''Doc'''\nx = 1\n",
            id="future-after-a-docstring",
        ),
        pytest.param(
            PREFIX,
            "from __future__ import annotations",
            "from __future__ import annotations\n" + PREFIX,
            id="future-without-a-newline",
        ),
        pytest.param(PREFIX, "    from math import pi\n", PREFIX + "    from math import pi\n", id="other-import"),
    ],
)
def test_the_program_is_prefix_and_answer(prefix, answer, program):
    assert make(prefix=prefix).program(answer) == program


@pytest.mark.parametrize(
    "imports",
    [
        "from __future__ import annotations\n",
        "from __future__ import annotations\nfrom __future__ import division\n",
        "from __future__ import annotations, division\r\n",
        "from __future__ import annotations  # for hints\n",
        "from __future__ import annotations as a\n",
        "from __future__ import annotations; import os\n",
        "from __future__ import (annotations, division)\n",
        "from __future__ import (\n    annotations,\n    division,\n)\n",
        "from  __future__  import annotations\n",
        '"""Doc"""\nfrom __future__ import annotations\n',
    ],
    ids=ascii,
)
def test_a_whole_file_compiles_behind_a_prefix(imports):
    answer = imports + "def f(x: Unknown): return x + 1\n"
    namespace = {}
    exec(compile(answer, "<answer>", "exec", dont_inherit=True), namespace)
    program = make(prefix="import math\n\n\ndef f(x):\n    '''Add one.'''\n").program(answer)
    exec(compile(program, "<program>", "exec", dont_inherit=True), namespace)
    assert namespace["f"](1) == 2
