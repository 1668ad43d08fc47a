"""A file of completions is summed up from the lines of its results."""

from code_env import StdinTest, Task, TaskSuite
from code_env.evaluation import Sample, judge_samples, sample_row, summarize

SUITE = TaskSuite("prints", [Task(name, "", (StdinTest("", name),)) for name in "ab"])
SAMPLES = [Sample(name, f"print('{text}')") for name in "ab" for text in "aabc"]


def rows_of(executor):
    judged = judge_samples(SUITE, SAMPLES, executor, extract="raw")
    for number, verdict in judged:
        yield sample_row(number, SAMPLES[number], SUITE.task(SAMPLES[number].task_id), verdict, {})


def test_counts_and_times_are_added_up(executor):
    summary = summarize(SUITE, rows_of(executor), ks=(1, 4))
    assert (summary.samples, summary.tasks, summary.tasks_passed) == (8, 2, 2)
    assert [(one.k, one.value) for one in summary.pass_at_k] == [(1, 0.375), (4, 1.0)]
    assert summary.timing.run_s > 0.0


def test_a_sample_without_a_verdict_is_neither_right_nor_wrong(executor):
    lost = {"outcome": "no_verdict", "passed": False}
    rows = [{**row, **lost} if row["completion"] == "print('c')" else row for row in rows_of(executor)]
    summary = summarize(SUITE, rows, ks=(1, 3, 4))
    assert summary.samples == 8
    assert summary.outcomes == {"pass": 3, "fail": 3, "no_verdict": 2}
    assert sum(summary.judges.values()) == 6
    assert [(one.k, one.value, one.missing) for one in summary.pass_at_k] == [(1, 0.5, 2), (3, 1.0, 2)]
