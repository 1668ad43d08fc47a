"""The languages that programs are written in: one table that holds everything that depends on the language.

To add a language, add one entry. Its programs are run by its interpreter. The interpreter replaces, by exec, the
process that would run a Python program, when all limits and layers of isolation are in place. With a driver, the
language supports `call` and `assert` tests too: a driver is a program of this package that the interpreter runs first,
and that loads the answer. Without a driver, it supports only the kinds of tests that look at output.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Language:
    """A language and how its programs are run.

    Example:
        >>> find_language("js").name
        'javascript'
    """

    name: str
    """Its name in a task."""
    file: str
    """Name of the file that holds the program."""
    aliases: tuple[str, ...] = ()
    """Other names, in a task and after the back ticks of a fence."""
    interpreter: str = ""
    """The command that runs its programs, searched on PATH; empty for Python, whose interpreter the executor knows."""
    options: tuple[str, ...] = ()
    """Arguments of the interpreter before the program; `{memory_mib}` stands for the program's memory limit, in MiB."""
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Environment variables of its programs, in addition to PATH, LANG, HOME and TMPDIR."""
    locate: tuple[str, ...] = ()
    """Arguments with which the interpreter prints its own path: the command on PATH may be a script that starts it."""
    install: str = ""
    """How to install the interpreter."""
    driver: str = ""
    """Directory in `code_env.harness` with the driver, such as `driver.js`; empty if the language has no driver."""
    out_of_memory: str = ""
    """What the interpreter writes to standard error when it exits because it has no memory left."""
    has_one_number: bool = False
    """Whether the language does not distinguish 3 from 3.0, nor a list from a tuple."""
    trivial_functions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Functions `{name}` that solve nothing, by a description of what they do; `validate` tries them."""
    trivial_programs: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Programs that solve nothing, in the same form."""

    @property
    def takes_calls(self) -> bool:
        """Whether tests can call functions of a program."""
        return bool(self.driver) or not self.interpreter


PYTHON = Language("python", "main.py", aliases=("py", "python3", "ipython"))

LANGUAGES = (
    PYTHON,
    Language(
        "javascript",
        "main.js",
        aliases=("js", "node", "nodejs", "mjs", "cjs"),
        interpreter="node",
        # The heap may be as large as the memory limit. V8 uses more memory than its heap, so a program that fills the
        # heap reaches the limit before V8 gives up. Buffers are zeroed, because freed memory may hold a test's text.
        options=("--max-old-space-size={memory_mib}", "--zero-fill-buffers"),
        # The jail refuses io_uring, and OpenSSL does not start if it cannot read its configuration file.
        environment={"UV_USE_IO_URING": "0", "OPENSSL_CONF": "/dev/null"},
        locate=("-p", "process.execPath"),
        install="install Node.js 18 or newer (Debian and Ubuntu: apt-get install nodejs)",
        driver="javascript",
        out_of_memory="JavaScript heap out of memory",
        has_one_number=True,
        trivial_functions={
            "returns undefined": "function {name}() {{}}",
            "returns its first argument": "function {name}(first) {{ return first; }}",
            "returns 0": "function {name}() {{ return 0; }}",
            "returns ''": "function {name}() {{ return ''; }}",
            "returns []": "function {name}() {{ return []; }}",
            "returns true": "function {name}() {{ return true; }}",
            "returns false": "function {name}() {{ return false; }}",
            "raises": "function {name}() {{ throw new Error(); }}",
            "exits at once": "function {name}() {{ process.exit(0); }}",
        },
        trivial_programs={
            "does nothing": ";",
            "echoes its input": "process.stdin.pipe(process.stdout);",
            "prints 0": "console.log(0);",
            "prints Yes": "console.log('Yes');",
            "raises": "throw new Error();",
            "exits at once": "process.exit(0);",
        },
    ),
    Language(
        "bash",
        "main.sh",
        aliases=("sh", "shell"),
        interpreter="bash",
        locate=("-c", 'echo "$BASH"'),
        install="install bash (Debian and Ubuntu: apt-get install bash)",
        trivial_programs={
            "does nothing": ":",
            "echoes its input": "cat",
            "prints 0": "echo 0",
            "exits at once": "exit",
        },
    ),
)
"""All languages; Python first."""


@functools.cache
def _by_name() -> dict[str, Language]:
    return {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}


def find_language(name: str) -> Language | None:
    """The language with this name or alias; None if there is none."""
    return _by_name().get(name)


def canonical_name(name: str) -> str:
    """The name of a language, from its name or alias. An unknown name is returned unchanged; an executor refuses it.

    Example:
        >>> canonical_name("js"), canonical_name("befunge")
        ('javascript', 'befunge')
    """
    language = find_language(name)
    return name if language is None else language.name


def fence_tags(name: str) -> frozenset[str]:
    """The tags that may stand after the back ticks of a fence with code in this language."""
    language = find_language(name)
    return frozenset({name} if language is None else {language.name, *language.aliases})
