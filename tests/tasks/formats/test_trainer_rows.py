"""Rows that trainers use: verl (prime-code, code-r1), SkyRL, open-r1, GEM."""

import json

import pytest

from code_env import judge
from code_env.errors import TaskError
from code_env.tasks import AssertTest, CallTest, StdinTest
from code_env.tasks.formats import format_of_row, gem, open_r1, skyrl, verl

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Print the sum."}]
PROMPT = "Be brief.\n\nPrint the sum."
PAIRS = {"inputs": ["1\n2\n"], "outputs": ["3\n"]}
CALLS = {"fn_name": "add", "inputs": ["1\n2", "3\n4"], "outputs": ["3", "7"]}


def verl_row(truth, **fields):
    return {
        "data_source": "codecontests",
        "prompt": CHAT,
        "ability": "coding",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": "train", "index": 5},
        **fields,
    }


def test_a_row_of_verl_with_pairs(executor):
    task = verl.task_from_row(verl_row(json.dumps(PAIRS)))
    assert (task.id, task.prompt, task.entry_point) == ("codecontests/train/5", PROMPT, None)
    assert task.tests == (StdinTest("1\n2\n", "3\n"),)
    assert task.metadata == {"data_source": "codecontests", "ability": "coding"}
    assert verl.task_from_row(verl_row(PAIRS)) == task
    assert judge(task, "print(int(input()) + int(input()))", executor).passed


def test_a_row_of_verl_with_a_function(executor):
    task = verl.task_from_row(verl_row(json.dumps(CALLS)))
    assert task.tests == (CallTest((1, 2), expected=3), CallTest((3, 4), expected=7))
    assert task.entry_point == "add"
    assert judge(task, "def add(a, b): return a + b", executor).passed
    starter = "Complete this:\n```python\nclass Solution:\n    def add(self, a, b):\n```"
    assert verl.task_from_row(verl_row(CALLS, prompt=starter)).entry_point == "Solution.add"


def test_a_row_of_prime_code_with_asserts(executor):
    truth = {"fn_name": "add", "assert_case": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]}
    task = verl.task_from_row(verl_row(json.dumps(truth)))
    assert task.tests == (AssertTest("assert add(1, 2) == 3\nassert add(0, 0) == 0"),)
    for row in (task, verl.task_from_row(verl_row({"assert_case": truth["assert_case"]}))):
        assert judge(row, "def add(a, b): return a + b", executor).passed
        assert judge(row, "def add(a, b): return 0", executor).fraction == 0.5


def test_a_row_of_code_r1_with_test_code(executor):
    code = "def check(candidate):\n    assert candidate(1, 2) == 3\n\ncheck(add)\n"
    task = verl.task_from_row(verl_row(json.dumps({"functional": code})))
    assert (task.tests, task.entry_point) == ((AssertTest(code),), None)
    assert judge(task, "def add(a, b): return a + b", executor).passed
    assert not judge(task, "def add(a, b): return 4", executor).passed


def test_a_row_of_verl_without_an_index_is_named_by_its_digest():
    one, other = (verl.task_from_row(verl_row(PAIRS, extra_info=info)).id for info in (None, {"split": "train"}))
    assert len(one) == len(other) == 16
    assert one != other


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (verl_row(PAIRS, prompt=None), "prompt: text or a list of chat messages was expected; got NoneType"),
        (verl_row(PAIRS, reward_model=[]), "reward_model: an object with ground_truth was expected; got list"),
        (verl_row("["), "reward_model: ground_truth: JSON text was expected; got '['"),
        (verl_row({}), "reward_model: ground_truth: inputs: a list was expected; got NoneType"),
        (verl_row({"fn_name": 1}), "reward_model: ground_truth: fn_name: text was expected; got int"),
        (verl_row({"functional": 1}), "reward_model: ground_truth: functional: text was expected; got int"),
        (verl_row({"functional": "("}), "reward_model: ground_truth: code must be Python"),
        (verl_row({"assert_case": "x"}), "reward_model: ground_truth: assert_case: a list of texts was expected"),
        (verl_row({"assert_case": ["x"], "fn_name": []}), "reward_model: ground_truth: fn_name: text was expected"),
    ],
)
def test_a_malformed_row_of_verl_is_refused(row, message):
    with pytest.raises(TaskError) as caught:
        verl.task_from_row(row)
    assert str(caught.value).startswith(message)


def skyrl_row(tests, **fields):
    return {"prompt": CHAT, "reward_spec": {"method": "rule", "ground_truth": tests}, **fields}


def test_a_row_of_skyrl(executor):
    tests = [{"input": "1\n2\n", "output": "3\n", "testtype": "stdin", "metadata": {"func_name": None}}]
    task = skyrl.task_from_row(skyrl_row(json.dumps(tests), extra_info={"index": 3}))
    assert (task.id, task.prompt, task.tests) == ("3", PROMPT, (StdinTest("1\n2\n", "3\n"),))
    assert judge(task, "print(int(input()) + int(input()))", executor).passed


def test_a_row_of_skyrl_with_a_function():
    test = {"input": "1\n2", "output": "3", "testtype": "functional", "metadata": {"func_name": "add"}}
    task = skyrl.task_from_row(skyrl_row([test], prompt="class Solution:\n    def add(self, a, b): ..."))
    assert (task.tests, task.entry_point) == ((CallTest((1, 2), expected=3),), "Solution.add")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (skyrl_row("{}"), "reward_spec: ground_truth: a list, or JSON text of one, was expected; got dict"),
        (skyrl_row([1]), "reward_spec: ground_truth[0]: an object was expected; got int"),
        (skyrl_row([]), "tests must not be empty"),
        (
            skyrl_row([{"input": "1", "output": "2", "testtype": "functional"}]),
            "reward_spec: ground_truth: func_name was expected",
        ),
        (skyrl_row([], reward_spec=None), "reward_spec: an object with ground_truth was expected; got NoneType"),
    ],
)
def test_a_malformed_row_of_skyrl_is_refused(row, message):
    with pytest.raises(TaskError) as caught:
        skyrl.task_from_row(row)
    assert str(caught.value).startswith(message)


def open_r1_row(*cases, language="python", **fields):
    info = {"language": language, "test_cases": list(cases)}
    return {"problem_id": "p1", "prompt": "Print the sum.", "verification_info": info, "source": "apps", **fields}


PAIR = {"fn_name": None, "input": "1\n2\n", "output": "3\n", "type": "stdin_stdout"}
CALL = {"fn_name": "add", "input": [1, 2], "output": [3], "type": "function_call"}


def test_a_row_of_open_r1(executor):
    row = open_r1_row(PAIR, gold_standard_solution="print(int(input()) + int(input()))")
    task = open_r1.task_from_row(row)
    assert (task.id, task.prompt, task.tests) == ("p1", "Print the sum.", (StdinTest("1\n2\n", "3\n"),))
    assert open_r1.task_from_row({**row, "verification_info": json.dumps(row["verification_info"])}) == task
    assert judge(task, task.reference, executor).passed


def test_a_row_of_open_r1_with_a_function():
    task = open_r1.task_from_row(open_r1_row(CALL))
    assert (task.tests, task.entry_point) == ((CallTest((1, 2), expected=3),), "add")
    assert open_r1.task_from_row(open_r1_row({**CALL, "type": None})) == task
    solution = "class Solution:\n    def add(self, a, b): return a + b"
    assert open_r1.task_from_row(open_r1_row(CALL, gold_standard_solution=solution)).entry_point == "Solution.add"


def test_the_language_of_open_r1_is_kept():
    assert open_r1.task_from_row(open_r1_row(PAIR, language="javascript")).language == "javascript"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (open_r1_row(PAIR, verification_info=None), "verification_info: an object, or JSON text of one, was expected"),
        (open_r1_row(PAIR, verification_info={}), "verification_info: test_cases: a list, or JSON text of one, was"),
        (
            open_r1_row(),
            "verification_info: test_cases: cases that all call one function, or none, were expected; got 0",
        ),
        (open_r1_row(PAIR, CALL), "verification_info: test_cases: cases that all call one function, or none"),
        (open_r1_row(1), "verification_info: test_cases[0]: an object was expected; got int"),
        (open_r1_row({"input": "1"}), "verification_info: test_cases[0]: output: a value was expected; got nothing"),
        (
            open_r1_row({**PAIR, "type": "file"}),
            "verification_info: test_cases[0]: type: stdin_stdout or function_call",
        ),
        (
            open_r1_row({**CALL, "fn_name": None}),
            "verification_info: test_cases[0]: fn_name: the function's name was",
        ),
        (open_r1_row(PAIR, prompt=None), "prompt: text or a list of chat messages was expected; got NoneType"),
    ],
)
def test_a_malformed_row_of_open_r1_is_refused(row, message):
    with pytest.raises(TaskError) as caught:
        open_r1.task_from_row(row)
    assert str(caught.value).startswith(message)


def test_a_row_of_gem(executor):
    task = gem.task_from_row({"problem": "Print the sum.", "tests": json.dumps(PAIRS)})
    assert (task.prompt, task.tests) == ("Print the sum.", (StdinTest("1\n2\n", "3\n"),))
    assert judge(task, "print(int(input()) + int(input()))", executor).passed
    called = gem.task_from_row({"id": 1, "problem": "Add.", "tests": CALLS, "starter_code": "class Solution:"})
    assert (called.id, called.entry_point) == ("1", "Solution.add")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"problem": 1, "tests": PAIRS}, "problem: text was expected; got int"),
        ({"problem": "p", "tests": "[]"}, "tests: an object, or JSON text of one, was expected; got a list of nothing"),
        ({"problem": "p", "tests": {}}, "tests: inputs: a list was expected; got NoneType"),
    ],
)
def test_a_malformed_row_of_gem_is_refused(row, message):
    with pytest.raises(TaskError) as caught:
        gem.task_from_row(row)
    assert str(caught.value).startswith(message)


def test_rows_are_known_by_their_fields():
    assert format_of_row(verl_row(PAIRS, id="x")) == "verl"
    assert format_of_row(skyrl_row([], id="x")) == "skyrl"
    assert format_of_row(open_r1_row(PAIR, id="x")) == "open_r1"
    assert format_of_row({"id": "x", "problem": "p", "tests": {}}) == "gem"
    assert format_of_row({"id": "x", "prompt": "p", "tests": []}) == "code_env"
    assert format_of_row({"prompt": "p", "completion": "c"}) is None
