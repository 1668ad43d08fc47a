"""The policy of one executor: compiles programs' texts and furnishes their modules.

It is made in a server before any program comes, and changes nothing there: `apply` has one process, a fork, keep to it.
"""

from __future__ import annotations

import ast
import collections
import importlib
import importlib.metadata
import json
import re
import sys
import types
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from .. import main_module
from ..plain import Decoder
from . import refusals
from .builtin_names import builtin_names, limited_types
from .guards import CONTAINERS, Guards
from .modules import Modules, why_never
from .transformer import ProgramTransformer

LEAST_VERSION = (8, 4)
"""The first version of RestrictedPython without a known way out."""

_MOST_OUTPUT = 8000
"""How much of the value of a program's variable is told, in characters."""

_MOST_JSON = 40_000
_PLAIN = frozenset((int, float, bool, str, type(None)))
_DEEPEST = 100


class UnfitPolicy(Exception):
    """The policy cannot be made; the text says why."""


class Policy:
    """A policy, made from plain data.

    Args:
        config: The options of the executor by their names, `additional_names` encoded as plain data, and of a policy of
            one's own `source`, its text, or `module`, and `name`, its class.

    Raises:
        UnfitPolicy: If it cannot be made.
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
        writable: set[Any] = {*CONTAINERS, collections.Counter, collections.ChainMap}
        self._guards = Guards(
            self._names,
            allow_format=config["allow_str_format"],
            stand_ins=limited,
            known=known,
            writable=writable,
        )
        try:
            self._modules = Modules(config["allowed_imports"], self._guards)
        except ImportError as error:
            raise UnfitPolicy(f"allowed_imports: {error}; install it for the interpreter of programs") from error
        self._names.update(builtin_names(self._guards, self._modules.view, config, limited))
        known |= self._modules.names_given()
        for name, kinds in _WRITABLE.items():
            if name in config["allowed_imports"]:
                writable |= {getattr(importlib.import_module(name), kind) for kind in kinds}
        self._names.update(self._guards.table())
        self._names["__import__"] = self._import
        self._additional = Decoder().decode(config["additional_names"])
        self._transformer = self._custom(config)
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
        """Have this process keep to it from here on."""
        main_module.keep_to(self)

    def compile(self, text: str, filename: str) -> types.CodeType:
        """Compile a program.

        Raises:
            PolicyViolation: If its text breaks the policy.
            SyntaxError, ValueError, MemoryError, RecursionError, OverflowError: If it does not compile.
        """
        tree = compile(text, filename, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
        errors: list[str] = []
        transformer = self._transformer(errors, [], {})
        restricted: Any = transformer.visit(tree)
        if errors:
            self._refuse(errors, text, filename)
        return compile(ast.fix_missing_locations(restricted), filename, "exec", dont_inherit=True)

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
        """Give a program's module its names."""
        names["__builtins__"] = self._names
        names.update(self._additional)

    def at_end(self, names: dict[str, Any]) -> dict[str, Any] | None:
        """What to report of the names of a program that has ended; None if nothing."""
        if self._output_variable is None or self._output_variable not in names:
            return None
        return {"output": _shown(names[self._output_variable])}

    def hides(self, filename: str) -> bool:
        """Whether frames of a file are none of the program's."""
        return filename.startswith(_DIRECTORY) or "/RestrictedPython/" in filename

    def _import(self, name: str, globals_: Any = None, locals_: Any = None, wanted: Any = (), level: int = 0, /) -> Any:
        """`__import__` of programs, which only import statements call, and functions in C."""
        if type(name) is str and not level:
            # Statements have a tuple, or None, of names that they want.
            view = self._modules.imported(name, top=not wanted)
            if view is not None:
                return view
            if name == "__future__":
                return importlib.import_module(name)
            if type(wanted) is list and name.partition(".")[0] in sys.stdlib_module_names:
                importlib.import_module(name)  # For a function in C, which takes nothing from what this gives.
                return None
        return self._guards.refuse(refusals.ForbiddenImport, f'the import of "{name}" is not allowed')

    def _custom(self, config: dict[str, Any]) -> Any:
        """The class of the policy: of one's own, if there is one."""
        if config["policy_name"] is None:
            return ProgramTransformer
        origin, name = config["policy_origin"], config["policy_name"]
        try:
            if config["policy_source"] is None:
                found = vars(importlib.import_module(origin))
            else:
                found = {"__name__": "policy", "__builtins__": __builtins__}
                exec(compile(config["policy_source"], origin, "exec", dont_inherit=True), found)
        except Exception as error:
            raise UnfitPolicy(f"policy: {origin} cannot be loaded: {type(error).__name__}: {error}") from error
        made = found.get(name)
        if not isinstance(made, type) or not issubclass(made, RestrictingNodeTransformer):
            raise UnfitPolicy(
                f"policy: {name!r} of {origin} must be a class derived from RestrictedPython's "
                f"RestrictingNodeTransformer; it is {made!r:.100}"
            )
        for what in ("builtins", "guards"):
            added = getattr(made, what, {})
            if not isinstance(added, dict) or not all(isinstance(key, str) for key in added):
                raise UnfitPolicy(f"policy: {what} of {name!r} must be a dict of names; it is {added!r:.100}")
            self._names.update(added)
        return made


_WRITABLE = {"array": ("array",), "decimal": ("Context",)}
"""Classes of modules whose objects programs may change."""

_DIRECTORY = __file__.rpartition("/")[0] + "/"


def check_version() -> None:
    """See that RestrictedPython is new enough.

    Raises:
        UnfitPolicy: If it is not.
    """
    try:
        version = importlib.metadata.version("RestrictedPython")
    except importlib.metadata.PackageNotFoundError:  # It has just been imported.
        return
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < LEAST_VERSION:
        least = ".".join(map(str, LEAST_VERSION))
        raise UnfitPolicy(f"RestrictedPython {version} has known ways out; {least} or newer is needed")


def _shown(value: Any) -> dict[str, str]:
    shown: dict[str, str] = {}
    if _is_plain(value, _DEEPEST):
        try:
            text = json.dumps(value)
        except (ValueError, RecursionError):  # Something that holds itself.
            text = ""
        if text and len(text) <= _MOST_JSON:
            shown["application/json"] = text
    try:
        told = repr(value)
    except BaseException as error:  # The program's own.
        told = f"<its text cannot be had: {type(error).__name__}>"
    shown["text/plain"] = str.__str__(told)[:_MOST_OUTPUT]
    return shown


def _is_plain(value: Any, depth: int) -> bool:
    """Whether JSON can be made of a value without calling a method of the program's."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if depth == 0:
        return False
    if kind is list or kind is tuple:
        return all(_is_plain(item, depth - 1) for item in value)
    return kind is dict and all(type(key) is str and _is_plain(item, depth - 1) for key, item in value.items())
