"""What a name of an answer stands for, a class or a function, the task says; the answer has no say in it."""

import pytest

from code_env import AssertTest, Task, judge

LYING_TITLE = """
class Liar:
    def startswith(self, text): return True
def Title(text): return Liar()
"""
HONEST_TITLE = "def Title(text): return text.title()\n"
TITLE = "assert Title('a b').startswith('A')"
BOUND_TITLE = "title = Title('a b')\nassert title.startswith('A')"


def verdict(executor, tests, answer, prompt="p", **fields):
    return judge(Task("t", prompt, (AssertTest(tests),), **fields), answer, executor)


PROMPTS = ["def Title(text):\n", "Write the function `Title`.", "Write a Title function that ..."]


@pytest.mark.parametrize("tests", [TITLE, BOUND_TITLE])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_function_with_a_capital_letter_gives_data(executor, tests, prompt):
    assert verdict(executor, tests, HONEST_TITLE, prompt).passed
    assert not verdict(executor, tests, LYING_TITLE, prompt).passed


@pytest.mark.parametrize(
    ("tests", "answer"),
    [
        (TITLE, LYING_TITLE),
        (
            "assert Diff({1}, {2}).issubset({1})",
            "class L:\n    def issubset(self, x): return True\nDiff = lambda a, b: L()",
        ),
        (
            "assert Repeat('a', 2).count('a') == 2",
            "class L:\n    def count(self, x): return 2\nRepeat = lambda a, b: L()",
        ),
        ("assert Split('a b').index('b') == 1", "class Split(str):\n    def index(self, x): return 1"),
    ],
)
def test_where_nothing_tells_methods_of_data_are_not_called_on_what_a_call_gives(executor, tests, answer):
    assert not verdict(executor, tests, answer).passed


def test_a_reference_tells(executor):
    assert verdict(executor, BOUND_TITLE, HONEST_TITLE, reference=HONEST_TITLE).passed
    assert not verdict(executor, BOUND_TITLE, LYING_TITLE, reference=HONEST_TITLE).passed


STACK = """
class {name}:
    def __init__(self): self.items = []
    def append(self, item): self.items.append(item)
    def pop(self): return self.items.pop() if self.items else None
"""


@pytest.mark.parametrize("prompt", ["class stack:\n", "Write a class `stack`.", "Write a stack class."])
def test_a_class_with_a_small_letter_is_a_class(executor, prompt):
    tests = "s = stack()\ns.append(1)\nassert s.pop() == 1\nassert stack().pop() is None"
    assert verdict(executor, tests, STACK.format(name="stack"), prompt).passed
    assert not verdict(executor, tests, STACK.format(name="stack").replace("None", "0"), prompt).passed


def test_a_class_by_convention_is_one_where_it_is_bound_to_a_name(executor):
    tests = "s = Stack()\ns.append(1)\nassert s.pop() == 1"
    assert verdict(executor, tests, STACK.format(name="Stack")).passed
