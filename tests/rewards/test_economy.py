"""Terms for right answers that use little."""

import pytest

from code_env.executors.result import ExecutionResult, Status
from code_env.judging import judge
from code_env.judging.verdict import Outcome, Verdict
from code_env.rewards.economy import brevity, cpu_economy, memory_economy
from code_env.tasks import CallTest, Task, TaskSuite
from code_env.tasks.task import LEAST_REFERENCE_CPU_S, LEAST_REFERENCE_MEMORY_BYTES
from code_env.validating import validate

REFERENCE = "def add(a, b):\n    return a + b\n"


def task(**metadata):
    return Task("t", "", (CallTest((1, 2), {}, 3),), entry_point="add", reference=REFERENCE, metadata=metadata)


def verdict(outcome=Outcome.PASS, code=REFERENCE, **used):
    return Verdict(outcome, (), 1.0, "blind", code, code, ExecutionResult(Status.OK, **used))


@pytest.mark.parametrize(("times", "value"), [(0.1, 1.0), (1.0, 1.0), (1.5, 1.0), (5.75, 0.5), (10.0, 0.0), (99, 0.0)])
def test_a_right_answer_is_worth_less_the_more_it_takes(times, value):
    cpu_s, memory_bytes = 2.0, 100 << 20
    given = task(reference_cpu_s=cpu_s, reference_memory_bytes=memory_bytes)
    assert cpu_economy(given, verdict(cpu_s=times * cpu_s)) == pytest.approx(value)
    assert memory_economy(given, verdict(peak_memory_bytes=round(times * memory_bytes))) == pytest.approx(value)


def test_what_is_mostly_noise_makes_no_difference():
    given = task(reference_cpu_s=LEAST_REFERENCE_CPU_S / 100, reference_memory_bytes=0)
    assert cpu_economy(given, verdict(cpu_s=LEAST_REFERENCE_CPU_S)) == 1.0
    assert memory_economy(given, verdict(peak_memory_bytes=LEAST_REFERENCE_MEMORY_BYTES)) == 1.0


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.POLICY_ERROR])
def test_a_wrong_answer_gets_nothing_however_little_it_takes(outcome):
    given = task(reference_cpu_s=1.0, reference_memory_bytes=1 << 30)
    assert [term(given, verdict(outcome)) for term in (brevity, cpu_economy, memory_economy)] == [0.0] * 3


def test_a_task_that_knows_of_no_reference_gives_nothing():
    assert cpu_economy(task(), verdict()) == memory_economy(task(reference_memory_bytes="1"), verdict()) == 0.0


def test_calibration_notes_what_the_reference_takes(executor):
    suite = validate(TaskSuite("s", [task(level=3)]), executor, repetitions=2, calibrate=True).suite
    calibrated = suite[0]
    assert set(calibrated.metadata) == {"level", "reference_cpu_s", "reference_memory_bytes"}
    assert LEAST_REFERENCE_CPU_S <= calibrated.metadata["reference_cpu_s"] < 1
    slow = "def add(a, b):\n    sum(range(25 * 10**6))\n    return a + b\n"
    judged = {code: judge(calibrated, code, executor) for code in (REFERENCE, slow)}
    assert all(one.passed for one in judged.values())
    assert cpu_economy(calibrated, judged[REFERENCE]) > cpu_economy(calibrated, judged[slow])
