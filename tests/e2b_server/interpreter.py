"""The code interpreter on port 49999 of each sandbox (to come)."""

PORT = 49999


def operation(route):
    return "run_code" if route == "/execute" else "contexts" if route.startswith("/contexts") else "health"


def serve(call, sandbox):
    call.body.read()
    call.reply_text(500, "not yet")


class Context:
    pass
