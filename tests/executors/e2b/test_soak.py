"""Many programs and judged answers while one call in twenty fails."""

from code_env import AssertTest, Program, Status, Task, judge_many
from code_env.executors.e2b.executor import E2BExecutor

SUITE = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n"

SHARES = dict.fromkeys(("create", "files", "commands", "process", "kill", "health", "list"), 0.05)


def test_no_verdict_is_wrong_and_no_sandbox_is_left(e2b):
    retry = {"first_wait_s": 0.02, "longest_wait_s": 0.2, "silence_s": 10.0, "reruns": 5}
    # With this seed 17 of the first 30 calls of create, files, commands and kill fail, and each of the 30 runs below
    # makes at least one call of each. How many more there are depends on how busy the machine is.
    e2b.faults.random(SHARES, seed=192)
    before = sum(e2b.faults.injected.values())
    with E2BExecutor(max_concurrency=16, retry=retry, request_timeout_s=20.0) as executor:
        futures = [executor.submit(Program(f"print({n})\nraise SystemExit({n % 3})")) for n in range(22)]
        task = Task("t", "", (AssertTest(SUITE),), entry_point="double")
        answers = [(task, f"def double(x): return {'2 * x' if n % 2 else '4'}  # {n}") for n in range(8)]
        verdicts = judge_many(answers, executor)
        results = [future.result() for future in futures]
    assert sum(e2b.faults.injected.values()) >= before + 17
    wrong = [
        result
        for n, result in enumerate(results)
        if result.status is not Status.SANDBOX_ERROR and (result.stdout, result.exit_code) != (f"{n}\n", n % 3)
    ]
    assert wrong == []
    assert [result.error for result in results if result.status is Status.SANDBOX_ERROR] == []
    assert [verdict.fraction for verdict in verdicts] == [0.5, 1.0] * 4
    assert e2b.sandboxes == []
