"""Finds out whether the functions of an answer keep anything from one call to the next.

Calls that keep nothing can share a process: each call returns what it would return in a process of its own. This can be
determined for many answers, because most functions use little of Python. Anything that is not known to be harmless
counts as kept:

* The bytecode of all functions is checked: no function may set an attribute or a global name, and each name that is
  used as a global or an attribute must be listed here, or be a name of the answer's own.
* The global names that functions use are checked after the top level has run. Their values may be functions and classes
  of the answer, parts of the listed modules, and plain data. The content of plain data that can change, also in default
  values, is recorded. If it differs after a call, something was kept.

An answer that has tampered with its process can look like an answer that keeps nothing. It gains nothing: any answer
can let its calls communicate, through memory that its processes share.
"""

from __future__ import annotations

import builtins
import marshal
import opcode
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

# Bound here because the program shares this process and can replace them.
_dumps, _vars, _type, _isinstance, _set, _modules = marshal.dumps, vars, type, isinstance, set, sys.modules

_SETTERS = frozenset(opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL"))
_STORE_NAME, _EXTENDED = opcode.opmap["STORE_NAME"], opcode.opmap["EXTENDED_ARG"]

_ASYNCHRONOUS = 0x80 | 0x200
"""Flags of code that creates a coroutine or an asynchronous generator, which an event loop runs."""

_OF_FUNCTION = 0x1
"""The flag of code with optimized local variables (CO_OPTIMIZED), which functions have and class bodies do not."""

_MODULES = frozenset(("bisect", "collections", "functools", "heapq", "itertools", "math", "operator", "re", "string"))
"""Modules that keep nothing that a program could see, if it uses only the names below."""

_FROM_MODULES = frozenset(
    """
    bisect bisect_left bisect_right insort insort_left insort_right
    Counter OrderedDict defaultdict deque appendleft elements extendleft maxlen most_common move_to_end popleft rotate
    subtract total
    cache cmp_to_key lru_cache partial reduce
    heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest
    accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse
    from_iterable groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest
    acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs
    factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10
    log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc ulp
    add and_ eq floordiv ge gt inv invert itemgetter le lshift lt mod mul ne neg not_ or_ pos rshift sub truediv xor
    IGNORECASE DOTALL MULTILINE compile end escape finditer findall fullmatch group groupdict groups match search span
    start sub subn
    ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation whitespace
    args close send throw
    """.split()  # noqa: SIM905 (as a list these would be two hundred lines)
)

_REACHING = frozenset(
    "breakpoint copyright credits delattr dir eval exec exit getattr globals help id input license locals open quit "  # noqa: SIM905
    "setattr vars".split()
)
"""Builtins that give access to objects whose names are not checked here, or to something outside the process."""

_NAMES = (
    frozenset(name for name in dir(builtins) if name[0] != "_" and name not in _REACHING)
    | frozenset(
        name
        for kind in (list, dict, set, frozenset, str, bytes, bytearray, tuple, int, float, complex, range)
        for name in dir(kind)
        if name[0] != "_"
    )
    | _MODULES
    | _FROM_MODULES
)

_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), range))
_CHANGEABLE = frozenset((list, dict, set, tuple, frozenset, bytearray))
_OF_CLASSES = frozenset(
    ("__module__", "__doc__", "__dict__", "__weakref__", "__static_attributes__", "__firstlineno__")
)
_OF_BODIES = _OF_CLASSES | {"__name__", "__qualname__"}

_MOST_BYTES = 4096
"""The most data that is compared before each call, in bytes: larger data would take too much time."""

_NO_REFERENCES = 2
"""The version of the `marshal` format whose bytes do not depend on other references to an object."""


class Kept(Exception):
    """Something can be kept from call to call."""


class Memory:
    """The data in which the functions of an answer could keep something.

    Args:
        code: The compiled answer.
        names: The names of the answer's module, after the top level has run.
        target: The name of the function to call, or the names of a class and a method with a dot between.

    Raises:
        Kept: If the functions could keep something that cannot be checked.
    """

    def __init__(self, code: CodeType, names: dict[str, Any], target: str) -> None:
        self._names = names
        self._codes = {inner for constant in code.co_consts for inner in _codes_in(constant)}
        self._data: list[Any] = []
        self._caches: list[Any] = []
        own = {name for inner in self._codes for name in _stored_names(inner)}
        used = {name for name in target.split(".") if name in names}
        for inner in self._codes:
            if inner.co_flags & _ASYNCHRONOUS or not _SETTERS.isdisjoint(inner.co_code[::2]):
                raise Kept
            used.update(inner.co_names if inner.co_flags & _OF_FUNCTION else _set(inner.co_names) - _OF_BODIES - own)
        for name in used:
            if name[:2] != "__" and name in names:
                self._look_at(names[name])
            elif name not in _NAMES and (name not in own or name[:2] == "__"):
                raise Kept
        for name in names.keys() - used:
            if self._is_own(names[name]):
                self._look_at(names[name])
        self._picture = self._taken()

    def forget(self) -> bool:
        """Empty the answer's caches, and return whether nothing else was kept since the top level has run."""
        for cached in self._caches:
            cached.cache_clear()
        try:
            return not self._data or self._taken() == self._picture
        except Kept:
            return False

    def _taken(self) -> bytes:
        try:
            picture = _dumps(self._data, _NO_REFERENCES) if self._data else b""
        except ValueError:
            raise Kept from None
        if len(picture) > _MOST_BYTES:
            raise Kept
        return picture

    def _look_at(self, value: Any) -> None:
        kind = _type(value)
        if kind in _PLAIN:
            return
        if kind in _CHANGEABLE:
            self._data.append(value)
        elif self._is_own(value):
            if kind is type:
                self._look_at_class(value)
            else:
                self._look_at_function(value)
        elif kind is ModuleType:
            if value.__name__ not in _MODULES:
                raise Kept
        elif kind.__name__ == "_lru_cache_wrapper" and value.cache_info().currsize == 0:
            self._look_at(value.__wrapped__)
            self._caches.append(value)
        elif not _is_listed(value) and not (kind.__module__ == "re" and kind.__name__ == "Pattern"):
            raise Kept

    def _is_own(self, value: Any) -> bool:
        """Return whether a value is a function or a class from the answer's code."""
        if _type(value) is FunctionType:
            return value.__code__ in self._codes
        return _type(value) is type and value.__module__ == self._names["__name__"]

    def _look_at_function(self, function: Any) -> None:
        # The cells of a closure belong to the function that created it.
        if function.__closure__ is not None or function.__dict__:
            raise Kept
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._look_at(value)

    def _look_at_class(self, kind: type) -> None:
        for base in kind.__bases__:
            if base.__module__ != "builtins":
                self._look_at(base)
        for name, value in _vars(kind).items():
            if name not in _OF_CLASSES:
                self._look_at(value.__func__ if _type(value) in (staticmethod, classmethod) else value)


def _is_listed(value: Any) -> bool:
    if not _isinstance(value, (BuiltinFunctionType, FunctionType, type)):
        return False
    # Functions and classes written in C can name a module that starts with an underscore.
    module, name = str(value.__module__).lstrip("_"), value.__name__
    return module in _MODULES and name in _NAMES and getattr(_modules.get(module), name, None) is value


def _stored_names(code: CodeType) -> Iterator[str]:
    """Yield the names that a class body binds."""
    if code.co_flags & _OF_FUNCTION:
        return
    extended = 0
    for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        if operation == _STORE_NAME:
            yield code.co_names[extended | argument]
        extended = (extended | argument) << 8 if operation == _EXTENDED else 0


def _codes_in(constant: Any) -> Iterator[CodeType]:
    if _type(constant) is CodeType:
        yield constant
        for inner in constant.co_consts:
            yield from _codes_in(inner)
