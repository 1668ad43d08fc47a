"""The CPU time that the tests of an answer share after one of them timed out."""

from code_env.harness.process.budget import Budget
from code_env.harness.process.limits import ProcessLimits


def test_a_budget_counts_cpu_time_of_tests_after_a_timeout():
    limits = ProcessLimits(cpu_s=2.0, wall_s=9.0, memory_bytes=1, file_bytes=1)
    budget = Budget(limits)
    for status, cpu_s in (("ok", 1.9), ("error", 1.9), ("timeout", 0.1), ("memory", 1.9)):
        budget.note(status, cpu_s)
        assert budget.next_limits() == limits
    budget.note("timeout", 2.01)
    assert budget.next_limits() == limits
    budget.note("ok", 0.5)
    assert budget.next_limits() == limits._replace(cpu_s=1.5)
    budget.note("timeout", 0.2)  # It waited.
    assert budget.next_limits() == limits._replace(cpu_s=1.3)
    budget.note("timeout", 1.2)  # What is left by chance is of no account.
    assert budget.next_limits() is None


def test_a_budget_for_all_tests_is_used_up_by_each():
    limits = ProcessLimits(cpu_s=2.0, wall_s=9.0, memory_bytes=1, file_bytes=1, total_cpu_s=3.0)
    budget = Budget(limits)
    assert budget.is_shared
    budget.note("ok", 1.0)
    assert budget.next_limits() == limits
    budget.note("error", 0.5)
    assert budget.next_limits() == limits._replace(cpu_s=1.5)
    budget.note("timeout", 1.45)
    assert budget.next_limits() is None
