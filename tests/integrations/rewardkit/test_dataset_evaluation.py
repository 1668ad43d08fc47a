import json
import threading

import pytest

from code_env import TaskError
from code_env.integrations.rewardkit import RewardOutput, evaluate_dataset, local_code_execution_reward, reward_function
from support import PATIENCE_S, BrokenExecutor


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

    found = evaluate_dataset(reward, dataset(*ROWS[:2]), ["expected_output"], at_once=1)
    assert (found.scores, found.missing, found.mean_score) == ((None, 0.0), 1, 0.0)


def test_rows_may_come_in_a_list_or_a_dataset(executor):
    datasets = pytest.importorskip("datasets")
    rows = [{"completion": f"print({n % 2})", "expected_output": "1", "unused": n} for n in range(6)]

    def reward(response, expected_output):
        return local_code_execution_reward(response, expected_output, executor=executor)

    for given in (rows, datasets.Dataset.from_list(rows)):
        found = evaluate_dataset(reward, given, ["expected_output"])
        assert list(found) == [0.0, 1.0] * 3
        assert (len(found), found[1], found[-2:], found.mean_score) == (6, 1.0, (0.0, 1.0), 0.5)
        assert json.loads(json.dumps(found.to_dict()))["scores"] == [0.0, 1.0] * 3


def test_outputs_with_metrics_are_data_too(dataset):
    found = evaluate_dataset(local_code_execution_reward, dataset(ROWS[2]), ["expected_output"])
    assert found.to_dict()["results"][0]["metrics"]["output_match"]["score"] == 1.0


def test_rows_are_scored_at_once_and_stay_in_order():
    together = threading.Barrier(4)

    def reward(response):
        together.wait(PATIENCE_S)  # Nobody gets on unless four are there.
        return float(response)

    rows = [{"response": str(n)} for n in range(8)]
    assert list(evaluate_dataset(reward, rows, at_once=4)) == [float(n) for n in range(8)]


def test_one_at_a_time_is_one_at_a_time():
    threads = set()
    evaluate_dataset(lambda response: threads.add(threading.get_ident()) or 1.0, [{"response": "x"}] * 5, at_once=1)
    assert len(threads) == 1


def test_an_error_of_the_function_ends_it():
    def reward(response):
        raise LookupError(response)

    with pytest.raises(LookupError, match="0"):
        evaluate_dataset(reward, [{"response": str(n)} for n in range(50)], at_once=1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([3], "row 1: an object was expected; got int"),
        ([], "the dataset: there are no rows in it"),
        ({"response": "x"}, "a file, or a list of rows, was expected; got dict"),
        ([{"response": "x"}, {}], "row 2: the row lacks messages, or response; it has nothing"),
    ],
)
def test_what_are_no_rows_is_refused_before_any_is_scored(rows, message):
    with pytest.raises(TaskError, match=message):
        evaluate_dataset(lambda response: pytest.fail("a row was scored"), rows)


def test_a_number_at_once_is_one():
    with pytest.raises(ValueError, match="at_once must be a whole number of at least 1; got 0"):
        evaluate_dataset(lambda response: 1.0, [{"response": "x"}], at_once=0)


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
