"""E2B's key, in an object that never shows it: not in its repr, in a message, or in a pickle."""

from __future__ import annotations

import os
from typing import Any

from code_env.errors import ExecutorError

VARIABLE = "E2B_API_KEY"


class ApiKey:
    """A key. A pickle does not hold the key: the process that unpickles it reads the key from its own environment.

    Example:
        >>> ApiKey("e2b_secret")
        ApiKey(...)
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def find(cls, given: str | None = None) -> ApiKey | None:
        """The given key, otherwise that of the environment, without spaces around it; None if there is neither.

        Raises:
            ExecutorError: If the key has characters that a request cannot carry.
        """
        value = (given or "").strip() or os.environ.get(VARIABLE, "").strip()
        if not (value.isascii() and value.isprintable()):
            where = "api_key" if (given or "").strip() else VARIABLE
            raise ExecutorError(f"{where} must be of printable ASCII characters, and is not; it is not shown here")
        return cls(value) if value else None

    def reveal(self) -> str:
        """The key itself, for the SDK only."""
        return self._value

    def without(self, text: str) -> str:
        """A text in which the key, if it occurs, is replaced."""
        for form in (self._value, repr(self._value)[1:-1]):
            text = text.replace(form, "...")
        return text

    def __repr__(self) -> str:
        return "ApiKey(...)"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_from_environment, ())


def _from_environment() -> ApiKey:
    key = ApiKey.find()
    if key is None:
        raise LookupError(f"a pickled key is read from {VARIABLE} anew, and that is not set in this process")
    return key
