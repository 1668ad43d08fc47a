"""A real server: `code-env serve` in a process of its own, and plain requests to it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
from urllib.parse import urlsplit

from support import PATIENCE_S


class ServerProcess:
    """`code-env serve` on a free port, or on a Unix socket."""

    def __init__(self, *options, token=None):
        command = [sys.executable, "-m", "code_env.cli", "serve", "--json", *map(str, options)]
        if "--port" not in options and "--unix" not in options:
            command += ["--port", "0"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **({"CODE_ENV_TOKEN": token} if token else {})}
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  # `served` closes it.
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._said, text=True, env=environment)
        self.address = json.loads(self.process.stdout.readline())["address"]

    @property
    def port(self):
        return urlsplit(self.address).port

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def send(self, method, path, body=b"", **headers):
        """The status of an answer, and its body: JSON if it is."""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode()

    def post(self, path, value, **headers):
        return self.send("POST", path, json.dumps(value), **{"Content-Type": "application/json", **headers})

    def lines(self, path, value):
        """The JSON lines of an answer."""
        with contextlib.closing(self.connection()) as connection:
            connection.request("POST", path, json.dumps(value))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            return [json.loads(line) for line in answer]

    @property
    def said(self):
        """What it has written to standard error."""
        self._said.seek(0)
        return self._said.read()

    def stop(self, number=signal.SIGTERM):
        """End it; its exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


@contextlib.contextmanager
def served(*options, token=None):
    """A server, which is ended afterwards."""
    server = ServerProcess(*options, token=token)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
        server.process.stdout.close()
        server._said.close()
