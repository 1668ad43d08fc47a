"""How many machines a rate of verdicts takes, and where trainer and network give out: a paper model and a simulation.

First it measures, on this machine: how long a worker is busy with a verdict (each answer alone, so that the whole
distribution is known), what a verdict takes of the trainer's process and of the server's process through `remote`, and
how many bytes cross. From the means it computes what a rate takes (the model). Then it simulates such a cluster, one
event after another, with times drawn from what was measured, and shows what rate the cluster reaches.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --suite HumanEval.jsonl.gz --samples completions.jsonl --rates 10000,1000000
"""

from __future__ import annotations

import contextlib
import heapq
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from code_env import Executor, Isolation, Program, Task, extract_code, judge, judge_many, load_suite, make_executor
from code_env.evaluation import read_samples, reference_samples
from code_env.executors import ExecutionResult
from code_env.executors.cores import own_cores
from code_env.executors.remote.messages import result_data
from code_env.executors.remote.peers import PeersThere

_BUSY = 0.8
"""How busy cores and trainer processes may be in the model: beyond that, answers wait long for those before them."""

_WINDOW = 32
"""How many programs are out at a time, as a multiple of the workers, as in `executors/remote/link.py`."""

_LATENCY_S = 0.0005
"""How long a frame takes from machine to machine."""

_LINK_BYTES_S = 10e9 / 8
"""A trainer's network: 10 Gbit/s."""


@dataclass(frozen=True)
class Measured:
    """What verdicts cost on this machine."""

    worker_s: list[float]
    """How long a worker was busy with each answer, in seconds."""
    trainer_s: float
    """CPU time of the trainer's process for a verdict through `remote`, in seconds."""
    server_s: float
    """CPU time of the server's process for a verdict, without the workers, in seconds."""
    bytes_out: float
    """Bytes to the server for a verdict."""
    bytes_back: float
    """Bytes back."""

    @property
    def core_s(self) -> float:
        """What a verdict takes of the cores of a server, in seconds."""
        return sum(self.worker_s) / len(self.worker_s) + self.server_s


@dataclass(frozen=True)
class Plan:
    """What a rate takes by the model."""

    rate: float
    """Verdicts a second."""
    cores: int
    """Cores of all servers."""
    trainers: int
    """Trainer processes that share the verdicts."""
    megabytes_s: float
    """Traffic of all trainers, in both directions."""
    in_flight_megabytes: float
    """What is out at a time; with Ray, its object store holds the larger frames."""


class _Recording(Executor):
    """Runs programs on another executor, and keeps them."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.runs: list[tuple[Program, Future[ExecutionResult]]] = []

    def submit(self, program: Program) -> Future[ExecutionResult]:
        self.runs.append((program, self._executor.submit(program)))
        return self.runs[-1][1]

    def describe(self) -> Isolation:
        return self._executor.describe()

    def close(self) -> None:
        """The other executor belongs to the caller."""


def main(
    suite: Annotated[str, typer.Option(help="The tasks.")] = "starter",
    samples: Annotated[Path | None, typer.Option(help="Answers; the references by default.")] = None,
    answers: Annotated[int, typer.Option(min=10, help="How many answers are measured, again and again.")] = 500,
    rates: Annotated[str, typer.Option(help="Verdicts a minute.")] = "10000,100000,1000000",
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Measure, compute and simulate."""
    tasks = load_suite(suite)
    found = read_samples(samples, tasks) if samples else reference_samples(tasks)
    pairs = [_answer(tasks.task(sample.task_id), sample.completion) for sample in found]
    pairs = [pairs[number % len(pairs)] for number in range(answers)]
    measured = _measure(pairs)
    ordered = sorted(measured.worker_s)
    percentiles = ", ".join(
        f"{share:.0%} {1000 * ordered[int(share * len(ordered))]:.1f}" for share in (0.5, 0.9, 0.99)
    )
    console = Console()
    console.print(
        f"{answers} answers to {suite}: a worker is busy for {1000 * sum(ordered) / len(ordered):.2f} ms a verdict "
        f"({percentiles} ms); the server's process {1000 * measured.server_s:.2f} ms, the trainer's "
        f"{1000 * measured.trainer_s:.2f} ms; {measured.bytes_out:.0f} bytes out, {measured.bytes_back:.0f} back",
        highlight=False,
    )
    table = Table("verdicts a minute", "cores", "trainers", "MB/s", "MB in flight", "simulated", "99 % wait ms")
    for text in rates.split(","):
        plan = _plan(float(text) / 60, measured)
        rate, wait_s = _simulate(plan, measured, random.Random(seed))
        table.add_row(
            f"{60 * plan.rate:,.0f}",
            f"{plan.cores}",
            f"{plan.trainers}",
            f"{plan.megabytes_s:.1f}",
            f"{plan.in_flight_megabytes:.2f}",
            f"{60 * rate:,.0f}",
            f"{1000 * wait_s:.0f}",
        )
    console.print(table)
    alone = 60 * _BUSY / measured.trainer_s
    wire = 60 * _LINK_BYTES_S / (measured.bytes_out + measured.bytes_back)
    console.print(f"one trainer process: {alone:,.0f} verdicts a minute; 10 Gbit/s: {wire:,.0f}", highlight=False)


def _answer(task: Task, completion: str) -> tuple[Task, str]:
    return task, extract_code(completion, task.language, entry_point=task.entry_point)


def _measure(pairs: list[tuple[Task, str]]) -> Measured:
    worker_s = []
    with make_executor("local", workers=1) as executor:
        judge_many(pairs[:10], executor)
        for task, code in pairs:
            began = time.perf_counter()
            judge(task, code, executor)
            worker_s.append(time.perf_counter() - began)
        recording = _Recording(executor)
        judge_many(pairs, recording)
    there, out, back = PeersThere(), 0, 0
    for number, (program, future) in enumerate(recording.runs):
        out += len(there.frame({number: program}))
        there.sent([program])
        back += len(json.dumps(result_data(future.result())))
    with _server() as (process, address), make_executor("remote", urls=address) as executor:
        judge_many(pairs[:100], executor)
        began_s, began_server_s = time.process_time(), _cpu_s(process)
        judge_many(pairs, executor)
        trainer_s, server_s = time.process_time() - began_s, _cpu_s(process) - began_server_s
    count = len(pairs)
    return Measured(worker_s, trainer_s / count, server_s / count, out / count, back / count)


def _plan(rate: float, measured: Measured) -> Plan:
    cores = math.ceil(rate * measured.core_s / _BUSY)
    return Plan(
        rate,
        cores,
        math.ceil(rate * measured.trainer_s / _BUSY),
        rate * (measured.bytes_out + measured.bytes_back) / 1e6,
        cores * _WINDOW * measured.bytes_out / 1e6,
    )


def _simulate(plan: Plan, measured: Measured, rng: random.Random) -> tuple[float, float]:
    """Play a minute's answers; return the rate that is reached, and what 99 % of them waited for a worker at most.

    Each trainer process has its share of the cores, and hands in all its answers at once, as a step of training does.
    """
    workers = max(1, plan.cores // plan.trainers)
    count = round(60 * plan.rate / plan.trainers)
    longest_s, waits = 0.0, []
    for _ in range(plan.trainers):
        taken_s, waited = _trainer(count, workers, measured, rng)
        longest_s = max(longest_s, taken_s)
        waits += waited
    waits.sort()
    return count * plan.trainers / longest_s, waits[int(0.99 * len(waits))]


def _trainer(count: int, workers: int, measured: Measured, rng: random.Random) -> tuple[float, list[float]]:
    """One trainer process: it sends while there is room, and takes results as they come."""
    free, done = [0.0] * workers, list[float]()
    half_s, wire_s = measured.trainer_s / 2, (measured.bytes_out + measured.bytes_back) / _LINK_BYTES_S
    now = wire_free = 0.0
    sent = received = 0
    waits = []
    while received < count:
        if done and done[0] <= now:
            heapq.heappop(done)
            received += 1
            now += half_s
        elif sent < count and sent - received < _WINDOW * workers:
            now += half_s
            wire_free = max(wire_free, now) + wire_s
            there = wire_free + _LATENCY_S
            begins = max(there, heapq.heappop(free))
            ends = begins + rng.choice(measured.worker_s) + measured.server_s
            heapq.heappush(free, ends)
            heapq.heappush(done, ends + _LATENCY_S)
            waits.append(begins - there)
            sent += 1
        else:
            now = done[0]
    return now, waits


@contextlib.contextmanager
def _server() -> Iterator[tuple[int, str]]:
    command = [sys.executable, "-m", "code_env.cli", "serve", "--port", "0", "--json", "--workers", str(own_cores())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise SystemExit("the server has no output")
        yield process.pid, json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.communicate()


def _cpu_s(pid: int) -> float:
    """CPU time of a process, without that of its children, in seconds; see proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    typer.run(main)
