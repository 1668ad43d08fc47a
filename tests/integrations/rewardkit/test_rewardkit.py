import json
import sys
import textwrap

import pytest

import code_env
from code_env import ExecutorError, NoVerdict, TaskError, UnsupportedProgram
from code_env.integrations._common.shared_executor import _shared
from code_env.integrations.rewardkit import (
    RewardOutput,
    calculate_output_similarity,
    e2b_code_execution_reward,
    fractional_code_reward,
    local_code_execution_reward,
    reward_function,
)
from e2b_server import LoopbackServer
from support import BrokenExecutor

FACTORIAL = [
    {"role": "user", "content": "Write a Python function to calculate the factorial of a number."},
    {
        "role": "assistant",
        "content": "Here is one:\n\n```python\ndef factorial(n):\n    if n == 0 or n == 1:\n        return 1\n"
        "    else:\n        return n * factorial(n - 1)\n\nprint(factorial(5))  # Should output 120\n```\n\n"
        "For n = 5 it computes 5 * 4 * 3 * 2 * 1 = 120.",
    },
]
SUM = [
    {"role": "user", "content": "Write a function to find the sum of a list. Expected output: 15 (for [1,2,3,4,5])"},
    {
        "role": "assistant",
        "content": "```python\ndef sum_list(numbers):\n    return sum(numbers)\n\nprint(sum_list([1, 2, 3, 4, 5]))\n"
        "```",
    },
]


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("E2B_API_KEY", raising=False)


@pytest.fixture(params=[local_code_execution_reward, e2b_code_execution_reward], ids=["local", "e2b"])
def reward(request):
    return request.param


@pytest.mark.parametrize(
    ("actual", "expected", "value"),
    [
        ("", "", 1.0),
        ("x", "", 0.0),
        ("", "x", 0.0),
        ("  A b ", "a B", 1.0),
        ("b a c d", "a b", 1.0),
        ("hello there", "hello world", 0.5),
        ("a a a", "a b c d", 0.25),
    ],
)
def test_similarity_is_that_of_the_guide(actual, expected, value):
    assert calculate_output_similarity(actual, expected) == value


def test_text_gives_a_float(executor, reward):
    for answer, value in {
        "print('1 2')": 1.0,
        "print('1 3')": 0.5,
        "print('x')": 0.0,
        "print('1 2'); 1 / 0": 0.0,
    }.items():
        score = reward(answer, "1 2", executor=executor)
        assert (type(score), score) == (float, value)
        assert reward(response=answer, expected_output="1 2", executor=executor) == value


def test_messages_give_a_score_and_metrics(executor, reward):
    result = reward(
        messages=FACTORIAL, expected_output="120", language="python", api_key="k", timeout=10, executor=executor
    )
    assert type(result) is RewardOutput
    assert result.score == 1.0
    assert list(result.metrics) == ["extracted_code", "expected_output", "execution_result", "output_match"]
    assert result.metrics["extracted_code"].reason.startswith("def factorial(n):")
    assert result.metrics["expected_output"].reason == "120"
    assert "120" in result.metrics["execution_result"].reason
    assert {name: metric.score for name, metric in result.metrics.items()} == dict.fromkeys(result.metrics, 1.0)
    assert json.loads(json.dumps(result.to_dict()))["metrics"]["output_match"]["score"] == 1.0


def test_the_expected_output_is_found_in_the_prompt(executor, reward):
    result = reward(messages=SUM, original_messages=SUM, language="python", executor=executor)
    assert (result.score, result.metrics["expected_output"].reason) == (1.0, "15")


def test_what_an_answer_says_it_expects_is_not_believed(executor, reward):
    answer = {"role": "assistant", "content": "Expected output: 3\n```python\nprint(3)\n```"}
    result = reward([*SUM[:1], answer], [*SUM[:1], answer], executor=executor)
    assert (result.score, result.metrics["expected_output"].reason) == (0.0, "15")


def test_without_an_expected_output_running_well_counts(executor, reward):
    assert reward(FACTORIAL, executor=executor).score == 1.0
    failing = reward([*SUM[:1], {"role": "assistant", "content": "1 / 0"}], executor=executor)
    assert (failing.score, failing.metrics["execution_result"].score) == (0.0, 0.0)
    assert "ZeroDivisionError: division by zero" in failing.metrics["execution_result"].reason
    with pytest.raises(TaskError, match="expected_output is missing"):
        reward("print(1)", executor=executor)


def test_an_answer_without_text_is_no_program(executor, reward):
    result = reward([{"role": "assistant", "content": None, "tool_calls": []}], expected_output="", executor=executor)
    assert (result.score, result.metrics["extracted_code"].score) == (0.0, 0.0)


D6 = {
    "a list reversed": ("[1, 2, 3]", "[3, 2, 1]", 1 / 3),
    "the same item for all": ("[1, 1, 1]", "[2, 3, 1]", 1 / 3),
    "another number, nearly": ("1000", "1001", 0.0),
    "twice as much as asked": ("1 2", "1 2 1 2", 2 / 3),
}


@pytest.mark.parametrize(("expected", "printed", "value"), D6.values(), ids=D6)
def test_d6_what_is_not_the_same_is_not_full_marks(executor, expected, printed, value):
    assert local_code_execution_reward(f"print({printed!r})", expected, executor=executor) == pytest.approx(value)


def test_d6_lines_count_as_lines_if_asked(executor):
    def score(measure):
        return local_code_execution_reward("print('a b c d')", "a b\nc d", measure=measure, executor=executor)

    assert (score("tokens"), score("lines")) == (1.0, 0.0)


def test_d6_long_texts_are_compared_all_the_same(executor):
    assert local_code_execution_reward("print('y' * 200_000)", "x" * 200_000, measure="edit", executor=executor) == 0.0


def test_all_words_buy_nothing_unless_asked_for(executor):
    answer = "print('no yes maybe 1 2 3 4 5 6 7')"
    assert local_code_execution_reward(answer, "yes", executor=executor) == pytest.approx(2 / 11)
    assert local_code_execution_reward(answer, "yes", measure="rewardkit_words", executor=executor) == 1.0


def test_limits_are_those_given(executor):
    timeout = local_code_execution_reward([*FACTORIAL[:1], assistant("while True: pass")], timeout=1, executor=executor)
    assert "the time limit was reached" in timeout.metrics["execution_result"].reason
    big = [*FACTORIAL[:1], assistant("x = b'1' * 200_000_000\nprint(len(x))")]
    assert local_code_execution_reward(big, executor=executor).score == 1.0
    small = local_code_execution_reward(big, max_memory_mb=50, executor=executor)
    assert "emory" in small.metrics["execution_result"].reason
    assert small.score == 0.0


def assistant(content):
    return {"role": "assistant", "content": content}


def test_a_failing_sandbox_gives_no_score(executor, reward):
    for call in (("print(1)", "1"), (FACTORIAL,)):
        with pytest.raises(NoVerdict, match="SandboxError: no luck"):
            reward(*call, executor=BrokenExecutor())
    assert reward("print(1)", "1", executor=BrokenExecutor(executor, failures=2)) == 1.0
    with pytest.raises(NoVerdict):
        fractional_code_reward("print(1)", [{"input": "", "expected_output": "1"}], executor=BrokenExecutor())


def test_e2b_without_a_key_does_not_run_here():
    for result in (
        e2b_code_execution_reward(FACTORIAL, expected_output="120"),
        fractional_code_reward(FACTORIAL, "120", environment="e2b"),
    ):
        assert (result.score, list(result.metrics)) == (0.0, ["error"])
        assert "E2B_API_KEY" in result.metrics["error"].reason
    with pytest.raises(ExecutorError, match="E2B_API_KEY"):
        e2b_code_execution_reward("print(1)", "1")


def test_e2b_with_a_key_runs_answers_there(monkeypatch):
    with LoopbackServer() as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("E2B_API_KEY")
        try:
            result = e2b_code_execution_reward(FACTORIAL, expected_output="120", api_key=cloud.api_key)
            assert result.score == 1.0
            assert e2b_code_execution_reward("print(1)", "2", api_key=cloud.api_key) == 0.0
            monkeypatch.setenv("E2B_API_KEY", cloud.api_key)
            cases = [{"input": "2 3", "expected_output": "5"}, {"input": "2 2", "expected_output": "5"}]
            answer = "print(sum(map(int, input().split())))"
            assert fractional_code_reward(answer, cases, environment="e2b").score == 0.5
            assert cloud.created >= 3
            with pytest.raises(ExecutorError, match="E2B refuses to make a sandbox"):
                e2b_code_execution_reward("print(1)", "1", api_key="a wrong one")
        finally:
            _shared.close()
        assert cloud.sandboxes == []


def test_e2b_without_its_sdk_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "e2b_code_interpreter", None)
    with pytest.raises(ExecutorError, match=r"pip install 'code-exec-env\[e2b\]'"):
        e2b_code_execution_reward("print(1)", "1", api_key="a key")


def test_an_installed_executor_e2b_gets_the_key(tmp_path, monkeypatch):
    info = tmp_path / "acme_e2b-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-e2b\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[code_env.executors]\ne2b = acme_e2b:make\n")
    (tmp_path / "acme_e2b.py").write_text(
        textwrap.dedent("""
        from code_env.executors.subprocess import UnisolatedSubprocessExecutor
        keys = []
        def make(api_key):
            keys.append(api_key)
            return UnisolatedSubprocessExecutor(workers=1)
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(code_env.executors.registry, "_BUILTIN", {})
    try:
        assert e2b_code_execution_reward("print(1)", "1", api_key="a key of this test") == 1.0
        assert e2b_code_execution_reward("print(2)", "1", api_key="a key of this test") == 0.0
        assert sys.modules["acme_e2b"].keys == ["a key of this test"]
    finally:
        sys.modules.pop("acme_e2b", None)


def test_a_language_that_the_executor_lacks_is_an_error():
    with (
        code_env.make_executor("subprocess", workers=1) as python_only,
        pytest.raises(UnsupportedProgram, match="cobol"),
    ):
        local_code_execution_reward(FACTORIAL, language="COBOL", executor=python_only)


@pytest.mark.parametrize("name", ["expectd_output", "time_out", "message", "mesure"])
def test_a_misspelt_keyword_is_refused(reward, name):
    with pytest.raises(TypeError, match=f"no argument '{name}'; .*did you mean"):
        reward("print(1)", "1", **{name: "x"})


def test_a_keyword_that_it_does_not_take_is_refused(reward):
    with pytest.raises(TypeError, match=r"no argument 'task_id'; known are messages, original_messages"):
        reward("print(1)", "1", task_id=3)
    assert reward_function(reward)("print(1)", "1", task_id=3, executor="local") == 1.0


def test_fractional_code_reward_does_not_pay_for_what_it_ignores():
    answer = [{"role": "assistant", "content": "print(1)"}]
    with pytest.raises(TypeError, match=r"no argument 'expected_output'; known are messages, ground_truth"):
        fractional_code_reward(answer, None, expected_output="2")
    with pytest.raises(TypeError, match="ground_truth"):
        reward_function(fractional_code_reward)(messages=answer, expected_output="2")
    with pytest.raises(TaskError, match="function_to_call is for test cases"):
        fractional_code_reward(answer, "1", function_to_call="add")
    with pytest.raises(TaskError, match="measure is for a text"):
        fractional_code_reward(answer, [{"expected_output": "1"}], measure="lines")
    assert fractional_code_reward(answer, "2").score == 0.0
    assert fractional_code_reward(answer, None).score == fractional_code_reward(answer, "1", measure="lines").score == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "as messages or as response; got none"),
        ({"messages": "x", "response": "x"}, "got both"),
        ({"messages": []}, "must end with the assistant's answer; got 'no message'"),
        ({"messages": SUM[:1]}, "must end with the assistant's answer; got 'user'"),
        ({"messages": {"role": "assistant"}}, "messages must be a list of messages"),
        ({"messages": SUM, "original_messages": "15"}, "original_messages must be a list of messages; got text"),
        ({"messages": SUM, "expected_output": 15}, "expected_output must be text; got int"),
        ({"messages": SUM, "expected_output": "1", "ground_truth": "2"}, "one expected output was expected"),
        ({"messages": SUM, "timeout": 0}, "limits.cpu_s"),
    ],
    ids=str,
)
def test_misuse_is_an_error(executor, reward, arguments, message):
    with pytest.raises(TaskError, match=message):
        reward(**arguments, executor=executor)


CASES = [
    {"input": "2 3", "expected_output": "5"},
    {"input": "2 2", "expected_output": "4"},
    {"input": "0 7", "expected_output": "7"},
    {"input": "1 1", "expected_output": "3"},
]


def test_the_share_of_cases_that_pass(executor):
    code = "Sure:\n```python\nprint(sum(map(int, input().split())))\n```"
    result = fractional_code_reward(messages=[*SUM[:1], assistant(code)], ground_truth=CASES, executor=executor)
    assert result.score == 0.75
    assert result.metrics["pass_rate"].reason == "3/4 tests passed (75.00%)"
    rows = json.loads(result.metrics["test_results"].reason)
    assert [row["passed"] for row in rows] == [True, True, True, False]
    assert {key: rows[3][key] for key in ("test_number", "input", "expected_output")} == {
        "test_number": 4,
        "input": "1 1",
        "expected_output": "3",
    }
    assert "got '2'" in rows[3]["details"]


def test_cases_of_a_function(executor):
    result = fractional_code_reward("def add(a, b): return a + b", CASES, function_to_call="add", executor=executor)
    assert result.score == 0.75
    fake = "class A(int):\n    def __eq__(self, other): return True\ndef add(a, b): return A()"
    assert fractional_code_reward(fake, CASES, function_to_call="add", executor=executor).score == 0.0


def test_a_text_as_ground_truth_is_an_expected_output(executor):
    result = fractional_code_reward(FACTORIAL, "120", executor=executor)
    assert (result.score, "output_match" in result.metrics) == (1.0, True)
    assert fractional_code_reward(FACTORIAL, None, executor=executor).score == 1.0


def test_no_cases_are_no_success(executor):
    result = fractional_code_reward(FACTORIAL, [], executor=executor)
    assert (result.score, result.metrics["error"].reason) == (0.0, "there are no test cases")


def test_an_environment_that_is_none_is_an_error(executor):
    with pytest.raises(TaskError, match="environment must be local or e2b; got 'docker'"):
        fractional_code_reward(FACTORIAL, "120", environment="docker", executor=executor)
