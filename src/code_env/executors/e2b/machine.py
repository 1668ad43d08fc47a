"""A sandbox of E2B as a machine: files and commands through the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import E2BMisconfigured
from code_env.executors.machines.loop import within
from code_env.executors.machines.machine import Command, Listener, Machine

_DIRECTORY = ".code_env"
"""Directory of the written files, below the home directory of the sandbox's user."""


class E2BMachine(Machine):
    """A sandbox.

    Args:
        sandbox: The sandbox object of the SDK.
        request_timeout_s: How long a request may take, in seconds.
    """

    needs = "a template needs Python 3.11 or newer as python3, bash, tar and gzip"
    misconfigured = E2BMisconfigured

    def __init__(self, sandbox: Any, request_timeout_s: float) -> None:
        self.sandbox, self._request_timeout_s = sandbox, request_timeout_s

    async def write_files(self, files: Mapping[str, bytes]) -> None:
        """Upload files."""
        entries = [{"path": f"{_DIRECTORY}/{name}", "data": content} for name, content in files.items()]
        await self.sandbox.files.write_files(entries, request_timeout=self._request_timeout_s)

    async def start(
        self, command: str, *, stdout: Listener, stderr: Listener, timeout_s: float, takes_input: bool
    ) -> Command:
        """Start a command."""
        handle = await self.sandbox.commands.run(
            f"cd {_DIRECTORY} && {command}",
            background=True,
            on_stdout=stdout,
            on_stderr=stderr,
            timeout=timeout_s,
            request_timeout=self._request_timeout_s,
            retain_output=False,
            **({"stdin": True} if takes_input else {}),
        )
        return _E2BCommand(self.sandbox, handle, self._request_timeout_s)

    async def is_there(self) -> bool:
        """Whether the sandbox runs."""
        return bool(await self.sandbox.is_running(request_timeout=self._request_timeout_s))


class _E2BCommand(Command):
    def __init__(self, sandbox: Any, handle: Any, request_timeout_s: float) -> None:
        self._sandbox, self._handle, self._request_timeout_s = sandbox, handle, request_timeout_s

    async def send(self, data: bytes) -> None:
        await self._handle.send_stdin(data, request_timeout=self._request_timeout_s)

    async def wait(self) -> int:
        from e2b import CommandExitException

        try:
            return int((await self._handle.wait()).exit_code)
        except CommandExitException as ended:
            return int(ended.exit_code)

    async def is_stopped(self) -> bool:
        told = await within(
            self._request_timeout_s,
            self._sandbox.commands.run(
                f"cat /proc/{self._handle.pid}/stat",
                timeout=self._request_timeout_s,
                request_timeout=self._request_timeout_s,
            ),
        )
        # The second field is a name in brackets, which may hold anything.
        return str(told.stdout).rpartition(")")[2].split()[:1] in (["T"], ["t"])

    async def disconnect(self) -> None:
        await self._handle.disconnect()
