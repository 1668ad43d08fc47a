"""Sandboxes of a loopback server, made by the real SDK."""


def access(server, **more):
    return {"api_url": server.url, "sandbox_url": server.url, "api_key": server.api_key, **more}


def new(server, **more):
    from e2b_code_interpreter import Sandbox

    return Sandbox.create(**access(server, **{"timeout": 60, **more}))
