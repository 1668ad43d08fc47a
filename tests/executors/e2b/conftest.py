"""E2B on this machine: the real SDK, real HTTP, real processes; see tests/e2b_server."""

import gc

import pytest

from code_env import make_executor
from code_env.executors.e2b import sandboxes
from code_env.executors.local.peer_host import PeerHost
from code_env.executors.machines import executor as machine_executor
from code_env.executors.machines import machine_run, submissions
from e2b_server import LoopbackServer
from support import PATIENCE_S

QUICK = {"first_wait_s": 0.02, "longest_wait_s": 0.1, "silence_s": 6.0}


@pytest.fixture
def e2b(cloud, monkeypatch):
    """The service; what a test leaves there is an error."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    cloud.faults.clear()
    yield cloud
    cloud.faults.clear()
    left = cloud.sandboxes
    for sandbox in left:
        sandbox.kill()  # So that it is this test's error, and no other's.
    assert left == []


class LastingHost(PeerHost):
    """One that outlives the executors that use it."""

    def close(self):
        pass

    end = PeerHost.close


@pytest.fixture(scope="module")
def host():
    host = LastingHost(machine_executor.SPARE_S)
    yield host
    host.end()


@pytest.fixture
def one_host(host, monkeypatch):
    """Peers of all executors run on one host, where no test is about its end: each host starts two servers."""
    monkeypatch.setattr(machine_executor, "PeerHost", lambda spare_s: host)


@pytest.fixture
def make(e2b, monkeypatch):
    """Makes executors that are closed at the end, and that look for what is left as long as that takes."""
    for module in (sandboxes, submissions):
        monkeypatch.setattr(module, "LAST_LOOK_S", PATIENCE_S)
    made = []

    def build(**kwargs):
        made.append(make_executor("e2b", **{"retry": QUICK, "request_timeout_s": 20.0, **kwargs}))
        return made[-1]

    yield build
    e2b.faults.clear()
    for executor in made:
        executor.close()
    gc.collect()  # What tasks of the SDK have left is looked at here, not in another test.


@pytest.fixture
def executor(make, monkeypatch):
    """For tests in which no fault is expected: on a busy machine a request takes its time, and so does a run."""
    monkeypatch.setattr(machine_run, "OUTER_SPARE_S", PATIENCE_S)
    return make(retry=QUICK | {"silence_s": PATIENCE_S}, request_timeout_s=PATIENCE_S)


@pytest.fixture
def server():
    """A service of a test's own, which it uses by the SDK; see `loopback_sandboxes`."""
    with LoopbackServer() as server:
        yield server
