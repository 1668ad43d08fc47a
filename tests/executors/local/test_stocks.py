"""Which server a program is forked from."""

import ast

import pytest

from code_env import Program, make_executor
from code_env.executors.local.stocks import COMMON, COMMON_MODULES, LEAN, LEAN_MODULES, Stock, imported, stock_for

HEAVY = ("numpy",)


@pytest.mark.parametrize(
    "code",
    [
        "print(1)",
        "import sys\nprint(sys.stdin.read())",
        "from typing import List, Optional\nimport os.path as p, math",
        "def f():\n    import heapq; from collections import deque",
        "# import dataclasses\nx = 1",
        "if True: import re",
    ],
)
def test_a_program_that_needs_little_gets_little(code):
    assert stock_for(Program(code), HEAVY) is LEAN


@pytest.mark.parametrize(
    "code",
    [
        "import dataclasses",
        "from decimal import Decimal",
        "import sys, random",
        "try: import queue\nexcept ImportError: pass",
        "def f():\n\tfrom  urllib.parse import quote",
        "import scipy",
        "m = __import__('datetime')",
        "import importlib",
        "exec('import csv')",
        "x = 1;import hashlib",
    ],
)
def test_a_program_that_needs_more_gets_what_is_common(code):
    assert stock_for(Program(code), HEAVY) is COMMON


def test_a_program_that_brings_files_may_import_anything():
    assert stock_for(Program("import helper", files={"helper.py": b"import csv"}), HEAVY) is COMMON


def test_a_program_that_names_a_heavy_module_gets_it_beside_what_else_it_needs():
    assert stock_for(Program("import numpy.linalg as la"), HEAVY) == Stock((*LEAN_MODULES, "numpy"), judges=False)
    assert stock_for(Program("import numpy, random"), HEAVY) == Stock((*COMMON_MODULES, "numpy"), judges=True)
    assert stock_for(Program("m = __import__('numpy')"), HEAVY) == Stock((*COMMON_MODULES, "numpy"), judges=True)


def test_what_is_imported_beside_a_program_counts_too():
    assert stock_for(Program("x = 1", imports=("numpy",)), HEAVY).modules[-1] == "numpy"
    assert stock_for(Program("x = 1", imports=("csv",)), HEAVY) is COMMON


def test_imports_are_found_by_their_words():
    assert imported("import a.b as c , d\nfrom e.f import (g,\n h)\n  import i # j\nimportant = 1") == [
        "a",
        "d",
        "e",
        "i",
    ]
    assert imported("import") == imported("from . import x") == []


def test_what_is_common_holds_what_is_lean():
    assert set(LEAN_MODULES) < set(COMMON_MODULES)


@pytest.mark.parametrize(("stock", "code"), [(LEAN, ""), (COMMON, "import csv\n")])
def test_a_server_has_its_stock_loaded_and_nothing_of_a_rehearsal(stock, code):
    code += "import sys\nprint(sorted(sys.modules))"
    with make_executor("local", workers=1) as executor:
        loaded = ast.literal_eval(executor.run(Program(code)).stdout)
    assert set(stock.modules) <= set(loaded)
    assert not {"solution", "tests", "code_env"} & set(loaded)
    assert ("code_env_harness.judge.main" in loaded) is stock.judges


def test_a_module_that_is_not_there_is_imported():
    with make_executor("local", workers=1) as executor:
        result = executor.run(
            Program("name = 'fractions'\nprint(getattr(__builtins__, '__imp' + 'ort__')(name).Fraction(1, 2))")
        )
    assert result.stdout == "1/2\n", result
