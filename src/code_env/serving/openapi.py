"""What the server says of its routes: an OpenAPI description, and a page that shows it."""

from __future__ import annotations

import html
from typing import Any

from code_env.version import VERSION

_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}
_FILES = {"type": "object", "additionalProperties": {"type": ["string", "null"], "contentEncoding": "base64"}}
_TASK = {
    "task": {"type": "object", "description": "The row of a task, as docs/task-format.md describes it."},
    "task_digest": {"type": "string", "description": "Instead of `task`: the SHA-256 digest of an uploaded row."},
    "limits": {"type": "object", "description": 'Limits that replace the task\'s own, such as {"cpu_s": 1}.'},
}
_RUN = {
    "code": _TEXT,
    "language": _TEXT,
    "stdin": _TEXT,
    "files": _FILES,
    "fetch_files": _TEXTS,
    "compile_timeout": _NUMBER,
    "run_timeout": _NUMBER,
    "memory_limit_MB": _NUMBER,
}
_CELLS = {
    "cells": _TEXTS,
    "cell_timeout": _NUMBER,
    "total_timeout": _NUMBER,
    "memory_limit_MB": _NUMBER,
    "files": _FILES,
    "fetch_files": _TEXTS,
}
_JUDGE = _TASK | {"answers": _TEXTS, "rewards": {"type": "object", "description": "As for gym.make; name to weight."}}
_OPEN = {"limits": _TASK["limits"], "files": _FILES, "ttl_s": _NUMBER}
_RESEED = {"oneOf": [_FLAG, {"type": "array", "items": {"type": "integer"}}]}
_FORK = {"n": {"type": "integer"}, "reseed": _RESEED}
_RESET = {"seed": {"type": "integer"}, "episode_id": _TEXT, "options": {"type": "object"}}
_ITEM = {"type": "object", "properties": _TASK | {"answer": _TEXT}, "required": ["answer"]}
_ITEMS = {"items": {"type": "array", "items": _ITEM}}
_REQUESTS = {"requests": {"type": "array", "items": {"type": "object", "properties": _RUN}}}


def _post(summary: str, properties: dict[str, Any], required: list[str], answer: str = "application/json") -> Any:
    schema = {"type": "object", "properties": properties, "required": required}
    body = {"content": {"application/json": {"schema": schema}}}
    return {"post": _operation(summary, answer) | {"requestBody": body}}


def _get(summary: str, answer: str = "application/json") -> Any:
    return {"get": _operation(summary, answer)}


def _operation(summary: str, answer: str) -> dict[str, Any]:
    refusals = {"401": "No token, or a wrong one", "413": "Too large", "422": "Malformed", "504": "Send it again"}
    return {
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {answer: {}}}}
        | {status: {"description": meaning} for status, meaning in refusals.items()},
    }


_LINES = "application/x-ndjson"

DESCRIPTION: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "code_env", "version": VERSION},
    "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "security": [{"token": []}],
    "paths": {
        "/run_code": _post("Run a program, as SandboxFusion does", _RUN, ["code", "language"]),
        "/run_code_batch": _post("Run programs; a line for each as it ends", _REQUESTS, ["requests"], _LINES),
        "/run_jupyter": _post("Run the cells of a notebook, as SandboxFusion does", _CELLS, ["cells"]),
        "/v1/ping": _get('Answers "pong"'),
        "/judge": _post("Judge answers to one task; each verdict says whether it is valid", _JUDGE, ["answers"]),
        "/judge_batch": _post(
            "Judge answers to many tasks; a line for each as it is judged", _ITEMS, ["items"], _LINES
        ),
        "/tasks/{digest}": {
            "put": _operation("Upload the row of a task; `digest` is its SHA-256", "application/json")
            | {"parameters": [{"name": "digest", "in": "path", "required": True, "schema": _TEXT}]}
        },
        "/sessions": _post("Open a session: an interpreter that keeps its state", _OPEN, []),
        "/sessions/{session}": _get("The state of a session")
        | {"delete": _operation("Close a session", "application/json")},
        "/sessions/{session}/run": _post("Run a cell in a session", {"cell": _TEXT}, ["cell"]),
        "/sessions/{session}/fork": _post("Open sessions in the state of another one", _FORK, []),
        "/envs/{name}/reset": _post("Begin an episode, as OpenEnv does", _RESET, []),
        "/envs/{name}/step": _post("Answer a task, as OpenEnv does", {"action": {"type": "object"}}, ["action"]),
        "/envs/{name}/{what}": _get("OpenEnv's state, schema, metadata or health of an environment"),
        "/health": _get("Whether the server takes work; needs no token"),
        "/metrics": _get("Figures for Prometheus", "text/plain"),
        "/v1/doctor": _get("What this machine isolates, as `code-env doctor --json`"),
    },
}
"""The description, as OpenAPI 3.1 (spec.openapis.org/oas/v3.1.0)."""


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>code_env {version}</title>
<style>
  body {{ font: 16px/1.5 system-ui; margin: 2rem; color-scheme: light dark }}
  td, th {{ text-align: left; padding: .3rem 1rem .3rem 0; vertical-align: top }}
</style>
<h1>code_env {version}</h1>
<p>The whole description: <a href="openapi.json">openapi.json</a>.</p>
<table>
<tr><th>request</th><th>what it does</th><th>fields</th></tr>
{rows}
</table>
</html>
"""


def page() -> str:
    """Return a page that lists the routes."""
    rows = "".join(
        f"<tr><td><code>{method.upper()} {html.escape(path)}</code></td><td>{html.escape(one['summary'])}</td>"
        f"<td>{html.escape(_fields(one))}</td></tr>"
        for path, methods in DESCRIPTION["paths"].items()
        for method, one in methods.items()
    )
    return _PAGE.format(version=VERSION, rows=rows)


def _fields(operation: dict[str, Any]) -> str:
    body = operation.get("requestBody")
    return ", ".join(body["content"]["application/json"]["schema"]["properties"]) if body else ""
