"""Makes what is written to a machine: the code that runs a program there, and the order, which holds the program.

The code is part of this package, and the same that `subprocess` runs here: the harness, and those modules of
`executors` that start, watch and end one program. It holds no secrets, and needs only the standard library.
"""

from __future__ import annotations

import binascii
import dataclasses
import functools
import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import code_env
from code_env.executors.child_report import read_records
from code_env.executors.program import Program
from code_env.executors.result import ErrorInfo, ExecutionResult, Status
from code_env.harness.wire.records import MAX_RECORDS_BYTES

from .faults import MachineFault, MissingInterpreter

BUNDLE, JOB = "bundle.tar.gz", "job.json"

COMMAND = (
    f"tar xzf {BUNDLE} && "
    # -S, -s, -P: no .pth files, no packages of the user, and this directory is not on the import path.
    "exec python3 -S -s -P -B code_env/executors/machines/supervisor.py"
)
"""The command that runs the program of the order, in the directory of these files. If it ends before it prints a line,
it has not run the program."""

_MODULES = (
    "checks.py",
    "errors.py",
    "languages.py",
    *(f"executors/{name}.py" for name in ("capture", "child_report", "files", "interpreters", "limits", "loader")),
    *(f"executors/{name}.py" for name in ("program", "program_process", "result", "running_program")),
    "executors/machines/supervisor.py",
)
"""The modules that are needed in addition to the harness."""

_STATUSES = frozenset(Status) - {Status.REFUSED}


@functools.cache
def bundle() -> bytes:
    """The code, as a compressed archive."""
    root = Path(code_env.__file__).parent
    harness = [file for file in (root / "harness").rglob("*") if file.suffix in (".py", ".js")]
    harness = [file for file in harness if "restricted" not in file.parts]  # Machines apply no policy.
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted([*harness, *(root / name for name in _MODULES)]):
            content = path.read_bytes()
            entry = tarfile.TarInfo(f"code_env/{path.relative_to(root).as_posix()}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(archive.getvalue(), mtime=0)


def order_of(program: Program, nonce: str, *, ends_with_input: bool = False) -> bytes:
    """The order to run a program; the peer is not part of it.

    Args:
        program: The program.
        nonce: The nonce that marks the program's result.
        ends_with_input: Whether the end of the command's standard input ends the program, too.
    """
    files = {name: binascii.b2a_base64(content, newline=False).decode() for name, content in program.files.items()}
    order = {
        "nonce": nonce,
        "judged": program.peer is not None,
        "ends_with_input": ends_with_input,
        "program": {
            "code": program.code,
            "language": program.language,
            "stdin": program.stdin,
            "argv": list(program.argv),
            "files": files,
            "collect": list(program.collect),
            "limits": dataclasses.asdict(program.limits),
            "one_process": program.one_process,
            "history": program.history,
        },
    }
    return json.dumps(order).encode()  # ASCII, so that lone surrogates survive.


def longest_line(program: Program) -> int:
    """The largest length of the line with a program's result, in bytes."""
    limits = program.limits
    # One character of output may become six characters in JSON, and one undecodable byte becomes three bytes.
    records = 0 if program.history is None else 6 * MAX_RECORDS_BYTES
    return 4 * 18 * limits.output_bytes + 2 * limits.file_bytes + records + (1 << 20)


def result_from(line: str, nonce: str) -> ExecutionResult | None:
    """The result in a line; None if it is not a result of this run, or is malformed.

    Raises:
        MachineFault: If the line says that the machine could not run the program.
    """
    try:
        told = json.loads(line)
        if not isinstance(told, dict) or told.get("nonce") != nonce:
            return None
        if "fault" in told:
            name, message = map(str, told["fault"])
            kind = MissingInterpreter if name == "UnsupportedProgram" else MachineFault
            raise kind(f"{name}: {message}")
        return _result(told["result"])
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None


def received_of(line: str) -> object:
    """How many lines a judged program's supervisor had received, as its line with the result says."""
    return json.loads(line)["result"].get("received", -1)


def _result(fields: dict[str, Any]) -> ExecutionResult:
    status = Status(fields["status"])
    error = None if fields["error"] is None else ErrorInfo(*_texts(fields["error"], 3))
    if status is Status.SANDBOX_ERROR:
        raise MachineFault("the program's process did not come up" if error is None else error.message)
    if status not in _STATUSES:
        raise ValueError("no such end")
    stdout, stderr = _texts([fields["stdout"], fields["stderr"]], 2)
    _, cells = read_records(fields["cells"])
    return ExecutionResult(
        status=status,
        exit_code=_number(fields["exit_code"]),
        signal=_number(fields["signal"]),
        stdout=stdout,
        stderr=stderr,
        stdout_truncated=bool(fields["stdout_truncated"]),
        stderr_truncated=bool(fields["stderr_truncated"]),
        error=error,
        cells=cells,
        files={str(name): binascii.a2b_base64(data) for name, data in fields["files"].items()},
        wall_s=float(fields["wall_s"]),
        cpu_s=float(fields["cpu_s"]),
        peak_memory_bytes=int(fields["peak_memory_bytes"]),
    )


def _texts(values: list[Any], count: int) -> list[str]:
    if len(values) != count or not all(isinstance(value, str) for value in values):
        raise TypeError("no texts")
    return values


def _number(value: Any) -> int | None:
    return None if value is None else int(value)
