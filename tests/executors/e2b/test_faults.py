"""Every fault of the service ends as it must: never as a wrong answer, never in a hang, never in a leak."""

from itertools import cycle

import pytest

from code_env import AssertTest, CallTest, E2BMisconfigured, Limits, Outcome, Program, Status, Task, judge
from code_env.executors.machines import machine_run
from e2b_server import Fault
from support import PATIENCE_S, wait_until

REFUSALS = (Fault.UNAUTHORIZED, Fault.BAD_REQUEST, Fault.FORBIDDEN, Fault.NOT_FOUND)
STALLS = (Fault.STALL, Fault.UNANSWERED, Fault.STALL_MIDSTREAM)
BRIEF = [fault for fault in Fault if fault not in STALLS]
OTHERS = [fault for fault in Fault if fault not in REFUSALS]

SUITE = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n"
TASK = Task("t", "", (AssertTest(SUITE),), entry_point="double")
HELLO = Program("print('hello')", limits=Limits(wall_s=4))


pytestmark = pytest.mark.usefixtures("one_host")


def quick(make, fault):
    """An executor; one that soon notices where nothing is answered."""
    if fault not in STALLS:
        return make()
    return make(request_timeout_s=2.0, retry={"first_wait_s": 0.02, "longest_wait_s": 0.1, "silence_s": 4.0})


@pytest.mark.parametrize("fault", REFUSALS, ids=lambda fault: fault.name)
def test_a_refusal_stops_everything_at_once(fault, make, e2b):
    executor = make(max_concurrency=1)
    running = executor.submit(Program("import time; time.sleep(60)"))
    while not e2b.sandboxes:
        assert running.exception(0.05) is None if running.done() else True
    waiting = executor.submit(HELLO)
    e2b.faults.add("create", fault)
    other = make()
    with pytest.raises(
        E2BMisconfigured, match=r"E2B refuses to make a sandbox .*check E2B_API_KEY or api_key, template"
    ):
        other.run(HELLO)
    with pytest.raises(E2BMisconfigured):
        other.submit(HELLO)
    e2b.faults.add("create", fault)
    running.cancel()  # Its place goes to the one that waits, which is refused.
    with pytest.raises(E2BMisconfigured):
        waiting.result(PATIENCE_S)


@pytest.mark.parametrize("fault", REFUSALS, ids=lambda fault: fault.name)
def test_a_refusal_reaches_those_that_run(fault, make, e2b):
    executor = make(max_concurrency=2)
    running = executor.submit(Program("import time; time.sleep(60)"))
    wait_until(lambda: e2b.sandboxes)
    e2b.faults.add("create", fault)
    with pytest.raises(E2BMisconfigured):
        executor.submit(HELLO).result(PATIENCE_S)
    with pytest.raises(E2BMisconfigured):
        running.result(PATIENCE_S)


MADE_ALL_THE_SAME = (
    *(Fault.UNANSWERED, Fault.RESET_AFTER, Fault.RESET_MIDSTREAM, Fault.TRUNCATED),
    *(Fault.KILLED_MIDSTREAM, Fault.NO_END, Fault.STALL_MIDSTREAM),
)
"""Faults of a create after which there is a sandbox of which the client does not know."""


@pytest.mark.parametrize("fault", OTHERS, ids=lambda fault: fault.name)
def test_a_sandbox_is_asked_for_again_and_ended_however_often_that_fails(fault, make, e2b):
    before = e2b.created
    e2b.faults.add("create", fault, times=2)
    e2b.faults.add("kill", fault, times=2)
    executor = quick(make, fault)
    result = executor.run(HELLO)
    if fault is Fault.DISK_FULL:  # Which E2B does not say of a create: nothing is known of it.
        failed = (result, executor.run(HELLO))
        assert ([one.status for one in failed], e2b.created) == ([Status.SANDBOX_ERROR] * 2, before)
        assert all("507" in one.error.message for one in failed)
        result = executor.run(HELLO)
        assert e2b.created == before + 1
    else:
        assert e2b.created == before + 1 + 2 * (fault in MADE_ALL_THE_SAME)
    assert (result.status, result.stdout) == (Status.OK, "hello\n"), result
    executor.close()
    assert e2b.sandboxes == []


@pytest.mark.parametrize("fault", REFUSALS, ids=lambda fault: fault.name)
def test_a_sandbox_whose_end_is_refused_is_ended(fault, make, e2b):
    executor = make()
    e2b.faults.add("kill", fault, times=2)
    assert executor.run(HELLO).stdout == "hello\n"
    executor.close()
    assert e2b.sandboxes == []


@pytest.mark.parametrize("fault", [*OTHERS, *REFUSALS], ids=lambda fault: fault.name)
def test_a_program_is_run_again(fault, make, e2b):
    """First its files meet the fault, then its command."""
    before = e2b.created
    e2b.faults.add("files", fault)
    e2b.faults.add("commands", fault)
    result = quick(make, fault).run(HELLO)
    assert (result.status, result.stdout) == (Status.OK, "hello\n"), result
    assert e2b.created == before + 3


FAULTS_OF_COMMANDS = (
    *(Fault.RESET_AFTER, Fault.KILLED_MIDSTREAM, Fault.INTERNAL),
    *(Fault.NOT_FOUND, Fault.RATE_LIMITED, Fault.EMPTY_JSON),
)
"""The program has run, is running, or was not begun; the others are counted in the same way."""


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        *(("commands", fault) for fault in FAULTS_OF_COMMANDS),
        *(("files", fault) for fault in [*BRIEF, Fault.STALL] if fault not in FAULTS_OF_COMMANDS),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_remains_is_a_fault_of_the_sandbox(operation, fault, make, e2b):
    before = e2b.created
    e2b.faults.add(operation, fault, times=3)
    result = quick(make, fault).run(HELLO)
    assert (result.status, result.stdout, result.exit_code) == (Status.SANDBOX_ERROR, "", None), result
    assert result.error.message.startswith("E2B failed in 3 attempts: ")
    assert e2b.created == before + 3


IN_MIDSTREAM = (
    *(Fault.RESET_MIDSTREAM, Fault.TRUNCATED, Fault.KILLED_MIDSTREAM, Fault.NO_END, Fault.STALL_MIDSTREAM),
    *(Fault.RESET, Fault.GONE, Fault.INTERNAL),
)
"""What a judged run meets otherwise than one without a peer, which meets all."""


@pytest.mark.parametrize("fault", [*OTHERS, *REFUSALS], ids=lambda fault: fault.name)
def test_a_judged_run_is_judged_again_from_its_start(fault, make, e2b, monkeypatch):
    monkeypatch.setattr(machine_run, "_ARRIVAL_LATEST_S", 2.0)  # So soon a line that has not come is missed.
    e2b.faults.add("process", fault)
    if fault in IN_MIDSTREAM:
        e2b.faults.add("commands", fault)
    verdict = judge(TASK, "def double(x): return 2 * x", quick(make, fault))
    assert (verdict.outcome, verdict.fraction) == (Outcome.PASS, 1.0), verdict


@pytest.mark.parametrize("operation", ["process", "commands"])
def test_a_judged_run_of_a_wrong_answer_is_judged_again_too(operation, make, e2b):
    e2b.faults.add(operation, Fault.RESET_MIDSTREAM, times=1)
    verdict = judge(TASK, "def double(x): return 4", make())
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.5), verdict


def test_a_judged_run_without_luck_is_no_verdict(make, e2b):
    e2b.faults.add("commands", Fault.GONE, times=9)
    verdict = judge(TASK, "def double(x): return 2 * x", make())
    assert (verdict.outcome, verdict.fraction) == (Outcome.NO_VERDICT, None)
    assert verdict.execution.error.message.startswith("E2B failed in 3 attempts: SandboxNotRunningException")


def test_the_accounts_limit_is_waited_for(monkeypatch):
    from code_env import make_executor
    from e2b_server import LoopbackServer

    with LoopbackServer(concurrency=3, count_lag_s=0.2) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        retry = {"first_wait_s": 0.05, "longest_wait_s": 0.3, "create_tries": 2, "regrow_s": 0.5}
        with make_executor("e2b", max_concurrency=6, retry=retry) as executor:
            results = executor.run_many(Program(f"print({n})") for n in range(9))
        assert [result.stdout for result in results] == [f"{n}\n" for n in range(9)]
        assert server.peak == 3
        assert server.sandboxes == []


def test_retry_after_is_heeded(make, e2b):
    e2b.faults.retry_after_s = 2
    try:
        e2b.faults.add("create", Fault.RATE_LIMITED)
        result = make().run(HELLO)
    finally:
        e2b.faults.retry_after_s = 1
    assert result.stdout == "hello\n"
    assert result.queue_s >= 2


def test_a_service_that_is_away_is_a_fault_of_the_sandbox(make, e2b):
    executor = make(retry={"first_wait_s": 0.02, "longest_wait_s": 0.05, "create_tries": 2})
    with e2b.refusing():
        result = executor.run(HELLO)
    assert result.status is Status.SANDBOX_ERROR
    assert executor.run(HELLO).stdout == "hello\n"


CALLS = Task("t", "", (CallTest((2,), {}, 4), CallTest((3,), {}, 6)), entry_point="double", limits=Limits(wall_s=2))
LOST = (Fault.RESET, Fault.INTERNAL, Fault.NOT_FOUND, Fault.NOT_JSON, Fault.EMPTY_JSON, Fault.STALL, Fault.UNANSWERED)


@pytest.mark.parametrize(
    ("fault", "after"), list(zip(LOST, cycle([0, 1]))), ids=lambda value: getattr(value, "name", value)
)
def test_a_line_that_did_not_come_is_never_the_programs_timeout(fault, after, make, e2b):
    """Its own limit is over long before anybody gives up: its timeout is believed only with all lines there."""
    e2b.faults.add("process", fault, after=after)
    before = e2b.created
    verdict = judge(CALLS, "def double(x): return 2 * x", make())
    assert (verdict.outcome, verdict.fraction) == (Outcome.PASS, 1.0), verdict
    assert e2b.created == before + 2


def test_a_stalled_line_is_noticed_before_the_limit_is_over(make, e2b):
    e2b.faults.add("process", Fault.STALL)
    task = Task("t", "", (AssertTest(SUITE),), entry_point="double", limits=Limits(wall_s=60))
    verdict = judge(task, "def double(x): return 2 * x", make(request_timeout_s=60.0))
    assert verdict.outcome is Outcome.PASS, verdict


def test_who_takes_no_line_is_held_responsible(executor, e2b):
    """What was sent waits for the program then, and nothing is lost."""
    before = e2b.created
    big = CallTest((list(range(300_000)),), {}, 0)
    task = Task("t", "", (big,), entry_point="f", limits=Limits(wall_s=2, cpu_s=5))
    for code in ("import time; time.sleep(60)", "import os; os._exit(0)"):
        verdict = judge(task, code, executor)
        assert verdict.outcome is Outcome.POLICY_ERROR, verdict
    assert e2b.created == before + 2


@pytest.mark.parametrize(
    ("command", "error"),
    [("exec /no/such/python", 127), ("exec /dev/null", 126)],
)
def test_a_template_without_what_it_takes_is_misconfigured(command, error, make, monkeypatch):
    monkeypatch.setattr(machine_run, "COMMAND", command)
    with pytest.raises(
        E2BMisconfigured, match=rf"(?s)exit code {error} .*Python 3.11 or newer as python3, bash, tar and"
    ):
        judge(TASK, "def double(x): return 2 * x", make())


@pytest.mark.parametrize("command", ["exec python3 -c 'import no_such_module'", "exit 0", "kill -9 $$"])
def test_what_ends_before_it_has_run_anything_blames_no_program(command, make, monkeypatch):
    monkeypatch.setattr(machine_run, "COMMAND", command)
    verdict = judge(TASK, "def double(x): return 2 * x", make())
    assert verdict.outcome is Outcome.NO_VERDICT, verdict
    assert "what runs the program cannot run on the machine" in verdict.execution.error.message
