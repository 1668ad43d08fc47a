"""Sources of tasks that are not shipped: a file that an environment variable names, or the Hugging Face hub."""

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
    """Environment variable with the path of a file that has the rows. If it is set, this file is used."""
    hub: str
    """The data set's name on the hub, or the path of a directory with a copy of it."""
    split: str
    """The split of the data set."""
    subset: str | None = None
    """The data set's configuration on the hub, if it has several."""

    @property
    def path(self) -> Path | None:
        """The file that the environment variable names, if it is set."""
        value = os.environ.get(self.variable)
        return Path(value) if value else None

    def rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The rows on the hub with their numbers, from 1.

        Raises:
            SuiteNotFound: If the rows cannot be loaded; the message shows both ways to provide them.
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
        # The library has a different error for each cause: no network, no such data set, no access to it.
        except Exception as error:
            message = " ".join(str(error).split())
            raise SuiteNotFound(f"{self.hub} cannot be downloaded from the hub ({message}); {path}") from None
        yield from enumerate(rows, start=1)
