"""An extension of Griffe, which reads docstrings for the site: `Example:` begins a section with code."""

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Griffe knows the plural only."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
