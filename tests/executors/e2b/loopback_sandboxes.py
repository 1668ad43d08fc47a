"""Sandboxes of a loopback server, made by the real SDK, and as patient as the tests are."""

from support import PATIENCE_S


def access(server, **more):
    return {"api_url": server.url, "sandbox_url": server.url, "api_key": server.api_key, **more}


def new(server, **more):
    from e2b_code_interpreter import Sandbox

    patient = {"timeout": int(PATIENCE_S), "request_timeout": PATIENCE_S}
    return Sandbox.create(**access(server, **{**patient, **more}))
