"""What an executor says of itself."""

from __future__ import annotations

import dataclasses

from code_env.executors import Executor, Isolation, Limits
from code_env.languages import LANGUAGES

from .contract import core_check, equal, expect


@core_check
def the_description_is_whole(executor: Executor) -> None:
    """It is an `Isolation` of known words."""
    told = executor.describe()
    expect(isinstance(told, Isolation), f"describe() gave a {type(told).__name__}")
    expect(told.level in ("none", "contained", "full", "machine"), f"there is no level {told.level!r}")
    expect(told.peer in ("isolated", "same_machine", "none"), f"there is no relation to a peer {told.peer!r}")
    expect(told.languages <= {one.name for one in LANGUAGES}, f"unknown languages in {sorted(told.languages)}")
    expect(bool(told.languages), "it runs no language")


@core_check
def declared_limits_are_limits(executor: Executor) -> None:
    """`enforces` holds names of fields of `Limits`; time is among them, or a loop would never end."""
    told = executor.describe().enforces
    unknown = told - {field.name for field in dataclasses.fields(Limits)}
    equal(unknown, frozenset(), "names in enforces that are no limits")
    expect({"cpu_s", "wall_s", "output_bytes"} <= told, f"limits that are always enforced are not among {sorted(told)}")


@core_check
def the_description_stays(executor: Executor) -> None:
    """It does not change from one call to the next."""
    equal(executor.describe(), executor.describe(), "second description")
