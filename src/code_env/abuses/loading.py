"""Reads the abuses in `programs/`, one file for each kind.

A file is a sequence of blocks. All lines that begin with four dashes are optional:

    #### name of the abuse
    ---- begins with say, ignore all signals
    ---- each line is refused
    ---- wall_s=2 processes=3
    ---- stdin "what it reads"
    ---- selected
    its text

`begins with` names texts of `beginnings.txt`, which are put before the abuse's own text. With `each line is refused`,
every line except imports is an expression that must fail or give -1. The limits are those of `SHORT`, except for the
fields that are named. The input is a JSON string. An abuse that is `selected` ends soon, and does no harm to a machine
even if nothing stops it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from code_env.executors import Limits

from .canaries import SHORT, Abuse

PROGRAMS = Path(__file__).parent / "programs"

KINDS = (
    *("processes", "memory", "disk", "output", "cpu", "signals"),
    *("files", "heap", "contamination", "network", "liveness", "kernel"),
)
"""Kinds of abuses, in the order in which they are run."""


def load_abuses(kind: str) -> tuple[Abuse, ...]:
    """Return all abuses of a kind.

    Args:
        kind: One of `KINDS`.

    Raises:
        ValueError: If a line of the file is malformed.
    """
    beginnings: dict[str, str] = {}
    for one in _abuses("beginnings", beginnings):
        beginnings[one.name] = one.code
    return tuple(_abuses(kind, beginnings))


def _abuses(file: str, beginnings: Mapping[str, str]) -> Iterator[Abuse]:
    """Yield the abuses in the blocks of a file."""
    content = (PROGRAMS / f"{file}.txt").read_text(encoding="utf-8")
    for block in re.split(r"(?m)^#### ", content)[1:]:
        name, *lines = block.rstrip("\n").split("\n")
        abuse, before, refused = Abuse(name, file, ""), "", False
        while lines and lines[0].startswith("---- "):
            option = lines.pop(0).removeprefix("---- ")
            if option.startswith("begins with "):
                before = "".join(_beginning(one, beginnings, name) for one in option[len("begins with ") :].split(", "))
            elif option == "each line is refused":
                refused = True
            elif option.startswith("stdin "):
                abuse = abuse._replace(stdin=json.loads(option.removeprefix("stdin ")))
            elif option == "selected":
                abuse = abuse._replace(selected=True)
            else:
                abuse = abuse._replace(limits=_limits(option, name))
        if refused:
            lines = [line if line.startswith("import ") else f"attempt({line!r}, lambda: {line})" for line in lines]
        yield abuse._replace(code=before + "\n".join(lines) + "\n")


def _beginning(wanted: str, beginnings: Mapping[str, str], name: str) -> str:
    if wanted not in beginnings:
        raise ValueError(f"abuse {name!r}: no beginning is named {wanted!r}; known are {', '.join(beginnings)}")
    return beginnings[wanted]


def _limits(option: str, name: str) -> Limits:
    pairs = [pair.partition("=")[::2] for pair in option.split()]
    try:
        return dataclasses.replace(SHORT, **{field: json.loads(value) for field, value in pairs})
    except (TypeError, ValueError) as error:
        message = f"abuse {name!r}: expected an option, or limits such as `wall_s=2`, got {option!r}: {error}"
        raise ValueError(message) from None
