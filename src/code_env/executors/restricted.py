"""`restricted`: programs must follow RestrictedPython's policy, and run inside the jail of `local`.

The policy is built and applied in the servers (`code_env.harness.restricted`). This module checks its options and sends
them as plain data; it also finds and reads the file of a user's own policy.
"""

from __future__ import annotations

import json
import keyword
import os
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import code_env.harness as harness
from code_env.checks import require_flag
from code_env.errors import ExecutorError, UnsupportedProgram
from code_env.harness.wire.plain import NotPlain, encode
from code_env.languages import PYTHON

from .base import Isolation
from .interpreters import refuse_unsupported
from .loader import loader_environment
from .local import LocalExecutor
from .program import Program, require_program
from .result import ExecutionResult

_CHECK = Path(harness.__file__).with_name("restricted") / "check.py"
_TIMEOUT_S = 120.0

_MOST_BYTES = 96 << 10
"""The largest size of the options as JSON, in bytes: they are sent to a server in one message."""

_VALUES = (type(None), bool, int, float, str, bytes)


class RestrictedExecutor(LocalExecutor):
    """Runs programs that use only a subset of Python, each in its own jail; it refuses other programs.

    The options from `use_safe_builtins` on are those of the metric `restrictedpython_code_eval`. `docs/restricted.md`
    says what programs may do.

    Args:
        workers: How many programs run at a time; by default the number of cores that this process may use.
        python: Path of the interpreter that runs programs, with RestrictedPython installed; the trainer's by default.
        min_isolation: The lowest level to accept: `contained`, or `full`.
        readable: Additional paths that programs may read, if the policy allows something that reads files.
        use_safe_builtins: Whether programs have those built-in functions and exceptions that do no harm.
        use_limited_builtins: Whether `range`, `list` and `tuple` are RestrictedPython's limited versions: fewer than
            1,000 numbers in a range, no list or tuple of the characters of a text.
        use_utility_builtins: Whether programs have `string`, `math`, `random` and others without an import.
        additional_globals: Additional global names of programs, with plain data as values.
        additional_locals: The same as `additional_globals`, because a program's module has only one namespace.
        allowed_imports: Names of modules that programs may import.
        allow_str_format: Whether strings have `format` and `format_map`; both then ask the policy for each attribute.
        allow_underscore_variable_names: Whether names of variables may begin with one underscore.
        return_output: Whether `ExecutionResult.results` has the value of a variable at the end of a program.
        output_variable: Name of that variable.
        policy: A class derived from RestrictedPython's `RestrictingNodeTransformer`, as `file.py:Name` or
            `package.module:Name`; it is trusted.

    Raises:
        ExecutorError: If an argument is out of range, an allowed module would make the policy useless, or the
            interpreter does not have RestrictedPython 8.4 or newer; also for the same reasons as for `local`.

    Example:
        >>> from code_env import Program, make_executor
        >>> with make_executor("restricted", workers=1, allowed_imports=["math"]) as executor:
        ...     executor.run(Program("import math\\nprint(math.gcd(12, 18))")).stdout
        ...     executor.run(Program("import os")).status
        '6\\n'
        <Status.REFUSED: 'refused'>
    """

    def __init__(
        self,
        workers: int | None = None,
        python: str | None = None,
        min_isolation: str = "contained",
        readable: Iterable[str] = (),
        *,
        use_safe_builtins: bool = True,
        use_limited_builtins: bool = True,
        use_utility_builtins: bool = True,
        additional_globals: Mapping[str, Any] | None = None,
        additional_locals: Mapping[str, Any] | None = None,
        allowed_imports: Iterable[str] | None = None,
        allow_str_format: bool = False,
        allow_underscore_variable_names: bool = False,
        return_output: bool = False,
        output_variable: str = "output",
        policy: str | None = None,
    ) -> None:
        super().__init__(workers, python, min_isolation, preload=(), readable=readable)
        flags = {
            "use_safe_builtins": use_safe_builtins,
            "use_limited_builtins": use_limited_builtins,
            "use_utility_builtins": use_utility_builtins,
            "allow_str_format": allow_str_format,
            "allow_underscore_variable_names": allow_underscore_variable_names,
            "return_output": return_output,
        }
        for name, value in flags.items():
            require_flag(name, value, ExecutorError)
        if not _is_name(output_variable):
            raise ExecutorError(
                "output_variable must be the name of a variable, without an underscore in front; "
                f"got {output_variable!r:.100}"
            )
        additional = {
            **_names("additional_globals", additional_globals),
            **_names("additional_locals", additional_locals),
        }
        self._policy = {
            **flags,
            "output_variable": output_variable,
            "allowed_imports": _modules(allowed_imports),
            "additional_names": encode(additional),
            **_custom(policy),
        }
        text = json.dumps(self._policy)
        if len(text) > _MOST_BYTES:
            raise ExecutorError(
                f"the options hold {len(text)} bytes, and {_MOST_BYTES} is the most; give programs large data as files"
            )
        _check(self._python, text)

    def describe(self) -> Isolation:
        """The description of `local`, with the policy's name.

        Raises:
            IsolationUnavailable: If this machine grants less than `min_isolation`.
            ExecutorClosed: If the executor was closed.
        """
        return replace(
            super().describe(),
            languages=frozenset({PYTHON.name}),
            notebooks=False,
            sessions="none",
            packages=False,
            images=False,
            policy="RestrictedPython",
        )

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`.

        Raises:
            UnsupportedProgram: If the program is a notebook, or not in Python.
            IsolationUnavailable: If this machine grants less than `min_isolation`.
        """
        require_program(program)
        if program.notebook:
            raise UnsupportedProgram('the restricted executor runs no notebooks; use executor="local"')
        if program.language != PYTHON.name:
            raise UnsupportedProgram(
                f"the restricted executor runs {PYTHON.name}, whose policy it has, not {program.language!r}"
            )
        refuse_unsupported(program, "restricted")
        return super().submit(program)


def _is_name(value: object) -> bool:
    return (
        isinstance(value, str) and value.isidentifier() and not keyword.iskeyword(value) and not value.startswith("_")
    )


def _names(option: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ExecutorError(f"{option} must be a mapping of names to plain data; got {values!r:.100}")
    for name, value in values.items():
        if not _is_name(name):
            raise ExecutorError(f"{option}: {name!r:.100} is not a name without an underscore in front")
        try:
            _check_plain(value)
            encode(value)
        except (NotPlain, RecursionError, TypeError) as error:
            raise ExecutorError(
                f"{option}[{name!r}] is not plain data ({error}); give None, bool, int, float, str, bytes, and lists, "
                "tuples, dicts and sets of these"
            ) from error
    return dict(values)


def _check_plain(value: object) -> None:
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        for item in value:  # type: ignore[attr-defined]
            _check_plain(item)
    elif kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            _check_plain(key)
            _check_plain(item)
    elif kind not in _VALUES:
        raise NotPlain(f"a {kind.__name__}")


def _modules(names: Iterable[str] | None) -> list[str]:
    if names is None:
        return []
    found = [None] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not all(isinstance(name, str) and all(map(str.isidentifier, name.split("."))) for name in found):
        raise ExecutorError(f"allowed_imports must be a list of names of modules; got {names!r:.100}")
    return sorted({str(name) for name in found})


def _custom(policy: str | None) -> dict[str, Any]:
    if policy is None:
        return {"policy_name": None, "policy_origin": None, "policy_source": None}
    origin, colon, name = policy.rpartition(":") if isinstance(policy, str) else ("", "", "")
    if not colon or not origin or not _is_name(name):
        raise ExecutorError(f'policy must be "file.py:Name" or "package.module:Name"; got {policy!r:.100}')
    if not origin.endswith(".py") and os.sep not in origin:
        return {"policy_name": name, "policy_origin": origin, "policy_source": None}
    try:
        source = Path(origin).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExecutorError(f"policy: {origin} cannot be read: {error}") from error
    return {"policy_name": name, "policy_origin": os.path.basename(origin), "policy_source": source}


def _check(python: str, options: str) -> None:
    """Check that the interpreter of the programs can build the policy.

    Raises:
        ExecutorError: If the interpreter cannot build the policy.
    """
    try:
        # -I: Python ignores the trainer's environment variables and working directory, as it does for programs.
        answer = subprocess.run(
            [python, "-I", "-B", str(_CHECK)],
            input=options,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            timeout=_TIMEOUT_S,
            env={**loader_environment(python), "PYTHONUTF8": "1"},
        ).stdout
        problem = json.loads(answer.splitlines()[-1])["problem"]
    except (OSError, subprocess.SubprocessError, ValueError, IndexError, KeyError) as error:
        detail = (getattr(error, "stderr", "") or "")[-300:]
        raise ExecutorError(f"{python} could not make the policy: {error}: {detail}") from error
    if problem is not None:
        hint = "; pip install 'code-exec-env[restricted]' for it" if problem.startswith("RestrictedPython") else ""
        # If the package is missing, the message names the interpreter; a wrong option is wrong for any interpreter.
        raise ExecutorError(f"{python}: {problem}{hint}" if hint else problem)
