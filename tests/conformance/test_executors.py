import pytest

from code_env import make_executor
from code_env.testing import CHECKS, LIFE_CHECKS, ConformanceFailure, check_executor

EXECUTORS = ("local", "subprocess")


@pytest.fixture(scope="module", params=EXECUTORS)
def made(request):
    with make_executor(request.param) as executor:
        yield executor


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_an_executor_conforms(check, made):
    check(made)


@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("check", LIFE_CHECKS, ids=lambda check: check.__name__)
def test_an_executors_life_conforms(check, name):
    with make_executor(name) as executor:
        check(executor)


def test_there_are_enough_checks():
    assert len({check.__name__ for check in CHECKS + LIFE_CHECKS}) == len(CHECKS) + len(LIFE_CHECKS) >= 45


class LyingExecutor(type(make_executor("subprocess"))):
    """Claims that everything went well, as a careless third-party executor might."""

    def submit(self, program):
        from concurrent.futures import Future

        from code_env import ExecutionResult, Status

        future = Future()
        future.set_result(ExecutionResult(Status.OK, exit_code=0))
        return future


def test_most_checks_catch_an_executor_that_runs_nothing():
    failures = check_executor(LyingExecutor)
    passing = {check.__name__ for check in CHECKS + LIFE_CHECKS} - set(failures)
    # What can hold without running anything: that the executor closes.
    assert passing == {"an_unused_executor_closes"}


def test_a_failed_check_is_an_assertion_for_test_runners():
    assert issubclass(ConformanceFailure, AssertionError)
