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
from .console import JsonOption, out, print_json, say, user_errors

_TOLD_BY = {"ray": "local"}
"""Executors that would start a cluster to describe themselves, and the executor that runs on each of its nodes."""

_ROOMY = 60
"""A terminal with so many columns has room for a Gymnasium id beside the rest."""


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List environments, executors and rewards.

    Example: code-env list
    """
    with user_errors():
        environments = {name: _environment(name) for name in environment_names()}
        executors = {name: _executor(name) for name in executor_names()}
    rewards = {
        name: {"wrapper": wrapper.__name__, "summary": (wrapper.__doc__ or "").partition("\n")[0]}
        for name, wrapper in REWARDS.items()
    }
    if as_json:
        print_json({"environments": environments, "executors": executors, "rewards": rewards})
        return
    # Users copy it: only a terminal that has no room for it folds it.
    id_column = Column("Gymnasium id", overflow="fold", no_wrap=out.width >= _ROOMY)
    table = _table("environments", "environment", id_column, "tasks", "rewards")
    for name, one in environments.items():
        shown = ", ".join(f"{key} {_shown(value)}" for key, value in one["rewards"].items())
        table.add_row(name, one["id"], "not shipped" if one["tasks"] is None else str(one["tasks"]), shown)
    out.print(table)
    table = _table("executors", "executor", "isolation", "peer", "enforces")
    for name, one in executors.items():
        default = " (default)" if name == DEFAULT_EXECUTOR else ""
        table.add_row(name + default, one["isolation"] or "not here", one["peer"] or "", ", ".join(one["enforces"]))
    out.print(table)
    for name, one in executors.items():
        if one["missing"] is not None:
            say(f"{name}: {one['missing']}")
    table = _table("rewards", "reward", "wrapper", "what it does")
    for name, one in rewards.items():
        table.add_row(name, one["wrapper"], one["summary"])
    out.print(table)


def _table(title: str, *columns: str | Column) -> Table:
    """A table that folds words rather than cut them in a narrow terminal."""
    folded = [Column(one, overflow="fold") if isinstance(one, str) else one for one in columns]
    return Table(*folded, title=title, title_justify="left")


def _environment(name: str) -> dict[str, Any]:
    rewards = load_definition(name).rewards or DEFAULT_REWARDS
    return {"id": environment_id(name), "tasks": _count(name), "rewards": dict(rewards)}


def _executor(name: str) -> dict[str, Any]:
    """What an executor says of itself, or why it cannot be made here."""
    try:
        with make_executor(name) as executor:
            if name in _TOLD_BY:
                return _executor(_TOLD_BY[name])
            found = executor.describe()
    except ExecutorError as error:
        return {"isolation": None, "peer": None, "enforces": [], "missing": str(error)}
    return {"isolation": found.level, "peer": found.peer, "enforces": sorted(found.enforces), "missing": None}


def _count(name: str) -> int | None:
    """The number of tasks of an environment; None if it is not known without a request to the hub."""
    return None if load_definition(name).path is None else len(load_suite(name))


def _shown(reward: Any) -> str:
    """A weight, or a wrapper's arguments."""
    if not isinstance(reward, Mapping):
        return str(reward)
    return f"({', '.join(f'{name}={value}' for name, value in reward.items())})"
