"""The policy of one executor: compiles the texts of programs and gives their modules the builtin names.

A server makes the policy before any program comes. The policy changes nothing in the server: `apply` puts one process,
a fork of the server, under it.
"""

from __future__ import annotations

import ast
import codecs
import collections
import contextlib
import importlib
import importlib.metadata
import io
import json
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from ..program import main_module
from ..wire.plain import Decoder
from . import refusals
from .builtin_names import builtin_names, limited_types
from .copying import Memo
from .guards import Guards
from .modules import Modules, why_never
from .transformer import ProgramTransformer
from .types_of_values import CONTAINERS

LEAST_VERSION = (8, 4)
"""The first version of RestrictedPython in which no way around its rules is known."""

_MOST_OUTPUT = 8000
"""The longest text of a program's variable that is reported in full, in characters."""

_MOST_JSON = 40_000
_PLAIN = frozenset((int, float, bool, str, type(None)))
_SHOWN_AS_THEY_ARE = _PLAIN | {bytes, bytearray, complex, range, type(...), type(NotImplemented)}
_BRACKETS: dict[Any, Any] = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})")}
_DEEPEST = 100

_PARSE_DEPTH = 5_000
_VISIT_DEPTH = 20_000
"""The recursion limit while a transformer visits a tree: a few frames for each level of the tree.

Python's parser bounds the depth of the tree.
"""

_COMPILE_DEPTH = 4000
"""The recursion limit while a tree is compiled, which takes some of the stack for each level."""


class UnfitPolicy(Exception):
    """The policy cannot be made; the message says why."""


class PolicyFault(Exception):
    """A user's own policy has failed while it processed a program's text; the program is not at fault."""


class Policy:
    """A policy, made from plain data.

    Args:
        config: The options of the executor by their names, and `additional_names`, encoded as plain data. For a user's
            own policy, `policy_name` is its class, `policy_origin` its file or module, and `policy_source` the text of
            its file; each of these is None where it does not apply.

    Raises:
        UnfitPolicy: If the policy cannot be made.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        check_version()
        for name in config["allowed_imports"]:
            why = why_never(name)
            if why is not None:
                raise UnfitPolicy(f"allowed_imports: {why}")
        self._output_variable = config["output_variable"] if config["return_output"] else None
        self._names: dict[str, Any] = {}
        limited = limited_types() if config["use_limited_builtins"] else {}
        known: set[type] = {
            refusals.PolicyViolation,
            refusals.ForbiddenAttribute,
            refusals.ForbiddenImport,
            refusals.ForbiddenWrite,
            refusals.ForbiddenValue,
        }
        writable: set[Any] = {*CONTAINERS, collections.Counter, collections.ChainMap, Memo}
        self._guards = Guards(
            self._names,
            allow_format=config["allow_str_format"],
            stand_ins=limited,
            known=known,
            writable=writable,
        )
        try:
            with _silence():
                self._modules = Modules(config["allowed_imports"], self._guards)
        except ImportError as error:
            raise UnfitPolicy(f"allowed_imports: {_why_not_there(error)}") from error
        except (Exception, SystemExit) as error:
            raise UnfitPolicy(f"allowed_imports: {type(error).__name__}: {error}") from error
        self._names.update(builtin_names(self._guards, self._modules.view, config, limited))
        known |= self._modules.names_given()
        for name, kinds in _WRITABLE.items():
            if name in config["allowed_imports"]:
                writable |= {getattr(importlib.import_module(name), kind) for kind in kinds}
        self._names.update(self._guards.table())
        self._names["__import__"] = self._import
        self._additional = Decoder().decode(config["additional_names"])
        with _silence():
            self._transformer = self._custom(config)
        self._own = None if config["policy_name"] is None else f"{config['policy_name']} of {config['policy_origin']}"
        self._looked_at: dict[str, Any] = {}
        if issubclass(self._transformer, ProgramTransformer):
            self._transformer = type(
                self._transformer.__name__,
                (self._transformer,),
                {
                    "allow_underscores": config["allow_underscore_variable_names"],
                    "available": frozenset(self._names) | frozenset(self._additional),
                    "why_not_import": staticmethod(self._modules.why_not),
                },
            )

    def apply(self) -> None:
        """Put all programs that this process runs from now on under the policy."""
        main_module.keep_to(self)

    def compile(self, text: str, filename: str) -> types.CodeType:
        """Compile a program.

        Raises:
            PolicyViolation: If its text breaks the policy.
            SyntaxError, ValueError, MemoryError, RecursionError, OverflowError: If it does not compile.
        """
        made = self._looked_at.pop(text, None) or self._visited(text, filename)
        tree, errors = made
        if errors:
            self._refuse(errors, text, filename)
        try:
            with _deeper(_COMPILE_DEPTH):
                return compile(tree, filename, "exec", dont_inherit=True)
        except RecursionError as error:
            raise RecursionError(_TOO_DEEP) from error

    def look_over(self, source: bytes, filename: str = "main.py") -> None:
        """Let a user's own policy process a program, before anything is reported about the program.

        Raises:
            PolicyFault: If the policy fails.
        """
        if self._own is None:
            return
        try:
            text = source.removeprefix(codecs.BOM_UTF8).decode()
            self._looked_at[text] = self._visited(text, filename)
        except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
            return  # The program's own error, which `compile` raises again.

    def rehearse(self) -> None:
        """Check that the policy can process a program.

        Raises:
            PolicyFault: If it cannot.
        """
        try:
            with _silence():
                self.compile("def f(x):\n    return x + 1\n\n\ny = f(2)\n", "main.py")
        except refusals.PolicyViolation:
            return
        except Exception as error:
            if isinstance(error, PolicyFault) or self._own is None:
                raise
            raise PolicyFault(f"policy: {self._own} makes no code: {type(error).__name__}: {error}") from error

    def _visited(self, text: str, filename: str) -> tuple[Any, list[str]]:
        """Return the tree that the transformer makes of a text, and the violations that it found."""
        try:
            with _deeper(_PARSE_DEPTH):
                tree = compile(text, filename, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
        except RecursionError:
            raise RecursionError(_TOO_DEEP) from None
        errors: list[str] = []
        try:
            with _deeper(_VISIT_DEPTH):
                transformer = self._transformer(errors, [], {})
                return ast.fix_missing_locations(transformer.visit(tree)), errors
        except RecursionError as error:
            raise RecursionError(f"{_line_of(error)}{_TOO_DEEP}") from None
        except (Exception, SystemExit) as error:
            if self._own is None:
                raise
            where = _line_of(error).rstrip(": ")
            told = f"policy: {self._own} raised {type(error).__name__}: {error}{where and f' at {where.lower()}'}"
            raise PolicyFault(told) from error

    @staticmethod
    def _refuse(errors: list[str], text: str, filename: str) -> None:
        told = list(dict.fromkeys(errors))
        more = len(told) - refusals.MOST_TOLD
        message = " ".join(told[: refusals.MOST_TOLD]) + (f" And {more} more." if more > 0 else "")
        error = refusals.PolicyViolation(message)
        found = re.match(r"Line (\d+): ", told[0])
        lines = text.splitlines()
        if found is not None and 0 < int(found[1]) <= len(lines):
            error.filename, error.lineno = filename, int(found[1])
            error.text = lines[int(found[1]) - 1]
        raise error

    def furnish(self, names: dict[str, Any]) -> None:
        """Give a program's module its builtin names and the additional names of the options."""
        names["__builtins__"] = self._names
        names.update(self._additional)

    def at_end(self, names: dict[str, Any]) -> dict[str, Any] | None:
        """Return the report on the names of a program that has ended; None if there is nothing to report."""
        if self._output_variable is None or self._output_variable not in names:
            return None
        return {"output": _shown(names[self._output_variable])}

    def hides(self, filename: str) -> bool:
        """Return whether tracebacks leave out the frames of a file, because they are not the program's."""
        return filename.startswith(_DIRECTORY) or "/RestrictedPython/" in filename

    def _import(self, name: str, globals_: Any = None, locals_: Any = None, wanted: Any = (), level: int = 0, /) -> Any:
        """Implement `__import__` for programs; only import statements and functions written in C call it."""
        if type(name) is str and not level:
            # Statements pass the names that they want as a tuple, or None.
            view = self._modules.imported(name, top=not wanted)
            if view is not None:
                return view
            if name == "__future__":
                return importlib.import_module(name)
            if type(wanted) is list and name.partition(".")[0] in sys.stdlib_module_names:
                importlib.import_module(name)  # A function written in C calls this, and does not use the return value.
                return None
        return self._guards.refuse(refusals.ForbiddenImport, f'the import of "{name}" is not allowed')

    def _custom(self, config: dict[str, Any]) -> Any:
        """Return the transformer class: the user's own class if the options name one."""
        if config["policy_name"] is None:
            return ProgramTransformer
        origin, name = config["policy_origin"], config["policy_name"]
        try:
            if config["policy_source"] is None:
                found = vars(importlib.import_module(origin))
            else:
                found = {"__name__": "policy", "__builtins__": __builtins__}
                exec(compile(config["policy_source"], origin, "exec", dont_inherit=True), found)
        except (Exception, SystemExit) as error:
            raise UnfitPolicy(f"policy: {origin} cannot be loaded: {type(error).__name__}: {error}") from error
        made = found.get(name)
        if name not in found:
            raise UnfitPolicy(f"policy: {origin} has no class {name!r}")
        if not isinstance(made, type) or not issubclass(made, RestrictingNodeTransformer):
            raise UnfitPolicy(
                f"policy: {name!r} of {origin} must be a class derived from RestrictedPython's "
                f"RestrictingNodeTransformer; it is {made!r:.100}"
            )
        for what in ("builtins", "guards"):
            added = getattr(made, what, {})
            if not isinstance(added, dict) or not all(isinstance(key, str) for key in added):
                raise UnfitPolicy(f"policy: {what} of {name!r} must be a dict of names; it is {added!r:.100}")
            if what == "guards" and not all(key.startswith("_") for key in added):
                raise UnfitPolicy(f"policy: guards of {name!r} must have names with an underscore in front: {[*added]}")
            self._names.update(added)
        if not issubclass(made, ProgramTransformer):
            why_not = staticmethod(self._modules.why_not)
            made = type(made.__name__, (_TellingOfImports, made), {"why_not_import": why_not})
        return made


class _TellingOfImports:
    """Makes a transformer that is not derived from `ProgramTransformer` report the imports that are refused."""

    why_not_import: Any

    def visit_Import(self, node: ast.Import) -> Any:  # noqa: N802
        for alias in node.names:
            self._check(node, alias.name, None)
        return super().visit_Import(node)  # type: ignore[misc]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:  # noqa: N802
        if node.module != "__future__" and not node.level:
            for alias in node.names:
                self._check(node, node.module or "", alias.name)
        return super().visit_ImportFrom(node)  # type: ignore[misc]

    def _check(self, node: ast.AST, module: str, name: str | None) -> None:
        why = None if name == "*" else type(self).why_not_import(module, name)
        if why is not None:
            self.error(node, f"{why}.")  # type: ignore[attr-defined]


_WRITABLE = {"array": ("array",), "decimal": ("Context",)}
"""Classes whose objects programs may change, by module, if the module is allowed."""

_DIRECTORY = __file__.rpartition("/")[0] + "/"


def check_version() -> None:
    """Check that RestrictedPython is new enough.

    Raises:
        UnfitPolicy: If it is too old.
    """
    try:
        version = importlib.metadata.version("RestrictedPython")
    except importlib.metadata.PackageNotFoundError:  # Its metadata is missing, but the import above succeeded.
        return
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < LEAST_VERSION:
        least = ".".join(map(str, LEAST_VERSION))
        raise UnfitPolicy(f"RestrictedPython {version} has known ways out; {least} or newer is needed")


_TOO_DEEP = "nested too deeply for the policy"


@contextlib.contextmanager
def _deeper(depth: int) -> Iterator[None]:
    """Raise the recursion limit to at least `depth` frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Drop what is printed meanwhile, because no program printed it."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _line_of(error: BaseException) -> str:
    """Return the line of the program that a transformer was processing, as the beginning of a message."""
    line, frame = 0, error.__traceback__
    while frame is not None:
        found = getattr(frame.tb_frame.f_locals.get("node"), "lineno", None)
        line, frame = found if type(found) is int else line, frame.tb_next
    return f"Line {line}: " if line else ""


def _why_not_there(error: ImportError) -> str:
    missing = error.name or ""
    if "." in missing and missing.rpartition(".")[0] in sys.modules:
        return f"{error}; there is no such module"
    return f"{error}; install it for the interpreter of programs"


def _shown(value: Any) -> dict[str, str]:
    """Return a value as JSON, if JSON can represent it, and as text; this calls no method of the program."""
    shown: dict[str, str] = {}
    if _is_plain(value, _DEEPEST):
        try:
            text = json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):  # `nan`, an infinity, or too large a number.
            text = ""
        if text and len(text) <= _MOST_JSON:
            shown["application/json"] = text
    try:
        told = _told(value, [])
    except (ValueError, RecursionError):  # Too large a number, or too deep: no text is better than a part of it.
        return shown
    if len(told) > _MOST_OUTPUT:
        told = f"{told[:_MOST_OUTPUT]}... ({len(told) - _MOST_OUTPUT} characters left out)"
    shown["text/plain"] = told
    return shown


def _told(value: Any, around: list[int]) -> str:
    """Return the `repr` of a value of exact builtin types; of any other value, text that names its type."""
    kind = type(value)
    if kind in _SHOWN_AS_THEY_ARE:
        return repr(value)
    if kind is not dict and kind not in _BRACKETS:
        name = type.__getattribute__(kind, "__name__")
        if issubclass(kind, type):
            return f"<class '{type.__getattribute__(value, '__name__')}'>"
        return f"<{name} object>"
    first, last = "{}" if kind is dict else _BRACKETS[kind]
    if id(value) in around:
        return f"{first}...{last}"
    if len(around) == _DEEPEST:
        raise ValueError("too deep")
    inside = [*around, id(value)]
    if kind is dict:
        return f"{{{', '.join([f'{_told(key, inside)}: {_told(item, inside)}' for key, item in value.items()])}}}"
    if not value and kind in (set, frozenset):
        return f"{kind.__name__}()"
    items = ", ".join([_told(item, inside) for item in value])
    return f"{first}{items}{',' if kind is tuple and len(value) == 1 else ''}{last}"


def _is_plain(value: Any, depth: int) -> bool:
    """Return whether a value can be encoded as JSON without a call of a method of the program."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if depth == 0:
        return False
    if kind is list or kind is tuple:
        return all(_is_plain(item, depth - 1) for item in value)
    return kind is dict and all(type(key) is str and _is_plain(item, depth - 1) for key, item in value.items())
