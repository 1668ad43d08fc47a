"""`code-env list`: lists environments, executors and rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Column, Table

from code_env.environments.definitions import environment_names, load_definition
from code_env.errors import ExecutorError
from code_env.executors import executor_names, make_executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.registration import DEFAULT_REWARDS, environment_id
from code_env.tasks import load_suite
from code_env.wrappers.reward_names import REWARDS

from .application import app
from .console import out, say, user_errors


@app.command("list")
def list_all() -> None:
    """List environments, executors and rewards."""
    with user_errors():
        id_column = Column("Gymnasium id", no_wrap=True)  # Users copy it.
        table = Table("environment", id_column, "tasks", "rewards", title="environments", title_justify="left")
        for name in environment_names():
            defined = load_definition(name).rewards or DEFAULT_REWARDS
            rewards = ", ".join(f"{key} {_shown(value)}" for key, value in defined.items())
            table.add_row(name, environment_id(name), _count(name), rewards)
        out.print(table)
        table = Table("executor", "isolation", "peer", "enforces", title="executors", title_justify="left")
        missing: dict[str, str] = {}
        for name in executor_names():
            default = " (default)" if name == DEFAULT_EXECUTOR else ""
            try:
                with make_executor(name) as executor:
                    isolation = executor.describe()
            except ExecutorError as error:
                missing[name] = str(error)
                table.add_row(name + default, "not here", "", "")
            else:
                table.add_row(name + default, isolation.level, isolation.peer, ", ".join(sorted(isolation.enforces)))
        out.print(table)
        for name, why in missing.items():
            say(f"{name}: {why}")
        table = Table("reward", "wrapper", "what it does", title="rewards", title_justify="left")
        for name, wrapper in REWARDS.items():
            summary = (wrapper.__doc__ or "").partition("\n")[0]
            table.add_row(name, wrapper.__name__, summary)
        out.print(table)


def _count(name: str) -> str:
    """The number of tasks of an environment, if it is known without a request to the hub."""
    source = load_definition(name).source
    if source is not None and source.path is None:
        return "not shipped"
    return str(len(load_suite(name)))


def _shown(reward: Any) -> str:
    """A weight, or a wrapper's arguments."""
    if not isinstance(reward, Mapping):
        return str(reward)
    return f"({', '.join(f'{name}={value}' for name, value in reward.items())})"
