"""Checks of what an executor says about itself."""

from __future__ import annotations

import dataclasses

from code_env.executors import Executor, Isolation, Limits
from code_env.languages import LANGUAGES

from .contract import core_check, equal, expect


@core_check
def the_description_is_whole(executor: Executor) -> None:
    """`describe()` returns an `Isolation` with known values."""
    told = executor.describe()
    expect(isinstance(told, Isolation), f"describe() gave a {type(told).__name__}")
    expect(told.level in ("none", "contained", "full", "container", "machine"), f"there is no level {told.level!r}")
    expect(told.peer in ("isolated", "same_machine", "none"), f"there is no relation to a peer {told.peer!r}")
    expect(told.languages <= {one.name for one in LANGUAGES}, f"unknown languages in {sorted(told.languages)}")
    expect(bool(told.languages), "it runs no language")


@core_check
def declared_limits_are_limits(executor: Executor) -> None:
    """`enforces` holds names of fields of `Limits`. A time limit is among them, so that every loop ends."""
    told = executor.describe().enforces
    unknown = told - {field.name for field in dataclasses.fields(Limits)}
    equal(unknown, frozenset(), "names in enforces that are no limits")
    expect({"cpu_s", "wall_s", "output_bytes"} <= told, f"limits that are always enforced are not among {sorted(told)}")


@core_check
def the_description_stays(executor: Executor) -> None:
    """`describe()` returns the same in each call."""
    equal(executor.describe(), executor.describe(), "second description")
