"""The modules that a trusted text imports, and the packages that install them. Nothing is imported to find out."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable

from packaging.utils import canonicalize_name

_PACKAGES = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "IPython": "ipython",
    "Levenshtein": "levenshtein",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "jwt": "pyjwt",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "rest_framework": "djangorestframework",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Packages with another name than the module that they install."""

_REMOVED = frozenset(
    ("asynchat", "asyncore", "cgi", "crypt", "distutils", "imghdr", "imp", "sndhdr", "smtpd", "telnetlib", "uu")
)
"""Modules that were in the standard library of earlier versions. No package is to stand in for them unasked."""


def imported_modules(text: str) -> set[str]:
    """The full names of the modules that a text imports, and of what it imports from them, which can be modules too.

    Args:
        text: Trusted code. If it is not Python, the result is empty.

    Example:
        >>> sorted(imported_modules("import os.path\\nfrom sklearn import svm"))
        ['os', 'os.path', 'sklearn', 'sklearn.svm']
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What Python finds odd in a data set's code is not our user's concern.
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")]
        for name in names:
            parts = name.split(".")
            found |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return found


def packages_of(modules: Iterable[str]) -> tuple[str, ...]:
    """The packages that install modules, sorted, without those of the standard library.

    A module that is not in the list here is taken for a package of the same name.

    Args:
        modules: Names of modules.

    Example:
        >>> packages_of(["json", "sklearn.svm", "pandas", "flask_login"])
        ('flask-login', 'pandas', 'scikit-learn')
    """
    names = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - _REMOVED
    return tuple(sorted(_PACKAGES.get(name) or canonicalize_name(name) for name in names))
