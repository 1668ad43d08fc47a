import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest


@pytest.fixture(scope="module", autouse=True)
def server():
    process = subprocess.Popen([sys.executable, "/app/serve.py"])
    yield process
    process.kill()
    process.wait()


def get(server, path):
    for _ in range(100):
        assert server.poll() is None
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:8123{path}").read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nobody answers")


def test_ping(server):
    assert get(server, "/ping") == b"pong"


def test_other(server):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server, "/other")
