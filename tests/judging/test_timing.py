"""Where the time went that verdicts took."""

from code_env import StdinTest, StepTiming, Task, judge


def test_times_add_up_and_are_shown():
    total = StepTiming(1.0, 2.0, 3.0, 4.0) + StepTiming(0.5, 0.0, 0.25, 0.0)
    assert (total.queue_s, total.start_s, total.run_s, total.judge_s) == (1.5, 2.0, 3.25, 4.0)
    assert str(total) == "1.5 s waiting for a worker, 2.0 s starting, 3.2 s running, 4.0 s making verdicts"


def test_a_verdict_has_them(executor):
    verdict = judge(Task("t", "", (StdinTest("", "1"),)), "import time\ntime.sleep(0.2)\nprint(1)", executor)
    timing = StepTiming.of(verdict)
    assert timing.run_s > 0.2
    assert min(timing.queue_s, timing.start_s) >= 0.0
    assert 0.0 < timing.judge_s == verdict.judge_s
