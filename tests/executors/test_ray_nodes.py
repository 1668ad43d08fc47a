"""`ray` on clusters that it starts, and on one of several nodes, which come and go."""

import pytest

from code_env import CallTest, ExecutorError, Task, judge_as_completed, make_executor
from code_env.executors.ray import RayExecutor
from code_env.testing import LIFE_CHECKS
from executors.ray_started import patiently

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

# Ray leaves sockets and files to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SETTINGS = {
    "worker_niceness": 0,  # At Ray's default, 15, other tests would stop the actors from even starting.
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
}
"""Without its quick checks Ray notices after minutes that a node is gone."""

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}


def test_nodes_die_and_join():
    """One of three is killed while it runs programs, and another joins: each verdict is right, and comes once."""
    task = Task("double", "", (CallTest(args=(3,), expected=6),), entry_point="double")
    answers = [(task, f"def double(x): return x * {2 + n % 2}  # {n}") for n in range(800)]
    head_node = {**NODE, "include_dashboard": False, "_system_config": SETTINGS}
    cluster = patiently(Cluster, initialize_head=True, head_node_args=head_node)
    try:
        nodes = [patiently(cluster.add_node, **NODE) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False)
        own = ray.get_runtime_context().get_node_id()
        victim = next(node for node in nodes if node.node_id != own)
        verdicts = {}
        with RayExecutor() as executor:
            assert executor.describe().level in ("full", "contained")
            for number, verdict in judge_as_completed(answers, executor):
                assert number not in verdicts
                verdicts[number] = verdict
                if len(verdicts) == 200:
                    cluster.remove_node(victim, allow_graceful=False)
                if len(verdicts) == 400:
                    patiently(cluster.add_node, **NODE)
        assert [verdicts[n].outcome for n in range(800)] == ["pass", "fail"] * 400
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.parametrize("check", LIFE_CHECKS, ids=lambda check: check.__name__)
def test_its_life_conforms(check):
    """In a cluster of its own each time, which is ended with it."""
    with RayExecutor() as executor:
        assert check(executor) is None
    assert not ray.is_initialized()


def test_arguments_are_checked():
    with pytest.raises(ExecutorError, match="workers_per_node must be a whole number of at least 1; got 0"):
        make_executor("ray", workers_per_node=0)
