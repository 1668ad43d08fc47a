"""Runs commands as a user does, in this process."""

import contextlib

from typer.testing import CliRunner

from code_env.cli import app


def run(*arguments, cwd, code=0):
    """What a command prints; in this process, since a start of the interpreter takes longer than most commands."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.stdout if code == 0 else done.output
