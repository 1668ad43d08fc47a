"""Samples are read with the line of what is wrong in them, and judged as an environment judges the same responses."""

import json

import pytest

from code_env import CallTest, Task, TaskSuite
from code_env.errors import TaskError
from code_env.evaluation.samples import Sample, judge_samples, passing_answers, read_samples, reference_samples

SUITE = TaskSuite(
    "s",
    [
        Task("7", "p", (CallTest((2,), expected=4),), entry_point="double", reference="def double(x): return 2 * x"),
        Task("next", "p", (CallTest((2,), expected=3),), entry_point="next_one"),
    ],
)
RIGHT = "def double(x):\n    return 2 * x\n"
RESPONSE = f"Here it is:\n```python\n{RIGHT}```\nUse it so:\n```python\nprint(double(21))\n```"


def written(tmp_path, *rows):
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_a_row_has_an_id_and_a_completion_and_may_say_who_wrote_it(tmp_path):
    rows = (
        {"task_id": 7, "completion": "a", "model": "m", "finish_reason": "length", "more": 1},
        {"task_id": "next", "completion": "", "model": None},
    )
    assert read_samples(written(tmp_path, *rows), SUITE) == [Sample("7", "a", "m", "length"), Sample("next", "")]


def test_another_field_can_hold_the_completion(tmp_path):
    path = written(tmp_path, {"task_id": "7", "text": "a", "turns": [{"action": "b"}]})
    assert read_samples(path, SUITE, "text") == [Sample("7", "a")]


def test_the_last_action_of_a_trajectory_is_the_completion(tmp_path):
    path = written(tmp_path, {"task_id": "7", "turns": [{"action": "first"}, {"action": "last"}]})
    assert read_samples(path, SUITE) == [Sample("7", "last")]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"task_id": "7"}, r":2: completion: text was expected; got nothing; --field names another field"),
        ({"task_id": "7", "completion": ["a"]}, r":2: completion: text was expected; got list"),
        ({"completion": "a"}, r":2: task_id: text was expected; got nothing$"),
        ({"task_id": "8", "completion": "a"}, r":2: .*'8'"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(row, told, tmp_path):
    path = written(tmp_path, {"task_id": "7", "completion": "a"}, row)
    with pytest.raises(TaskError, match=told):
        read_samples(path, SUITE)


def test_a_file_without_samples_is_an_error(tmp_path):
    with pytest.raises(TaskError, match="there are no samples in it"):
        read_samples(written(tmp_path), SUITE)


def test_the_block_that_defines_the_entry_point_is_judged(executor):
    samples = [Sample("7", RESPONSE), Sample("next", "def next_one(x): return x"), Sample("7", RIGHT)]
    verdicts = dict(judge_samples(SUITE, samples, executor))
    assert {number: verdict.passed for number, verdict in verdicts.items()} == {0: True, 1: False, 2: True}
    assert (verdicts[0].code, verdicts[0].response) == (RIGHT, RESPONSE)
    assert dict(judge_samples(SUITE, samples[:1], executor, "raw"))[0].code == RESPONSE


def test_what_is_left_out_keeps_the_numbers_of_the_others(executor):
    samples = [Sample("7", RIGHT)] * 3
    assert {number for number, _ in judge_samples(SUITE, samples, executor, leave_out={1})} == {0, 2}


def test_answers_that_pass_are_gathered_by_their_tasks(executor, tmp_path):
    rows = ({"task_id": "7", "completion": text} for text in (RESPONSE, "def double(x): return 3", RIGHT))
    assert passing_answers(SUITE, [written(tmp_path, *rows)], executor) == {"7": [RIGHT, RIGHT]}


def test_references_are_samples_if_all_tasks_have_one():
    assert reference_samples(TaskSuite("s", SUITE[:1])) == [Sample("7", "def double(x): return 2 * x")]
    with pytest.raises(TaskError, match="task 'next' has no reference"):
        reference_samples(SUITE)
