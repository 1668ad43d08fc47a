"""Where a mode judges what another one refuses, the message of the case names it, and it does."""

import dataclasses
import re

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

CART = """
class Item:
    def __init__(self): self.n, self.tags = 1, []
class Cart:
    def __init__(self): self.item = Item()
    def get(self): return self.item
"""
OBJECTS = {
    "an attribute of a result": ("c = Cart()\nc.get().n = 5\nassert c.get().n == 5", CART),
    "a container in a result": ("c = Cart()\nc.get().tags.append(5)\nassert c.get().tags == [5]", CART),
}
SHARED = {
    "a method of an object of the tests": (
        "class Square:\n    def area(self): return 4\nassert total([Square()]) == 4",
        "def total(shapes): return sum(one.area() for one in shapes)",
    ),
    "a use that the answer hides": (
        "class Square:\n    def area(self): return 4\nassert total([Square()]) == 4",
        "def total(shapes):\n    try: return sum(one.area() for one in shapes)\n    except Exception: return 0",
    ),
    "a generator of numbers": (
        "import random\nassert draw(random.Random(3)) in range(7)",
        "def draw(source): return source.randint(1, 6)",
    ),
    "a deep list": (
        "deep = []\nfor _ in range(300): deep = [deep]\nassert depth(deep) == 300",
        "def depth(x):\n    n = 0\n    while x: x, n = x[0], n + 1\n    return n",
    ),
    "a connection": (
        "import sqlite3\nassert one(sqlite3.connect(':memory:')) == 1",
        "def one(connection): return connection.execute('select 1').fetchone()[0]",
    ),
    "a decorator that uses the object": (
        "class A:\n    @counted\n    def m(self): return 1\na = A()\nassert a.m() == 1 and a.calls == 1",
        "def counted(f):\n    def inner(self):\n        self.calls = getattr(self, 'calls', 0) + 1\n"
        "        return f(self)\n    return inner",
    ),
    "a class decorator that changes the class": (
        "@named\nclass A: pass\nassert A.label == 'A'",
        "def named(cls):\n    cls.label = cls.__name__\n    return cls",
    ),
    "a descriptor": (
        "class Order:\n    amount = Positive()\no = Order()\no.amount = 3\nassert o.amount == 3",
        "class Positive:\n    def __set_name__(self, owner, name): self.name = '_' + name\n"
        "    def __get__(self, one, owner=None): return getattr(one, self.name)\n"
        "    def __set__(self, one, value): setattr(one, self.name, value)",
    ),
    "a mock in a class": (
        "from unittest.mock import Mock\nA.get = Mock(return_value=3)\nassert A().get() == 3",
        "class A:\n    def get(self): return 1",
    ),
    "a class that derives": ("class B(A): pass\nassert B().get() == 1", "class A:\n    def get(self): return 1"),
    "a pattern": (
        "match make():\n    case A(n=n): assert n == 1\n    case _: assert False",
        "class A: n = 1\ndef make(): return A()",
    ),
    "the fields of a class": (
        "import dataclasses\nassert [f.name for f in dataclasses.fields(A)] == ['n']",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int",
    ),
    "a file of the tests": (
        "with open('in.txt', 'w') as file: file.write('a b')\nassert words('in.txt') == 2",
        "def words(path):\n    with open(path) as file: return len(file.read().split())",
    ),
    "an input": (
        "from unittest.mock import patch\nwith patch('builtins.input', return_value='Al'): assert ask() == 'Al'",
        "def ask(): return input()",
    ),
    "a match with its expression": (
        "assert find('a(b)', 'ab').expand(r'\\1') == 'b'",
        "import re\ndef find(pattern, text): return re.search(pattern, text)",
    ),
    "the parameters of a function": (
        "import inspect\nassert list(inspect.signature(add).parameters) == ['a']",
        "def add(a): return a",
    ),
}
CASES = [("blind", "objects", OBJECTS), ("blind", "shared", SHARED), ("objects", "shared", SHARED)]


@pytest.mark.parametrize(("refusing", "judging", "tests"), CASES, ids=["objects", "shared", "objects-shared"])
def test_the_message_names_the_mode_that_judges_it(refusing, judging, tests, executor):
    answers = []
    for mode in (refusing, judging):
        for name, (code, answer) in tests.items():
            answers.append((Task(name, "", (AssertTest(code),), judge=mode), answer))
    verdicts = judge_many(answers, executor)
    refused, judged = verdicts[: len(tests)], verdicts[len(tests) :]
    messages = {name: [c.message for c in v.cases if not c.passed] for name, v in zip(tests, refused, strict=True)}
    named = {name: {re.findall(r'judge="(\w+)"', one)[-1:][0] for one in messages[name]} for name in tests}
    assert [name for name in tests if named[name] != {judging}] == [], messages
    assert [name for name, v in zip(tests, judged, strict=True) if not v.passed] == []


def test_a_missing_attribute_of_an_object_of_the_tests_is_just_missing(executor):
    code = "class A: pass\nassert size(A()) == 0"
    answer = "def size(x): return x.size if hasattr(x, 'size') else 0"
    task = Task("t", "", (AssertTest(code),))
    has_one = dataclasses.replace(task, tests=(AssertTest(code.replace("pass", "size = 0")),))
    passed, refused = judge_many([(task, answer), (has_one, answer)], executor)
    assert passed.passed
    assert "used 'size' of a A" in refused.cases[0].message
