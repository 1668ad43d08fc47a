"""What all kinds of test share: fields, their forms in rows, and what a kind has to say of itself."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from code_env.checks import require_number
from code_env.errors import TaskError
from code_env.languages import Language

from .comparison import Comparison

MAX_SHOWN_CHARS = 600
"""How much of an input or an output feedback shows, in characters."""

REQUIRED, DERIVED, PLAIN = "required", "derived", "plain"
"""Keys of a field's metadata. A row needs the field although it has a default; no row has it; in a row, an object with
a key that begins with `$` stands for a type that JSON lacks, where the value is the type that is written."""


@dataclass(frozen=True, kw_only=True)
class BaseTest:
    """What all kinds of test share.

    Raises:
        TaskError: If a field is malformed, saying which.
    """

    kind: ClassVar[str]
    """Its name in rows and reports."""
    only_language: ClassVar[str] = ""
    """The only language of answers that it is for; empty if it is for several."""
    keeps_output: ClassVar[bool] = False
    """Whether it is about what the program writes, which the verdict then keeps."""
    hidden: bool = True
    """Whether the policy may not see its input and expected value."""
    weight: float = 1.0
    """Its share of the pass fraction, relative to the other tests; split evenly among its cases."""

    def __post_init__(self) -> None:
        if not isinstance(self.hidden, bool):
            raise TaskError(f"hidden must be true or false; got {self.hidden!r}")
        require_number("weight", self.weight, TaskError, above=0)

    @property
    def cases(self) -> int:
        """How many cases it is judged as; does not depend on the program."""
        return 1

    def job(self, language: Language | None) -> dict[str, Any]:
        """What the judge is told of it, as data for JSON; `code_env.harness.judge.main` shows the form of each kind.

        Args:
            language: The answer's, if it is known here.
        """
        return {"kind": self.kind, "hidden": self.hidden, **self._job(language)}

    def _job(self, language: Language | None) -> dict[str, Any]:
        raise NotImplementedError

    def example(self, entry_point: str) -> str:
        """How a prompt shows it as an example, if it is public.

        Args:
            entry_point: The task's, or nothing.
        """
        raise NotImplementedError

    def feedback(self, entry_point: str, actual: str) -> str:
        """What feedback says of it before it says why it failed, if it is public.

        Args:
            entry_point: The task's, or nothing.
            actual: What the program gave.
        """
        return ""

    def _rule(self) -> dict[str, Any]:
        """What the judge is told of the comparison."""
        return dataclasses.asdict(getattr(self, "compare"))  # noqa: B009

    def _require_text(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, str):
                raise TaskError(f"{name} must be text; got {type(value).__name__}")

    def _set_comparison(self, rules: tuple[str, ...]) -> None:
        # The dataclass is frozen; this is still its construction.
        object.__setattr__(self, "compare", Comparison.of(getattr(self, "compare"), rules))  # noqa: B009
