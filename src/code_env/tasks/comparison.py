"""How an actual output or value is compared with the expected one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from code_env.checks import names_keywords, require_choice, require_number
from code_env.errors import TaskError


@names_keywords
@dataclass(frozen=True)
class Comparison:
    """How an actual output or value is compared with the expected one.

    docs/task-format.md describes the rules.

    Raises:
        TaskError: If a tolerance is not a finite number of at least 0.

    Example:
        >>> Comparison("close", rel=1e-3).abs
        1e-06
    """

    rule: str
    """For text `lines`, `exact`, `trailing`, `tokens`, `numbers` or `unordered`; for values `equal`, `exact`, `close`,
    `unordered` or `multiset`."""
    rel: float = 1e-6
    """Relative tolerance, for the rules that have one."""
    abs: float = 1e-6
    """Absolute tolerance, for the rules that have one."""

    def __post_init__(self) -> None:
        for name in ("rel", "abs"):
            require_number(f"compare.{name}", getattr(self, name), TaskError, least=0)

    @classmethod
    def of(cls, value: Comparison | str | Mapping[str, Any], rules: tuple[str, ...]) -> Comparison:
        """Make a comparison from the name of its rule, a mapping or a `Comparison`, and check it against `rules`.

        Raises:
            TaskError: If `value` has another type, or its rule is not among `rules`.
        """
        if isinstance(value, str):
            value = cls(value)
        elif isinstance(value, Mapping):
            try:
                value = cls(**value)
            except TypeError:
                raise TaskError(f"compare takes rule, rel and abs; got {value!r}") from None
        require_choice("compare", value.rule if isinstance(value, Comparison) else value, rules, TaskError)
        return value
