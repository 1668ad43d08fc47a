"""Answers in JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


class Answer(JSONResponse):
    """JSON in ASCII: what models write can hold lone surrogates, which UTF-8 has no bytes for."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")
