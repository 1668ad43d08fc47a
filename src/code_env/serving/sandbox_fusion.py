"""SandboxFusion's `/run_code` and `/run_jupyter`: trainers that call that server change one address.

The forms of requests and answers are those of github.com/bytedance/SandboxFusion, `sandbox/server/sandbox_api.py`.
verl's client (`verl/utils/reward_score/sandbox_fusion/utils.py`) waits `compile_timeout + run_timeout + 10` seconds. It
sends a request again only after HTTP 504; any other failure is a wrong answer to it. So 504 is the answer to what could
not begin in time, and to a fault of the sandbox.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

from code_env.errors import TaskError, UnsupportedProgram
from code_env.executors.limits import Limits
from code_env.executors.program import Program
from code_env.executors.result import CellResult, ErrorInfo, ExecutionResult, Status
from code_env.languages import find_language

from .bodies import BadRequest, Fields
from .cells import shown
from .lines import lines_of
from .work import NoTurn, Work

_LANGUAGES = """
python cpp nodejs go go_test java php csharp bash typescript sql rust cuda lua R perl D_ut ruby scala julia pytest junit
kotlin_script jest verilog python_gpu lean swift racket
"""
"""The languages that a request may name; others than those of the executor get the status SandboxError."""

_CLIENT_SPARE_S = 10.0
"""A client waits so much longer than its program may take."""

_ANSWER_S = 2.0
"""So long before its client gives up, a request without an answer gets 504."""

_DEFAULT_MEMORY_MB = 1024
"""For `memory_limit_MB` of -1; also what verl asks for."""

_OUTPUT_BYTES = 16 << 20
"""The whole output comes back: a program that writes more than this is ended."""

_FILE_BYTES = 64 << 20
_TRIES = 3
"""How many times a program is run if the sandbox fails."""


async def run_code(values: dict[str, Any], work: Work) -> dict[str, Any]:
    """Run a program.

    Args:
        values: The request.
        work: Where it runs.

    Returns:
        The answer.

    Raises:
        BadRequest: If a field is wrong, or the program should be sent again.
    """
    fields = Fields(values)
    compile_s, run_s = fields.number("compile_timeout", 10), fields.number("run_timeout", 10)
    memory_mb = fields.number("memory_limit_MB", -1)
    code, stdin = fields.text("code"), fields.optional_text("stdin")
    language = fields.choice("language", tuple(_LANGUAGES.split()))
    files, collect = fields.files("files"), fields.texts("fetch_files")
    fields.check()
    known = find_language(language)
    if known is None or known.name not in work.languages:
        return _answer("SandboxError", f"this server runs no programs in {language}")
    program = _program(
        run_s,
        memory_mb,
        code=code,
        language=known.name,
        stdin=stdin,
        files=files,
        collect=tuple(collect),
    )
    result = await _run(program, work, compile_s + run_s + _CLIENT_SPARE_S - _ANSWER_S)
    timed_out = result.status is Status.TIMEOUT
    command = _command(result)
    failed = timed_out or command["return_code"] != 0
    return _answer("Failed" if failed else "Success", "", run_result=command, files=_encoded(result))


def run_code_batch(values: dict[str, Any], work: Work) -> AsyncIterator[str]:
    """Return what runs the programs of `requests`, and yields a JSON line for each as it ends.

    A line has the request's `number`, and its `response`; instead of `response` it has `status` and `error` if that
    request is wrong, or has to be sent again.

    Raises:
        BadRequest: If `requests` is no list of objects.
    """
    requests = values.get("requests")
    if not isinstance(requests, list) or not all(isinstance(one, dict) for one in requests):
        raise BadRequest(422, "requests must be a list of objects, each as for /run_code")

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"response": await run_code(request, work)}
        except BadRequest as error:
            return {"status": error.status, "error": error.detail}

    return lines_of(answer, requests)


async def run_jupyter(values: dict[str, Any], work: Work) -> dict[str, Any]:
    """Run cells of a notebook; all of them, whatever an earlier one raised.

    Standard error is not known for each cell: all of it is in the last cell that ran.

    Args:
        values: The request.
        work: Where they run.

    Returns:
        The answer.

    Raises:
        BadRequest: If a field is wrong, or the cells should be sent again.
    """
    fields = Fields(values)
    cells = fields.texts("cells", required=True)
    cell_s, total_s = fields.number("cell_timeout", 0), fields.number("total_timeout", 45)
    memory_mb = fields.number("memory_limit_MB", -1)
    fields.choice("kernel", ("python3",), "python3")
    files, collect = fields.files("files"), fields.texts("fetch_files")
    fields.check()
    program = _program(
        min(total_s, cell_s * len(cells)) if cell_s > 0 and cells else total_s,
        memory_mb,
        code="",
        notebook=True,
        cells=tuple(cells),
        files=files,
        collect=tuple(collect),
    )
    result = await _run(program, work, total_s + _CLIENT_SPARE_S - _ANSWER_S)
    driver = _command(result)
    if result.status is Status.TIMEOUT:
        return _cells_answer("Failed", driver, [], {})
    ran = [_cell(cell) for cell in result.cells]
    if ran:
        ran[-1]["stderr"] = result.stderr
    status = "Success" if len(ran) == len(cells) else "Failed"
    return _cells_answer(status, driver | {"status": "Finished"}, ran, _encoded(result))


def _program(seconds: float, memory_mb: float, **fields: Any) -> Program:
    memory_mb = memory_mb if memory_mb > 0 else _DEFAULT_MEMORY_MB
    try:
        limits = Limits(
            cpu_s=seconds,
            wall_s=seconds,
            memory_bytes=int(memory_mb) << 20,
            output_bytes=_OUTPUT_BYTES,
            file_bytes=_FILE_BYTES,
        )
        return Program(limits=limits, **fields)
    except TaskError as error:
        raise BadRequest(422, [{"type": "value_error", "loc": ["body"], "msg": str(error)}]) from None


async def _run(program: Program, work: Work, within_s: float) -> ExecutionResult:
    try:
        async with asyncio.timeout(within_s):  # For the turn here, that in the executor, and all tries.
            for _ in range(_TRIES):
                result = await work.run(program)
                if result.status is not Status.SANDBOX_ERROR:
                    return result
    except TimeoutError:
        raise BadRequest(504, f"there was no answer within {within_s:g} s, and the client gives up then") from None
    except NoTurn as error:
        raise BadRequest(504, str(error)) from None
    except UnsupportedProgram as error:
        raise BadRequest(422, str(error)) from None
    raise BadRequest(504, f"the sandbox failed: {result.error.message if result.error else result.status}")


def _command(result: ExecutionResult) -> dict[str, Any]:
    timed_out = result.status is Status.TIMEOUT
    code = result.exit_code if result.signal is None else -result.signal
    return {
        "status": "TimeLimitExceeded" if timed_out else "Finished",
        "execution_time": result.wall_s,
        # What reached another limit was ended by a signal, as a limit of memory or of output is anywhere else.
        "return_code": None if timed_out else code if code is not None else -9,
        "stdout": result.stdout,
        "stderr": result.stderr,
    }


def _cell(cell: CellResult) -> dict[str, Any]:
    return {
        "stdout": cell.stdout,
        "stderr": "",
        "display": shown(cell.results),
        "error": [] if cell.error is None else [_error(cell.error)],
    }


def _error(error: ErrorInfo) -> dict[str, Any]:
    return {"ename": error.name, "evalue": error.message, "traceback": error.traceback.splitlines()}


def _encoded(result: ExecutionResult) -> dict[str, str]:
    return {path: base64.b64encode(content).decode() for path, content in result.files.items()}


def _answer(
    status: str, message: str = "", run_result: dict[str, Any] | None = None, files: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "status": status,
        "message": message,
        "compile_result": None,
        "run_result": run_result,
        "executor_pod_name": None,
        "files": files or {},
    }


def _cells_answer(
    status: str, driver: dict[str, Any], cells: list[dict[str, Any]], files: dict[str, str]
) -> dict[str, Any]:
    return {
        "status": status,
        "message": "",
        "driver": driver,
        "cells": cells,
        "executor_pod_name": None,
        "files": files,
    }
