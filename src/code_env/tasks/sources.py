"""Where tasks come from that are not shipped: a file that an environment variable names, or the Hugging Face hub."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env.errors import SuiteNotFound


@dataclass(frozen=True)
class Source:
    """Where the tasks of a benchmark come from."""

    variable: str
    """Environment variable that holds the path of a file with its rows; it comes first."""
    hub: str
    """Its name on the hub, or the path of a directory that has what is there."""
    split: str
    """Which part of it."""
    subset: str | None = None
    """Its configuration there, if it has several."""

    @property
    def path(self) -> Path | None:
        """The file that the environment variable names, if it is set."""
        value = os.environ.get(self.variable)
        return Path(value) if value else None

    def rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The rows on the hub with their numbers, from 1.

        Raises:
            SuiteNotFound: If they cannot be had; the message shows both ways to have them.
        """
        path = f"set {self.variable} to the path of a file with its rows"
        try:
            import datasets  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise SuiteNotFound(
                f"the tasks are not shipped: {path}, or install code-exec-env[hf] to have {self.hub} from the hub"
            ) from None
        try:
            rows = datasets.load_dataset(self.hub, self.subset, split=self.split)
        # No network, no such data set, no right to it: the library has an error of its own for each.
        except Exception as error:
            message = " ".join(str(error).split())
            raise SuiteNotFound(f"{self.hub} cannot be had from the hub ({message}); {path}") from None
        yield from enumerate(rows, start=1)
