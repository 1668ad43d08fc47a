"""`python -m code_env.cli`, where the command is not on the path."""

from . import app

app()
