import multiprocessing
import subprocess
import sys
import threading

import pytest

from code_env import ExecutorError, ExecutorNotFound, Program, make_executor
from code_env.integrations._common.shared_executor import _shared, executor_for, lent_executor
from support import PATIENCE_S

REWARD = """
import threading
from code_env.integrations.rewardkit import local_code_execution_reward as reward
scores = []
threads = [threading.Thread(target=lambda n=n: scores.append(reward(f"print({n})", str(n)))) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(scores)
"""


def test_one_is_made_for_each_name_and_shared_by_all_threads():
    found = []
    threads = [threading.Thread(target=lambda: found.append(executor_for(None))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(one) for one in found} == {id(executor_for("local"))}
    assert executor_for("subprocess") is not executor_for("local")


def test_one_that_was_given_is_not_replaced():
    with make_executor("subprocess", workers=1) as executor:
        assert executor_for(executor) is executor


def test_a_process_that_used_it_ends_by_itself():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", REWARD], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0, 1.0, 1.0, 1.0]\n", "")


FORK = """
import os
from code_env.integrations.rewardkit import local_code_execution_reward as reward
assert reward("print(1)", "1") == 1.0
child = os.fork()
if not child:
    os._exit(0 if reward("print(2)", "2") == 1.0 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(reward("print(3)", "3"))
"""


def test_a_fork_has_its_own():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr


def reward_in_a_child(number):
    from code_env.integrations.rewardkit import local_code_execution_reward

    return local_code_execution_reward(f"print({number})", "1")


def test_workers_of_a_pool_use_it():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(reward_in_a_child, [1, 2]) == [1.0, 0.0]


def test_what_is_no_executor_is_an_error():
    with pytest.raises(TypeError, match="executor must be an Executor, the name of one, or None; got int"):
        executor_for(3)
    with pytest.raises(ExecutorNotFound, match="did you mean 'local'"):
        executor_for("locale")


def lend(**arguments):
    return lent_executor("subprocess", {"workers": 1, **arguments})


class TestLent:
    def test_equal_arguments_get_the_same_and_others_another(self):
        with lend() as one, lend() as same, lend(workers=2) as other:
            assert one is same is not other
        with lend() as later, lent_executor("subprocess", {"workers": 1}, "another version") as another:
            assert later is one is not another
            assert later.run(Program("print(1)")).stdout == "1\n"

    def test_few_are_kept_and_none_that_is_in_use_is_closed(self):
        with lend(workers=3) as used:
            for workers in range(4, 12):
                with lend(workers=workers) as passing:
                    assert passing.run(Program("print(1)")).stdout == "1\n"
            assert used.run(Program("print(1)")).stdout == "1\n"
        with lend(workers=11) as again:
            assert again is passing
        with lend(workers=4) as anew:
            assert anew.run(Program("print(1)")).stdout == "1\n"
        assert len([one for one in _shared._lent.values() if not one.users]) <= 4

    def test_what_is_no_plain_data_is_told_by_the_executor(self):
        with (
            pytest.raises(ExecutorError, match="additional_globals"),
            lent_executor("restricted", {"additional_globals": {"f": lambda: 1}}),
        ):
            pass
