"""`ray`: a `local` executor on every node of a Ray cluster. It uses Ray's core only.

Each node has one actor (`_NodeActor`), which runs what comes in frames as a server of `code-env serve` does
(`remote/answering.py`); queue, retries and deadlines are those of `remote`. Ray itself retries nothing: it cannot know
that a program must be run again alone. A node that dies takes its actor with it; its programs are run on other nodes,
and a program that was alone on its node when that happened for the third time is held responsible.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from code_env.checks import require_whole
from code_env.errors import ExecutorError
from code_env.version import VERSION

from .remote.answering import Answering
from .remote.link import Link
from .remote.linked import LinkedExecutor
from .remote.messages import Hello
from .remote.queue import Queue

_log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""How often the nodes of the cluster are looked at, in seconds."""

_MOST_BYTES = 1 << 30
"""The size of the largest frame."""


class RayExecutor(LinkedExecutor):
    """Runs programs on all nodes of a Ray cluster. Nodes can join and leave.

    Args:
        address: The cluster's address, as `ray.init` takes it. None is the cluster that this process is connected to,
            or that `RAY_ADDRESS` names, or else a new one on this machine, which `close` ends.
        workers_per_node: How many programs run at a time on a node, and how many of its cores are reserved; all its
            cores by default.
        executor_kwargs: Arguments of the `local` executor on each node.
        mixed_levels: Whether nodes may differ in what they isolate. The executor then promises the weakest.
        give_up_s: How long programs wait while there is no node, and how long the actor of a node may take to start,
            in seconds: its cores may be taken by other work.

    Raises:
        ExecutorError: If an argument is wrong, or Ray is missing.
    """

    NAME = "ray"

    def __init__(
        self,
        address: str | None = None,
        *,
        workers_per_node: int | None = None,
        executor_kwargs: Mapping[str, Any] | None = None,
        mixed_levels: bool = False,
        give_up_s: float = 300.0,
    ) -> None:
        try:
            import ray  # noqa: F401
        except ImportError:
            raise ExecutorError("the ray executor needs Ray: install code-exec-env[ray]") from None
        if workers_per_node is not None:
            require_whole("workers_per_node", workers_per_node, ExecutorError, least=1)
        self._address, self._workers = address, workers_per_node
        self._arguments = dict(executor_kwargs or {})
        super().__init__(mixed_levels, give_up_s)

    def _open(self) -> tuple[Queue, Callable[[], None]]:
        made_here = _connect(self._address)
        cluster = _Cluster(made_here, self._workers, self._arguments, self._mixed_levels, self._give_up_s)
        return cluster.queue, cluster.close


def _connect(address: str | None) -> bool:
    """Connect to a cluster; return whether it was started here."""
    import ray

    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    named = address or os.environ.get("RAY_ADDRESS")
    # At Ray's default, a niceness of 15, other work on this machine would stop the actor from even starting.
    own: dict[str, Any] = {"include_dashboard": False, "_system_config": {"worker_niceness": 0}}
    try:
        ray.init(address=named or "local", **quiet, **({} if named else own))
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ExecutorError(f"there is no Ray cluster at {named or 'this machine'}: {error}") from None
    return named is None


class _Cluster:
    """The nodes of a cluster, looked at again and again, and a queue with a link for each."""

    def __init__(
        self, made_here: bool, workers: int | None, arguments: dict[str, Any], mixed_levels: bool, give_up_s: float
    ) -> None:
        self._made_here, self._workers, self._arguments, self._start_s = made_here, workers, arguments, give_up_s
        self._links = {node: self._link(node, cores) for node, cores in _nodes().items()}
        advice = "look at `ray status`"
        self.queue = Queue(list(self._links.values()), mixed_levels, give_up_s, give_up_s + 10.0, advice)
        self._ending = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="code_env-ray-nodes", daemon=True)
        self._watching.start()

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        if self._ending.is_set():
            return
        self._ending.set()
        if self._watching is not threading.current_thread():
            self._watching.join()
        self.queue.close()
        if self._made_here:
            import ray

            ray.shutdown()

    def _link(self, node: str, cores: int) -> Link:
        workers = self._workers or cores
        return Link(f"node {node[:8]}", partial(_Actor, node, workers, self._arguments, self._start_s), blames=True)

    def _watch(self) -> None:
        while not self._ending.wait(_LOOK_S):
            try:
                nodes = _nodes()
            except Exception as error:  # Ray raises exceptions of many kinds when its head does not answer.
                _log.warning("the nodes of the cluster are not known now: %s", error)
                continue
            for node in self._links.keys() - nodes.keys():
                _log.warning("node %s has left", node[:8])
                self.queue.remove(self._links.pop(node))
            for node in nodes.keys() - self._links.keys():
                _log.info("node %s has joined, with %d cores", node[:8], nodes[node])
                self._links[node] = self._link(node, nodes[node])
                self.queue.add(self._links[node])


def _nodes() -> dict[str, int]:
    """The nodes that are alive and have cores, by their ids, with the number of their cores."""
    import ray

    if not ray.is_initialized():  # `ray.nodes` would connect to some cluster.
        raise ConnectionError("this process has left the cluster")
    cores = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]}
    return {node: count for node, count in cores.items() if count}


class _NodeActor:
    """Runs programs on one node. An actor of Ray, whose methods its event loop runs beside one another."""

    def __init__(self, workers: int, arguments: dict[str, Any]) -> None:
        from .local import LocalExecutor

        self._executor = LocalExecutor(workers=workers, **arguments)
        self._workers = workers
        self._answering = Answering(self._executor.arun)

    async def hello(self) -> str:
        """Return the first frame."""
        return json.dumps(Hello(self._executor.describe(), self._workers, _MOST_BYTES, VERSION).as_data())

    async def take(self, frame: str) -> None:
        """Take a frame."""
        self._answering.take(frame)

    async def next(self) -> str:
        """Return the next frame."""
        return await self._answering.next()


class _Actor:
    """The connection to the actor of a node, which is started here; see `Transport`.

    Args:
        node: The node's id.
        workers: How many programs it runs at a time.
        arguments: Arguments of its executor.
        start_s: How long the actor may take to start, in seconds.
    """

    def __init__(self, node: str, workers: int, arguments: dict[str, Any], start_s: float) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options: dict[str, Any] = {
            "num_cpus": workers,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": 1000,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        with _connection_errors():
            self._actor: Any = ray.remote(_NodeActor).options(**options).remote(workers, arguments)
        self._following: Any = self._actor.hello.remote()
        self._has_started, self._cores, self._start_s = False, workers, start_s

    def send(self, frame: str) -> None:
        """Send a frame; see `Transport.send`."""
        with _connection_errors():
            self._actor.take.remote(frame)

    def receive(self, timeout_s: float) -> str:
        """Return the next frame; see `Transport.receive`."""
        import ray

        with _connection_errors():
            ready, _ = ray.wait([self._following], timeout=timeout_s if self._has_started else self._start_s)
            if not ready and not self._has_started:
                raise ConnectionError(
                    f"its actor did not start within {self._start_s:g} s: are {self._cores} cores free there?"
                )
            if not ready:
                raise TimeoutError(f"no answer within {timeout_s:g} s")
            self._has_started = True
            frame = str(ray.get(self._following))
            self._following = self._actor.next.remote()
            return frame

    def close(self) -> None:
        """End the actor. Idempotent."""
        import ray

        with contextlib.suppress(Exception):  # It has ended, or its node or the cluster has.
            ray.kill(self._actor)


@contextlib.contextmanager
def _connection_errors() -> Iterator[None]:
    import ray

    try:
        yield
    except ray.exceptions.RayError as error:
        raise ConnectionError(str(error).partition("\n")[0]) from error
