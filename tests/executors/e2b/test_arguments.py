"""What the executor is made with: the SDK, the arguments, and options of the command line."""

import sys

import pytest

from code_env import ExecutorError, Program, make_executor


def test_without_the_sdk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "e2b_code_interpreter", None)
    with pytest.raises(ExecutorError, match=r"pip install 'code-exec-env\[e2b\]'"):
        make_executor("e2b", api_key="k")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_concurrency": 0}, "max_concurrency must be"),
        ({"max_concurrency": True}, "max_concurrency must be"),
        ({"template": ""}, "template must be a text"),
        ({"api_key": 3}, "^api_key must be a text that is not empty, or None$"),
        ({"allow_internet_access": "no"}, "allow_internet_access must be"),
        ({"request_timeout_s": 0}, "request_timeout_s must be"),
        ({"request_timeout_s": float("inf")}, "request_timeout_s must be a finite number of seconds above 0; got inf"),
        ({"request_timeout_s": float("nan")}, "request_timeout_s must be"),
        ({"request_timeout_s": True}, "request_timeout_s must be"),
        ({"domain": "not a domain"}, "domain must be the name of a host, such as 'e2b.dev'; got 'not a domain'"),
        ({"domain": "https://e2b.dev"}, "domain must be"),
        ({"template": "\ud800"}, "template must be a name of printable characters"),
        ({"fallback": "nowhere"}, "fallback: no executor is named 'nowhere'; known are"),
        ({"fallback": "e2b"}, "another executor than e2b"),
        ({"retry": 3}, "retry must be a RetryPolicy or a mapping; got int"),
        ({"retry": {"tries": 3}}, "retry: unknown 'tries'; known are create_tries"),
        ({"retry": {"reruns": 1.5}}, "retry: reruns must be a whole number of at least 0; got 1.5"),
        ({"retry": {"kill_tries": 0}}, "retry: kill_tries must be a whole number of at least 1; got 0"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ExecutorError, match=message):
        make_executor("e2b", **{"api_key": "k", **arguments})


def test_workers_is_another_name_for_how_many_run_at_once(make, e2b):
    executor = make(workers=2)
    before = e2b.created
    assert [result.stdout for result in executor.run_many(Program(f"print({n})") for n in range(6))] == [
        f"{n}\n" for n in range(6)
    ]
    assert e2b.created == before + 6
    assert executor._most == 2


def test_the_command_line_sets_how_many_run_at_once(e2b, tmp_path):
    from typer.testing import CliRunner

    from code_env.cli import app

    done = CliRunner().invoke(app, ["run", "starter", "-n", "2", "-e", "e2b", "-w", "2"])
    assert done.exit_code == 0, done.output
    assert "2 episodes, mean reward 1.000" in done.output
