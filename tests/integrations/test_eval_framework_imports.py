"""Imports are found in a program's text, in any form, and never in its comments and strings."""

import subprocess
import sys

import pytest

from code_env.integrations.eval_framework import imports
from code_env.integrations.eval_framework.imports import imported_names
from support import examples_hold

IMPORTS = {
    "import yaml": ["yaml"],
    "import os.path, yaml as y, bs4": ["bs4", "os", "yaml"],
    "from yaml.nodes import Node": ["yaml"],
    "from yaml import(Node)": ["yaml"],
    "from yaml import (\n    Node,\n    json,\n)": ["yaml"],
    "from yaml import*": ["yaml"],
    "x = 1; import yaml": ["yaml"],
    "try: import yaml\nexcept ImportError: from bs4 import Tag": ["bs4", "yaml"],
    "if x:\n\timport yaml": ["yaml"],
    "def f(): import yaml; return 1": ["yaml"],
    "import os, \\\n  yaml": ["os", "yaml"],
    "import os, \\\r\n  yaml\r\nimport bs4": ["bs4", "os", "yaml"],
    "from \\\n yaml \\\n import Node": ["yaml"],
    "x = '''a'''; import yaml": ["yaml"],
    "x = 'it''s'\nimport yaml": ["yaml"],
    "x = 'not closed\nimport yaml": ["yaml"],
    "x = r'\\'\nimport yaml": ["yaml"],
    'x = "#"; import yaml': ["yaml"],
    "importlib.import_module('yaml.nodes')": ["yaml"],
    '__import__( "yaml")': ["yaml"],
    "# ''' \nimport yaml": ["yaml"],
}
NONE = (
    *("", "x", "# import yaml", "x = 1  # import yaml", "'''\nimport yaml\n'''", '"""\nfrom yaml import x\n"""'),
    *("'''not closed\nimport yaml", "x = 'a; import yaml'", "from . import yaml", "from .yaml import x", "from_yaml"),
    *("important = yaml", "import_ = yaml", "x.import_(yaml)", "'a \\\nimport yaml'", "from os  # import yaml"),
    *("'\\'; import yaml'", "print('import_module(\"yaml\")')", 'r"""\nimport yaml \\"""', "'''\\''' \nimport yaml"),
)


@pytest.mark.parametrize(("text", "names"), IMPORTS.items())
def test_imports_are_found(text, names):
    assert sorted(imported_names(text) - {"importlib"}) == names


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_import_is_not_found(text):
    assert imported_names(text) <= {"os"}


def test_only_the_module_is_found_and_not_what_is_taken_from_it():
    text = "from os import yaml\nfrom os.yaml import x\nimport os.yaml as yaml, sys as bs4"
    assert imported_names(text) == {"os", "sys"}


def test_the_examples_hold():
    assert examples_hold(imports.__name__)


HOSTILE = (
    *('"', "'", '"""', "'''", "\\", "\\\n", "\\\r\n", '"""\\', "'\\", "\"\"\"'''", "#", "# '", "import ", "from "),
    *("import a,", "import a\n", "from a ", ": ", "; \t", "__import__(", "import_module( ", "a.", "\n", "\f", "f'{"),
    *(";", " ", "\x00"),
)


def test_hostile_texts_are_read_to_their_end():
    # In a process of its own: a pattern that backtracks cannot be stopped from within, and would take days.
    lines = (
        "import resource\nfrom code_env.integrations.eval_framework.imports import imported_names",
        "resource.setrlimit(resource.RLIMIT_CPU, (120, resource.RLIM_INFINITY))",
        f"for text in {HOSTILE!r}:",
        "    for begin in ('', 'import ', 'from ', 'x = \"\"\"', '('):",
        "        print(repr(text), flush=True)",
        "        imported_names(begin + text * (300_000 // len(text)))",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout.splitlines()[-1:]
