"""Reads build files: the instructions from which an image is made.

The format: https://docs.docker.com/reference/dockerfile/. An instruction that is not known here is refused by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from code_env.errors import ImageError

NAMES = ("Dockerfile", "Containerfile")

INSTRUCTIONS = frozenset("FROM RUN COPY ADD WORKDIR ENV ARG USER LABEL SHELL ENTRYPOINT CMD".split())  # noqa: SIM905

_FLAGS = {"COPY": ("chown", "chmod", "link"), "ADD": ("chown", "chmod", "link")}

_DIRECTIVE = re.compile(r"#\s*(\w+)\s*=\s*(.+?)\s*$")
_HERE_DOCUMENT = re.compile(r"<<(-?)([\"']?)(\w+)\2")
_VARIABLE = re.compile(r"(\w+)|\{(\w+)(?::([-+])([^{}]*))?\}")


def is_build_file(path: Path) -> bool:
    """Whether a path is that of a build file, by its name: `Dockerfile`, `NAME.Dockerfile` or `Dockerfile.NAME`."""
    return path.is_file() and any(
        path.name == name or path.name.startswith(f"{name}.") or path.name.endswith(f".{name}") for name in NAMES
    )


@dataclass(frozen=True)
class Instruction:
    """One instruction of a build file."""

    name: str
    """Its name, in capitals."""
    text: str
    """What follows the name and the flags, lines joined."""
    where: str
    """The file and the line, for messages."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Its flags, without the dashes."""
    documents: tuple[str, ...] = ()
    """The lines of its here-documents, each with the line that ends it."""

    @property
    def array(self) -> list[str] | None:
        """The words, if they are written as a JSON array; else None."""
        try:
            found = json.loads(self.text)
        except ValueError:
            return None
        return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None

    def error(self, what: str) -> ImageError:
        """An error that says where the instruction is."""
        return ImageError(f"{self.where}: {self.name}: {what}")


def read_build_file(path: Path) -> list[Instruction]:
    """Read the instructions of a build file.

    Raises:
        ImageError: If it cannot be read, or has an instruction or a flag that is not supported.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ImageError(f"the build file {path} cannot be read: {error}") from error
    found = list(_instructions(lines, path))
    stages = [one for one in found if one.name == "FROM"]
    if len(stages) > 1:
        raise stages[1].error("a second FROM, for a build in stages, is not supported; build such an image elsewhere")
    first = next((one for one in found if one.name != "ARG"), None)
    if first is None or first.name != "FROM":
        raise ImageError(f"the build file {path} has to begin with FROM")
    return found


def _instructions(lines: list[str], path: Path) -> Iterator[Instruction]:
    numbered = iter(enumerate(lines, start=1))
    escape, may_direct = "\\", True
    for number, line in numbered:
        directive = _DIRECTIVE.match(line) if may_direct else None
        if directive is not None and directive[1].lower() == "escape":
            escape = directive[2]
        may_direct = directive is not None
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text = line.strip()
        while text.endswith(escape):
            # Empty lines and comments between its lines are left out.
            more = next((line for _, line in numbered if line.strip() and not line.lstrip().startswith("#")), "")
            text = text.removesuffix(escape) + more.rstrip()
        name, _, rest = text.partition(" ")
        yield _instruction(name.upper(), rest.strip(), f"{path}:{number}", numbered)


def _instruction(name: str, text: str, where: str, lines: Iterator[tuple[int, str]]) -> Instruction:
    if name not in INSTRUCTIONS:
        raise ImageError(
            f"{where}: the instruction {name} is not supported; what is: {', '.join(sorted(INSTRUCTIONS))}"
        )
    flags: dict[str, str] = {}
    while match := re.match(r"--([\w-]+)(?:=(\S*))?\s+", text):
        if match[1] not in _FLAGS.get(name, ()):
            raise ImageError(f"{where}: {name} --{match[1]} is not supported")
        flags[match[1]], text = match[2] or "", text[match.end() :]
    one = Instruction(name, text, where, flags)
    if name not in ("RUN", "COPY", "ADD") or one.array is not None:
        return one
    documents = []
    for dash, _, end in _HERE_DOCUMENT.findall(text):
        document: list[str] = []
        for _, line in lines:
            document.append(line)
            if (line.lstrip("\t") if dash else line) == end:
                break
        else:
            raise one.error(f"the here-document has no line {end}")
        documents.append("\n".join(document))
    if documents and name != "RUN":
        raise one.error("a here-document is supported for RUN only; put the text into a file")
    return Instruction(name, text, where, flags, tuple(documents))


def script_of(one: Instruction) -> str:
    """What the shell of a RUN in shell form runs."""
    if one.documents and re.fullmatch(_HERE_DOCUMENT, one.text):
        return one.documents[0].rpartition("\n")[0]  # The document itself is the script.
    return "\n".join([one.text, *one.documents])


def expanded(text: str, variables: Mapping[str, str]) -> list[str]:
    """Split a text into words, with quotes removed and variables replaced; those that are not set are empty.

    `${NAME:-WORD}` and `${NAME:+WORD}` are known; in single quotes nothing is replaced.
    """
    words: list[str] = []
    word, quote, at = "", "", 0
    begun = False
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\" and quote != "'" and at < len(text) and (not quote or text[at] in '"$\\'):
            word, begun, at = word + text[at], True, at + 1
        elif char == quote:
            quote = ""
        elif char in "'\"" and not quote:
            quote, begun = char, True
        elif char == "$" and quote != "'" and (match := _VARIABLE.match(text, at)):
            word, begun, at = word + _value(match, variables), True, match.end()
        elif char.isspace() and not quote:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + char, True
    return [*words, word] if begun else words


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    value = variables.get(match[1] or match[2], "")
    if match[3] is None:
        return value
    other = " ".join(expanded(match[4], variables))
    return (value or other) if match[3] == "-" else (other if value else "")


def assignments(one: Instruction, variables: Mapping[str, str]) -> dict[str, str]:
    """The names and values that ENV or LABEL set.

    Raises:
        ImageError: If a value is missing.
    """
    first, _, rest = one.text.partition(" ")
    if "=" not in first:  # The old form, with one name.
        return {first: " ".join(expanded(rest, variables))}
    pairs = [word.partition("=") for word in expanded(one.text, variables)]
    if not all(name and equals for name, equals, _ in pairs):
        raise one.error(f"NAME=VALUE was expected, and {one.text!r} came")
    return {name: value for name, _, value in pairs}
