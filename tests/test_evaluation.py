"""A file of completions is summed up as its verdicts come."""

import gc
import weakref

from code_env import StdinTest, Task, TaskSuite
from code_env.evaluation import Sample, judge_samples, summarize

SUITE = TaskSuite("prints", [Task(name, "", (StdinTest("", name),)) for name in "ab"])
SAMPLES = [Sample(name, f"print('{text}')") for name in "ab" for text in "aabc"]


def test_nothing_is_kept_of_verdicts_but_numbers(executor):
    kept = []

    def results():
        for sample, verdict in judge_samples(SUITE, SAMPLES, executor, extract="raw"):
            kept.append(weakref.ref(verdict.execution))
            yield sample, verdict

    summary = summarize(SUITE, results(), ks=(1, 4))
    gc.collect()
    assert [one() for one in kept] == [None] * len(SAMPLES)
    assert (summary.samples, summary.tasks, summary.tasks_passed) == (8, 2, 2)
    assert [(one.k, one.value) for one in summary.pass_at_k] == [(1, 0.375), (4, 1.0)]
    assert summary.timing.run_s > 0.0
