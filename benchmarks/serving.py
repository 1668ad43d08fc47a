"""What programs and verdicts cost through `code-env serve`, `remote` and Ray, beside `local`.

Each round runs the same programs, and judges the same answers, with each contender in turn, so that all meet the same
load of the machine. Servers and clients share its cores. `http` asks for one program with each request, with 64
requests at a time; `batch` asks for all with one request; `remote` and `ray` are the executors.

    python benchmarks/serving.py
    python benchmarks/serving.py --contenders http,remote --rounds 9 --json
"""

from __future__ import annotations

import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.table import Table

from code_env import Executor, Program, Task, judge_many, load_suite, make_executor
from code_env.executors.cores import own_cores
from code_env.tasks import row_from_task

_CLIENTS = 64

Run = Callable[[int], None]
"""Runs so many programs, or judges so many answers, and checks each result."""


def main(
    contenders: Annotated[str, typer.Option()] = "http,batch,remote,ray",
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    count: Annotated[int, typer.Option(min=1, help="Programs, and answers, of a round.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure the contenders, and show what each costs more than `local`."""
    workers = own_cores()
    with contextlib.ExitStack() as stack:
        ways = {"local": _with_executor(stack.enter_context(make_executor("local", workers=workers)))}
        address = stack.enter_context(_server(workers))
        for name in contenders.split(","):
            if name in ("http", "batch"):
                ways[name] = (_requests if name == "http" else _batches)(address)
            else:
                arguments = {"urls": address} if name == "remote" else {}
                ways[name] = _with_executor(stack.enter_context(make_executor(name, **arguments)))
        seconds = _measure(ways, rounds, count)
    rows = [_row(name, what, seconds, count, workers) for what in ("program", "verdict") for name in ways]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
        return
    table = Table("what", "through", "a second and core", "ms more than local", "rounds")
    for row in rows:
        more = row["more_ms"]
        table.add_row(
            str(row["what"]),
            str(row["through"]),
            f"{row['rate']:.0f}",
            "" if row["through"] == "local" else f"{more[0]:.2f} ({more[1]:.2f} to {more[2]:.2f})",
            str(rounds),
        )
    Console().print(table)


def _measure(ways: dict[str, dict[str, Run]], rounds: int, count: int) -> dict[tuple[str, str], list[float]]:
    seconds: dict[tuple[str, str], list[float]] = {(name, what): [] for name in ways for what in ways[name]}
    for name, what in seconds:
        ways[name][what](count // 10 + 1)  # Starts what is started when it is first needed.
    for _ in range(rounds):
        for (name, what), taken in seconds.items():
            began = time.perf_counter()
            ways[name][what](count)
            taken.append(time.perf_counter() - began)
    return seconds


def _row(name: str, what: str, seconds: dict[tuple[str, str], list[float]], count: int, workers: int) -> dict[str, Any]:
    """The figures of a contender: medians, and for what it costs more than `local` also the least and the most."""
    pairs = zip(seconds[name, what], seconds["local", what], strict=True)
    more = [1000 * (own - local) / count for own, local in pairs]
    rate = count / statistics.median(seconds[name, what]) / workers
    return {"what": what, "through": name, "rate": rate, "more_ms": [statistics.median(more), min(more), max(more)]}


def _with_executor(executor: Executor) -> dict[str, Run]:
    def run(count: int) -> None:
        results = executor.run_many([Program(f"print({number})") for number in range(count)])
        _check([result.stdout for result in results], [f"{number}\n" for number in range(count)])

    def verdicts(count: int) -> None:
        answers = [
            (task, f"{task.reference}\n# {number}") for number, task in zip(range(count), _tasks(), strict=False)
        ]
        _check([verdict.passed for verdict in judge_many(answers, executor)], [True] * count)

    return {"program": run, "verdict": verdicts}


def _requests(address: str) -> dict[str, Run]:
    local = threading.local()

    def post(path: str, value: object) -> Any:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection(urlsplit(address).netloc)
        local.connection.request("POST", path, json.dumps(value))
        return json.loads(local.connection.getresponse().read())

    def run(count: int) -> None:
        requests = [{"code": f"print({number})", "language": "python"} for number in range(count)]
        with ThreadPoolExecutor(_CLIENTS) as threads:
            answers = list(threads.map(lambda one: post("/run_code", one), requests))
        _check([answer["run_result"]["stdout"] for answer in answers], [f"{number}\n" for number in range(count)])

    def verdicts(count: int) -> None:
        requests = [
            {"task": row_from_task(task), "answers": [f"{task.reference}\n# {number}"]}
            for number, task in zip(range(count), _tasks(), strict=False)
        ]
        with ThreadPoolExecutor(_CLIENTS) as threads:
            answers = list(threads.map(lambda one: post("/judge", one), requests))
        _check([answer["verdicts"][0]["passed"] for answer in answers], [True] * count)

    return {"program": run, "verdict": verdicts}


def _batches(address: str) -> dict[str, Run]:
    def lines(path: str, value: object) -> list[Any]:
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(value))
            return [json.loads(line) for line in connection.getresponse()]

    def run(count: int) -> None:
        requests = [{"code": f"print({number})", "language": "python"} for number in range(count)]
        answers = lines("/run_code_batch", {"requests": requests})
        _check([answer["response"]["status"] for answer in answers], ["Success"] * count)

    def verdicts(count: int) -> None:
        items = [
            {"task": row_from_task(task), "answer": f"{task.reference}\n# {number}"}
            for number, task in zip(range(count), _tasks(), strict=False)
        ]
        answers = lines("/judge_batch", {"items": items})
        _check([answer["verdict"]["passed"] for answer in answers], [True] * count)

    return {"program": run, "verdict": verdicts}


def _tasks() -> Iterator[Task]:
    suite = [task for task in load_suite("starter") if task.entry_point]
    while True:
        yield from suite


def _check(found: list[Any], expected: list[Any]) -> None:
    if found != expected:
        wrong = sum(one != other for one, other in zip(found, expected, strict=False))
        raise SystemExit(f"{wrong} of {len(expected)} results are wrong, and {len(found)} came")


@contextlib.contextmanager
def _server(workers: int) -> Iterator[str]:
    command = [sys.executable, "-m", "code_env.cli", "serve", "--port", "0", "--json", "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise SystemExit("the server has no output")
        yield json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    typer.run(main)
