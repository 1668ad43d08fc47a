"""Writes the replies of the process that has loaded an answer."""

from __future__ import annotations

import sys
from typing import Any

from ..wire.channel import MAX_FRAME_BYTES, json_bytes

ENCODING_DEPTH = 4000
"""The lowest recursion limit while a value is encoded: a lower limit that the program sets must not interfere."""

# Bound here because the program shares this process and can replace them.
_type, _int = type, int
_set_depth, _get_depth = sys.setrecursionlimit, sys.getrecursionlimit

_WORDS = {True: b"true", False: b"false", None: b"null"}


def packed(reply: dict[str, Any]) -> bytes:
    """Return a reply as JSON; in place of one that is too large, that it is."""
    # Most replies are simple, and the JSON encoder would touch many pages, which this process would have to copy.
    if "callable" in reply and not reply["exceptions"] and "classes" not in reply:
        found = ",".join(f'"{name}":{"true" if can else "false"}' for name, can in reply["callable"].items())
        return f'{{"n":{reply["n"]},"callable":{{{found}}},"exceptions":{{}}}}'.encode()
    if len(reply) == 2 and "value" in reply and "n" in reply:
        value = reply["value"]
        if value is None or _type(value) is bool:
            return b'{"n":%d,"value":%s}' % (reply["n"], _WORDS[value])
        if _type(value) is _int:
            return b'{"n":%d,"value":%d}' % (reply["n"], value)
    depth = _get_depth()
    _set_depth(max(depth, ENCODING_DEPTH))
    try:
        data = json_bytes(reply)
    finally:
        _set_depth(depth)
    if len(data) <= MAX_FRAME_BYTES // 2:
        return data
    error = {"name": "ValueTooLarge", "message": f"{len(data)} bytes of data came back"}
    raised = {**error, "traceback": "", "builtin": "Exception", "args": None}
    return packed({"n": reply.get("n"), "raised": raised, "changed": []})
