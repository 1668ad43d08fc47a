import json

import pytest

from code_env import TaskError
from code_env.integrations.rewardkit import RewardOutput, evaluate_dataset, local_code_execution_reward, reward_function
from support import BrokenExecutor


@pytest.fixture
def dataset(tmp_path):
    def write(*rows):
        path = tmp_path / "coding_problems.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


ROWS = (
    {"response": "print(1)", "expected_output": "1", "test_cases": [], "unused": 3},
    {"response": "print(2)", "expected_output": "1", "test_cases": []},
    {"messages": [{"role": "assistant", "content": "print(1)"}], "expected_output": "1", "test_cases": None},
)


def test_the_call_of_the_guide(dataset):
    found = evaluate_dataset(
        reward_function=local_code_execution_reward,
        dataset_path=str(dataset(*ROWS)),
        additional_fields=["test_cases", "expected_output"],
    )
    assert found.scores == (1.0, 0.0, 1.0)
    assert [type(result) for result in found.results] == [float, float, RewardOutput]
    assert (found.missing, found.mean_score) == (0, pytest.approx(2 / 3))


def test_rows_without_a_verdict_are_left_out_and_counted(dataset, executor):
    flaky = BrokenExecutor(executor, failures=3)

    @reward_function
    def reward(response, expected_output):
        return local_code_execution_reward(response, expected_output, executor=flaky)

    found = evaluate_dataset(reward, dataset(*ROWS[:2]), ["expected_output"])
    assert (found.scores, found.missing, found.mean_score) == ((None, 0.0), 1, 0.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"response": "x"}], r"coding_problems\.jsonl:1: the row lacks expected_output; it has response"),
        ([ROWS[0], {"expected_output": "1"}], r":2: the row lacks messages, or response; it has expected_output"),
        ([[1]], r":1: an object was expected"),
        ([], "there are no rows in it"),
    ],
    ids=str,
)
def test_a_malformed_row_is_named(dataset, rows, message):
    with pytest.raises(TaskError, match=message):
        evaluate_dataset(lambda **kwargs: 1.0, dataset(*rows), ["expected_output"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TaskError, match="there is no such file"):
        evaluate_dataset(lambda **kwargs: 1.0, tmp_path / "nothing.jsonl")
