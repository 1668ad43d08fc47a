"""Counts what a server does, for Prometheus."""

from __future__ import annotations

from code_env.executors.result import ExecutionResult
from code_env.judging.verdict import Verdict

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        self.waiting = Gauge("code_env_waiting", "Programs that wait for their turn", registry=self._registry)
        self.running = Gauge("code_env_running", "Programs that the executor has", registry=self._registry)
        self.sessions = Gauge("code_env_sessions", "Sessions that are open", registry=self._registry)
        self._programs = Counter(
            "code_env_programs", "Programs that were run, by status", ["status"], registry=self._registry
        )
        self._verdicts = Counter(
            "code_env_verdicts", "Answers that were judged, by outcome", ["outcome"], registry=self._registry
        )
        self._cpu = Histogram("code_env_cpu_seconds", "CPU time of programs", buckets=_SECONDS, registry=self._registry)
        self._wall = Histogram("code_env_wall_seconds", "Time of programs", buckets=_SECONDS, registry=self._registry)

    def ran(self, result: ExecutionResult) -> None:
        """Count a program that was run."""
        self._programs.labels(result.status).inc()
        self._cpu.observe(result.cpu_s)
        self._wall.observe(result.wall_s)

    def judged(self, verdict: Verdict) -> None:
        """Count an answer that was judged."""
        self._verdicts.labels(verdict.outcome).inc()
        self._cpu.observe(verdict.execution.cpu_s)
        self._wall.observe(verdict.execution.wall_s)

    def text(self) -> bytes:
        """Return the figures in the text format of Prometheus."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)
