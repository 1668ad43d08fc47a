"""`python -m code_env.cli`, for use if the command `code-env` is not on PATH."""

from . import app

app()
