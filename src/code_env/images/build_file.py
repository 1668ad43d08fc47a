"""Reads build files: the instructions from which an image is made.

The format: https://docs.docker.com/reference/dockerfile/. An instruction that is not supported is an error.
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
_HERE_DOCUMENT = re.compile(r"\d*<<(-?)([\"']?)(\w+)\2")
_HERE_DOCUMENTS = re.compile(rf"(?<!\S){_HERE_DOCUMENT.pattern}|\\.|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL)
"""A word that begins a here-document. It matches quoted text too, so that no such word is found inside quotes."""

_NAME = re.compile(r"\w+")
_BRACE = re.compile(r"\$\{|[{}]")
_IN_BRACES = re.compile(r"(\w+)(?:(:?[-+?])(.*))?", re.DOTALL)


def is_build_file(path: Path) -> bool:
    """Return whether a path is a build file, by its name: `Dockerfile`, `NAME.Dockerfile` or `Dockerfile.NAME`."""
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
        """The words of the text if it is a JSON array of them; else None."""
        try:
            found = json.loads(self.text)
        except ValueError:
            return None
        return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None

    def error(self, what: str) -> ImageError:
        """Return an error that says where the instruction is."""
        return ImageError(f"{self.where}: {self.name}: {what}")

    def words(self, variables: Mapping[str, str], text: str | None = None) -> list[str]:
        """Return the words of its text, or of a part of it; see `expanded`.

        Raises:
            ImageError: If a variable cannot be replaced.
        """
        try:
            return expanded(self.text if text is None else text, variables)
        except ValueError as error:
            raise self.error(str(error)) from None


def read_build_file(path: Path) -> list[Instruction]:
    """Read the instructions of a build file.

    Raises:
        ImageError: If it cannot be read, or has an instruction or a flag that is not supported.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
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
            if escape not in ("\\", "`"):
                raise ImageError(f"{path}:{number}: escape must be \\ or `; got {escape}")
        may_direct = directive is not None
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text = line.strip()
        while text.endswith(escape) and not text.endswith(2 * escape):
            # Empty lines and comments between its lines are left out.
            more = next((line for _, line in numbered if line.strip() and not line.lstrip().startswith("#")), "")
            text = text.removesuffix(escape) + more.rstrip()
        name, *rest = text.split(None, 1)
        yield _instruction(name.upper(), "".join(rest).strip(), f"{path}:{number}", numbered)


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
    for dash, _, end in _HERE_DOCUMENTS.findall(text):
        if not end:
            continue
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
    """Return the script that the shell runs for a RUN in shell form.

    Raises:
        ImageError: If the script names another program to run it.
    """
    if not one.documents or not re.fullmatch(_HERE_DOCUMENT, one.text):
        return "\n".join([one.text, *one.documents])
    if one.documents[0].startswith("#!"):
        raise one.error("a here-document that begins with #! is not supported; write it as in RUN python3 <<EOF")
    return one.documents[0].rpartition("\n")[0]  # The document itself is the script.


def expanded(text: str, variables: Mapping[str, str]) -> list[str]:
    """Split a text into words, with quotes removed and variables replaced. Variables that are not set are empty.

    `${NAME:-WORD}`, `${NAME:+WORD}` and `${NAME:?WORD}` are supported, also without the colon. In single quotes nothing
    is replaced.

    Raises:
        ValueError: If a variable has another form, or `?` requires it and it is not set.
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
        elif char == "$" and quote != "'" and text.startswith("{", at):
            end = _closing(text, at)
            word, begun, at = word + _value(text[at + 1 : end], variables), True, end + 1
        elif char == "$" and quote != "'" and (match := _NAME.match(text, at)):
            word, begun, at = word + variables.get(match[0], ""), True, match.end()
        elif char.isspace() and not quote:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + char, True
    return [*words, word] if begun else words


def _closing(text: str, begin: int) -> int:
    """Return the position of the brace that closes the one at `begin`."""
    deep = 0
    for found in _BRACE.finditer(text, begin):
        deep += -1 if found[0] == "}" else 1
        if not deep:
            return found.start()
    raise ValueError(f"{text[begin - 1 :]!r:.100} has no closing brace")


def _value(inside: str, variables: Mapping[str, str]) -> str:
    match = _IN_BRACES.fullmatch(inside)
    if match is None:
        raise ValueError(f"${{{inside}}} is not supported; what is: ${{A}}, ${{A:-x}}, ${{A:+x}}, and ${{A:?x}}")
    name, how, word = match.groups()
    value = variables.get(name)
    if how is None:
        return value or ""
    is_set = value is not None and (value != "" or not how.startswith(":"))
    if how.endswith("+") != is_set:
        return (value or "") if is_set else ""
    other = " ".join(expanded(word, variables))
    if how.endswith("?"):
        raise ValueError(f"{name} is not set: {other}")
    return other


def assignments(one: Instruction, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the names and values that ENV or LABEL set.

    Raises:
        ImageError: If a value is missing.
    """
    first, *rest = one.text.split(None, 1) or [""]
    if "=" not in first and rest:  # The old form, with one name.
        return {first: " ".join(one.words(variables, rest[0]))}
    pairs = [word.partition("=") for word in one.words(variables)]
    if not pairs or not all(name and equals for name, equals, _ in pairs):
        raise one.error(f"NAME=VALUE was expected, and {one.text!r} came")
    return {name: value for name, _, value in pairs}
