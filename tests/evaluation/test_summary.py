"""A file of completions is summed up from the lines of its results."""

from code_env import StdinTest, Task, TaskSuite
from code_env.evaluation import Sample, judge_samples, sample_row, summarize

SUITE = TaskSuite("prints", [Task(name, "", (StdinTest("", name),)) for name in "ab"])
SAMPLES = [Sample(name, f"print('{text}')") for name in "ab" for text in "aabc"]


def test_counts_and_times_are_added_up(executor):
    judged = judge_samples(SUITE, SAMPLES, executor, extract="raw")
    rows = (
        sample_row(number, SAMPLES[number], SUITE.task(SAMPLES[number].task_id), verdict, {})
        for number, verdict in judged
    )
    summary = summarize(SUITE, rows, ks=(1, 4))
    assert (summary.samples, summary.tasks, summary.tasks_passed) == (8, 2, 2)
    assert [(one.k, one.value) for one in summary.pass_at_k] == [(1, 0.375), (4, 1.0)]
    assert summary.timing.run_s > 0.0
