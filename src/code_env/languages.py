"""The languages that programs are written in: one table, from which all that depends on a language is read.

A further language is one entry. Its programs are run by its interpreter, which takes the place of the process that a
Python program would be, with all limits and layers of isolation entered. With a driver, a program of ours that the
interpreter runs first and that loads the answer, it has `call` and `assert` tests too; without one it has the kinds
of test that need an output only.
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
    """The command that runs it, looked for on PATH; empty for Python, whose interpreter an executor has."""
    options: tuple[str, ...] = ()
    """What the interpreter is given before the program; `{memory_mib}` is the program's memory, in MiB."""
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Variables that its programs find, beside PATH, LANG, HOME and TMPDIR."""
    locate: tuple[str, ...] = ()
    """Arguments with which the interpreter prints its own path: what is on PATH may be a script that starts it."""
    install: str = ""
    """How one gets the interpreter."""
    driver: str = ""
    """Directory of the driver, `driver.js` or the like, in `code_env.harness`; empty if there is none."""
    out_of_memory: str = ""
    """What the interpreter writes to standard error when it ends itself for want of memory."""
    has_one_number: bool = False
    """Whether 3 and 3.0 are the same value, and a list and a tuple."""
    trivial_functions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Functions `{name}` that solve nothing, by what they do; `validate` tries them."""
    trivial_programs: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Programs that solve nothing, likewise."""

    @property
    def takes_calls(self) -> bool:
        """Whether functions of a program can be called by tests."""
        return bool(self.driver) or not self.interpreter


PYTHON = Language("python", "main.py", aliases=("py", "python3"))

LANGUAGES = (
    PYTHON,
    Language(
        "javascript",
        "main.js",
        aliases=("js", "node", "nodejs", "mjs", "cjs"),
        interpreter="node",
        # With what there is beside the heap, whoever fills it passes the limit before V8 gives up. Buffers are zeroed:
        # what was freed may be a test's text.
        options=("--max-old-space-size={memory_mib}", "--zero-fill-buffers"),
        # io_uring is refused, and OpenSSL does not start where it may not read its settings.
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
    """The language of that name or alias; None if there is none."""
    return _by_name().get(name)


def canonical_name(name: str) -> str:
    """The name of a language by its name or alias; what is unknown stays as it is, for an executor to refuse.

    Example:
        >>> canonical_name("js"), canonical_name("befunge")
        ('javascript', 'befunge')
    """
    language = find_language(name)
    return name if language is None else language.name


def fence_tags(name: str) -> frozenset[str]:
    """What may stand after the back ticks of a fence with code in this language."""
    language = find_language(name)
    return frozenset({name} if language is None else {language.name, *language.aliases})
