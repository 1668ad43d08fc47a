"""`python -m code_env` is `code-env`."""

from code_env.cli import app

app(prog_name="code-env")
