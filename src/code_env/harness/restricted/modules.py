"""The views of modules that programs get.

A view is an object with the names of a module that do no harm. Nothing leads from a view to the module itself.
"""

from __future__ import annotations

import abc
import importlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import copying, replacements
from .guards import Guards
from .refusals import ForbiddenAttribute

_PUBLIC: dict[str, str] = {
    "math": "*",
    "cmath": "*",
    "itertools": "*",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "ChainMap Counter OrderedDict defaultdict deque",
    "collections.abc": "*",
    "functools": "cached_property cmp_to_key partial reduce",
    "string": "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits"
    " printable punctuation whitespace",
    "re": "A ASCII DOTALL I IGNORECASE M MULTILINE S U UNICODE VERBOSE X Match Pattern compile error escape findall"
    " finditer fullmatch match search split sub subn",
    "random": "Random betavariate choice choices expovariate gammavariate gauss getrandbits"
    " lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed shuffle triangular"
    " uniform vonmisesvariate weibullvariate",
    "statistics": "*",
    "decimal": "*",
    "fractions": "Fraction",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "time": "ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time"
    " process_time_ns sleep strftime strptime time time_ns",
    "typing": "AbstractSet Annotated Any AnyStr ByteString Callable ChainMap ClassVar Collection Container Counter"
    " DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable ItemsView Iterable Iterator KeysView List"
    " Literal Mapping MappingView MutableMapping MutableSequence MutableSet NamedTuple Never NewType NoReturn Optional"
    " OrderedDict ParamSpec Protocol Reversible Self Sequence Set Sized SupportsAbs SupportsFloat SupportsInt"
    " SupportsRound TYPE_CHECKING Text Tuple Type TypeAlias TypeVar Union ValuesView cast",
    "operator": "abs add and_ concat contains countOf eq floordiv ge getitem gt iadd iand iconcat ifloordiv ilshift"
    " imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le length_hint"
    " lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor",
    "hashlib": "blake2b blake2s md5 new sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512",
    "textwrap": "dedent fill indent shorten wrap",
    "numbers": "Complex Integral Number Rational Real",
    "array": "array typecodes",
    "base64": "a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode"
    " decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode",
    "binascii": "*",
    "zlib": "*",
    "unicodedata": "*",
    "calendar": "FRIDAY MONDAY SATURDAY SUNDAY THURSDAY TUESDAY WEDNESDAY isleap leapdays month monthcalendar"
    " monthrange timegm weekday calendar",
    "queue": "Empty Full LifoQueue PriorityQueue Queue SimpleQueue",
    "io": "BytesIO StringIO",
    "contextlib": "contextmanager closing nullcontext suppress",
    "abc": "ABC",
    "copy": "",
    "dataclasses": "",
    "enum": "",
    "json": "",
    "sys": "maxsize maxunicode byteorder version_info setrecursionlimit getrecursionlimit float_info int_info",
    "keyword": "iskeyword issoftkeyword kwlist softkwlist",
    "struct": "calcsize error iter_unpack pack unpack unpack_from",
    "secrets": "choice randbelow randbits token_bytes token_hex token_urlsafe compare_digest",
    "difflib": "get_close_matches ndiff unified_diff context_diff SequenceMatcher",
    "graphlib": "TopologicalSorter CycleError",
    "timeit": "default_timer",
}
"""The names that programs get of each module, reviewed one by one; `*` means all public names, which do no harm."""

_LEADS_OUT = {
    "files, processes and the system": (
        *("os", "posix", "posixpath", "ntpath", "subprocess", "shutil", "pathlib", "tempfile", "glob", "fileinput"),
        *("multiprocessing", "concurrent", "asyncio", "signal", "socket", "select", "selectors", "resource", "pty"),
        *("fcntl", "mmap", "platform", "sqlite3", "dbm", "webbrowser", "socketserver", "http", "urllib", "ftplib"),
        *("smtplib", "imaplib", "poplib", "ssl", "zipfile", "tarfile", "gzip", "bz2", "lzma", "netrc", "getpass"),
        *("pipes", "configparser", "mailbox", "mailcap", "mimetypes", "wave", "aifc", "sunau", "filecmp", "xml"),
        *("telnetlib", "nntplib", "smtpd", "asyncore", "asynchat", "wsgiref", "cgi", "cgitb", "syslog", "termios"),
        *("tty", "curses", "readline", "pwd", "grp", "spwd", "nis", "antigravity", "turtle", "turtledemo"),
        *("compression", "requests", "httpx", "urllib3", "aiohttp", "psutil", "pyarrow", "fsspec"),
    ),
    "memory": ("ctypes", "_ctypes", "cffi", "gc", "_testcapi", "weakref", "_weakref", "faulthandler"),
    "modules": (
        *("importlib", "imp", "pkgutil", "zipimport", "runpy", "site", "sysconfig", "zipapp", "modulefinder"),
        *("venv", "ensurepip", "pip", "setuptools", "distutils", "pkg_resources", "_distutils_hack"),
    ),
    "code and frames": (
        *("builtins", "code", "codeop", "ast", "symtable", "dis", "opcode", "inspect", "types", "traceback", "trace"),
        *("tracemalloc", "bdb", "pdb", "cProfile", "profile", "pstats", "doctest", "unittest", "test", "threading"),
        *("_thread", "sched", "pydoc", "rlcompleter", "gettext", "logging", "cmd", "argparse", "optparse", "codecs"),
        *("linecache", "tokenize", "token", "atexit", "warnings", "reprlib", "pprint", "locale", "idlelib", "tkinter"),
        *(
            "typing_extensions",
            "annotationlib",
            "py_compile",
            "compileall",
            "pyclbr",
            "tabnanny",
            "lib2to3",
            "encodings",
        ),
        *("attr", "attrs", "concurrent", "interpreters", "jinja2", "sympy"),
        *("_frozen_importlib", "_frozen_importlib_external", "_imp", "_io", "_collections_abc", "__main__", "marshal"),
    ),
    "any object at all, by texts that name it": (
        *("pickle", "_pickle", "shelve", "copyreg", "pickletools", "xmlrpc"),
        *("yaml", "ruamel", "dill", "cloudpickle", "joblib", "jsonpickle"),
    ),
    "this sandbox's own workings": ("code_env", "code_env_harness", "RestrictedPython"),
}
"""Modules that no program gets, grouped by what they lead to."""

_ARRAYS = frozenset(
    (
        *("numpy", "pandas", "scipy", "sklearn", "torch", "tensorflow", "jax", "cupy", "numba", "polars", "matplotlib"),
        *("seaborn", "statsmodels", "xarray", "h5py"),
    )
)
"""Packages that reach files and memory by many names, and whose own code imports with the program's `__import__`."""

_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None)))


def why_never(name: str) -> str | None:
    """Return why a module may not be among the allowed modules; None if it may."""
    top = name.partition(".")[0]
    if top in _ARRAYS:
        return (
            f"{name!r} cannot be used under the policy: it reaches files and memory by many names, and its arrays work "
            'with all of Python only; use executor="local" for it'
        )
    for reason, names in _LEADS_OUT.items():
        if top in names:
            return f"{name!r} leads to {reason}, which would make the policy void"
    if any(part.startswith("_") for part in name.split(".")):
        return f"{name!r} is private"
    return None


class ModuleView:
    """The object that a program has in place of a module."""

    __slots__ = ("__dict__", "_refuse")

    def __init__(self, names: dict[str, Any], refuse: Callable[[str], Any]) -> None:
        self._refuse = refuse
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return self._refuse(name)

    def __repr__(self) -> str:
        return "<an allowed module>"

    def __copy__(self) -> ModuleView:
        return self

    def __deepcopy__(self, memo: object) -> ModuleView:
        return self


class _SystemView(ModuleView):
    __slots__ = ()

    @property
    def argv(self) -> list[str]:
        """The program's arguments, which are set for each run."""
        return sys.argv


class Modules:
    """The modules that programs are given.

    Args:
        allowed: The names of the modules that programs may import.
        guards: The policy's guards.

    Raises:
        ImportError: If an allowed module cannot be imported.
    """

    def __init__(self, allowed: Iterable[str], guards: Guards) -> None:
        self._guards = guards
        self._allowed = frozenset(allowed)
        if "collections" in self._allowed:
            self._allowed |= {"collections.abc"}
        self._own: dict[str, Callable[[], dict[str, Any]]] = {
            "abc": lambda: {
                "ABCMeta": guards.abstract_meta,
                "abstractmethod": lambda function, /: abc.abstractmethod(guards.write(function)),
            },
            "collections": lambda: {"namedtuple": replacements.named_tuple(guards)},
            "contextlib": lambda: replacements.context_tools(guards),
            "copy": lambda: copying.copy_functions(guards),
            "dataclasses": lambda: replacements.data_classes(guards),
            "enum": lambda: replacements.enumerations(guards),
            "functools": lambda: replacements.function_tools(guards),
            "json": replacements.json_functions,
            "operator": lambda: {"setitem": guards.set_item, "delitem": guards.delete_item},
            "sys": self._system,
            "typing": lambda: {"overload": replacements.unchanged, "final": replacements.unchanged},
            "calendar": _calendar,
        }
        self._views: dict[str, ModuleView] = {}
        for name in sorted(self._allowed):
            self.view(name)

    def view(self, name: str) -> ModuleView:
        """Return the view of a module, whether or not programs may import the module."""
        if name not in self._views:
            kind = _SystemView if name == "sys" else ModuleView
            self._views[name] = kind(self._names(name), self._refuser(name))
        return self._views[name]

    def names_given(self) -> set[type]:
        """Return the classes among the names that programs get of all modules."""
        return {value for view in self._views.values() for value in vars(view).values() if isinstance(value, type)}

    def imported(self, name: str, *, top: bool) -> Any:
        """Return the view that an import statement gets for an allowed module; None if the module is not allowed.

        Args:
            name: The full name of the module.
            top: Whether the statement binds the first part of the name.
        """
        if name not in self._allowed:
            return None
        first, dot, _ = name.partition(".")
        if not top or not dot:
            return self._with_submodules(name)
        return self._with_submodules(first) if first in self._allowed else self._part(first)

    def why_not(self, module: str, name: str | None) -> str | None:
        """Return why an import is refused; None if it is allowed."""
        if module not in self._allowed:
            known = ", ".join(sorted(self._allowed)) or "none"
            return f'the import of "{module}" is not allowed; allowed_imports are {known}'
        if name is not None and not (name in self._below(module) or self._gives(module, name)):
            return f'"{name}" of "{module}" is not given to programs'
        return None

    def _gives(self, module: str, name: str) -> bool:
        view = self.view(module)
        return name in vars(view) or (name == "argv" and isinstance(view, _SystemView))

    def _with_submodules(self, name: str) -> ModuleView:
        below = self._below(name)
        view = self.view(name)
        if not below:
            return view
        return type(view)({**vars(view), **below}, self._refuser(name))

    def _part(self, name: str) -> ModuleView:
        """Return a view of a module that is not allowed; it has only the allowed modules below the module."""
        return ModuleView(self._below(name), self._refuser(name))

    def _refuser(self, module: str) -> Callable[[str], Any]:
        refuse = self._guards.refuse
        return lambda name: refuse(ForbiddenAttribute, f'"{name}" of the module "{module}" is not given to programs')

    def _below(self, name: str) -> dict[str, Any]:
        """Return the allowed modules below a module, by the next part of their names."""
        below: dict[str, Any] = {}
        for one in sorted(self._allowed):
            if one.startswith(f"{name}."):
                part = one[len(name) + 1 :].partition(".")[0]
                full = f"{name}.{part}"
                below[part] = self._with_submodules(full) if full in self._allowed else self._part(full)
        return below

    def _names(self, name: str) -> dict[str, Any]:
        module = importlib.import_module(name)
        if name not in _PUBLIC:
            return _generally(module)
        listed = _PUBLIC[name]
        names = list(_listed(module)) if listed == "*" else listed.split()
        found = {one: getattr(module, one) for one in names if hasattr(module, one)}
        found = {one: _of_its_own(value) for one, value in found.items() if not isinstance(value, types.ModuleType)}
        return {**found, **self._own.get(name, dict)()}

    def _system(self) -> dict[str, Any]:
        streams = {name: replacements.Stream(name) for name in ("stdin", "stdout", "stderr")}
        return {**streams, "exit": replacements.leave}


def _of_its_own(value: Any) -> Any:
    """Return a copy of a container: programs may change the copy, and the library's own must stay as it is."""
    return type(value)(value) if type(value) in (list, dict, set) else value


def _calendar() -> dict[str, Any]:
    import calendar

    return {name: list(getattr(calendar, name)) for name in ("day_name", "day_abbr", "month_name", "month_abbr")}


def _listed(module: types.ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    names = vars(module) if listed is None else listed
    return [name for name in names if isinstance(name, str) and not name.startswith("_") and hasattr(module, name)]


def _generally(module: types.ModuleType) -> dict[str, Any]:
    """Return the plain data of a module that nobody reviewed, and the functions and classes that it defines itself."""
    package = module.__name__.partition(".")[0]
    found: dict[str, Any] = {}
    for name in _listed(module):
        value = getattr(module, name)
        if type(value) in _PLAIN:
            found[name] = value
            continue
        if isinstance(value, types.ModuleType) or (isinstance(value, type) and issubclass(value, type)):
            continue
        if not isinstance(value, type) and not callable(value):
            continue
        home = getattr(value, "__module__", None) or getattr(type(value), "__module__", None)
        own = (package, f"_{package}") if hasattr(module, "__all__") else (package,)  # The second is the part in C.
        if isinstance(home, str) and home.partition(".")[0] in own:
            found[name] = value
    return found
