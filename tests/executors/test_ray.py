"""`ray` on real clusters of this machine, whose nodes come and go."""

import gymnasium as gym
import pytest

from code_env import judge_many, load_suite
from code_env.executors.ray import RayExecutor
from code_env.testing import CHECKS
from executors.ray_started import patiently
from tiers import sample

ray = pytest.importorskip("ray")
SOME_CHECKS = sample(CHECKS, 3, lambda check: check.__name__)
"""`local` runs the programs, for which all checks hold; what Ray carries there and back is the same for most."""

# Ray leaves sockets and files to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    """A cluster with one node, to which this process is connected."""
    config = {"worker_niceness": 0}  # At Ray's default, 15, other tests would stop the actors from even starting.
    quiet = {"include_dashboard": False, "log_to_driver": False}
    patiently(ray.init, address="local", num_cpus=2, object_store_memory=100 << 20, _system_config=config, **quiet)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def executor_on_ray(cluster):
    with RayExecutor() as executor:
        yield executor


@pytest.mark.parametrize("check", SOME_CHECKS, ids=lambda check: check.__name__)
def test_it_conforms(check, executor_on_ray):
    assert check(executor_on_ray) is None


def test_verdicts_are_those_of_local(executor_on_ray, executor):
    suite = load_suite("starter")
    answers = [(task, task.reference) for task in suite]
    answers += [(task, wrong) for task in sample(suite, 4, lambda task: task.id) for wrong in ("x = 1", "1/0")]
    assert judge_many(answers, executor_on_ray) == judge_many(answers, executor)


def test_an_environment_runs_on_it(executor_on_ray):
    envs = gym.make_vec("CodeExec-v0", num_envs=4, suite="starter", executor=executor_on_ray)
    _, infos = envs.reset(seed=0)
    answers = [envs.unwrapped.suite.task(task).reference for task in infos["task_id"]]
    assert list(envs.step(answers)[1]) == [1.0] * 4
    envs.close()
