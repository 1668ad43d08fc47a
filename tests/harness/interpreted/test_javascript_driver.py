"""The driver of JavaScript answers, on a socket from which it gets as little at once as a socket may give."""

import json
import socket
import struct
import subprocess
import time
from importlib.resources import files

from support import PATIENCE_S

DRIVER = files("code_env") / "harness" / "interpreted" / "javascript" / "driver.js"


def test_a_message_that_comes_in_parts_is_put_together(tmp_path):
    # A stream keeps no borders: a reader that wakes early finds a part of what was sent at once.
    (tmp_path / "main.js").write_text("const f = (xs) => xs.reverse();")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        driver = subprocess.Popen(
            ["node", str(DRIVER), "serve", str(theirs.fileno()), "main.js"],
            cwd=tmp_path,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        lines = ours.makefile("rb")

        def tell(message):
            assert next(lines) == b'"ask"\n'
            piece = json.dumps(message).encode()
            data = struct.pack(">?I", True, len(piece)) + piece
            for at in range(0, len(data), 7):
                ours.sendall(data[at : at + 7])
                time.sleep(0.001)

        try:
            assert [next(lines), next(lines)] == [b'"up"\n', b'"compiled"\n']
            tell({"do": "call", "name": "f"})
            assert json.loads(next(lines)) == {"loaded": True}
            tell([list(range(100))])
            assert json.loads(next(lines)) == {"value": list(range(100))[::-1]}
            assert driver.wait(PATIENCE_S) == 0
        finally:
            driver.kill()
            driver.wait()
