"""What the hacks in Python are judged on; a hack names its task by the variable that holds it."""

from textwrap import dedent

from code_env import AssertTest, CallTest, Limits, OutputTest, StdinTest, Task

L = Limits(cpu_s=1, wall_s=2)


def asserts(code: str, entry_point: str = "f", name: str = "t", limits: Limits = L) -> Task:
    """A task with `assert` tests, written as indented as what surrounds them."""
    return Task(name, "p", (AssertTest(dedent(code)),), entry_point=entry_point, limits=limits)


# Calls, and what they must return.
CALL = Task("add", "p", (CallTest((1, 2), {}, 3), CallTest((5, 7), {}, 12)), entry_point="add", limits=L)
LIST = Task("rev", "p", (CallTest(([3, 1, 2],), {}, [1, 2, 3]), CallTest(([9, 8],), {}, [8, 9])), "f", limits=L)
DICT = Task("d", "p", (CallTest(("ab",), {}, {"a": 1, "b": 1}), CallTest(("zz",), {}, {"z": 2})), "f", limits=L)
CLOSE = Task(
    "c",
    "p",
    (CallTest((2.0,), {}, 1.41421356, compare="close"), CallTest((9.0,), {}, 3.0, compare="close")),
    entry_point="f",
    limits=L,
)
UNORDERED = Task(
    "u",
    "p",
    (CallTest(([1, 1, 2],), {}, [1, 2], compare="unordered"), CallTest(([5, 6],), {}, [6, 5], compare="unordered")),
    entry_point="f",
    limits=L,
)
EXACT = Task(
    "e",
    "p",
    (CallTest((1,), {}, (1, 2), compare="exact"), CallTest((4,), {}, (4, 5), compare="exact")),
    entry_point="f",
    limits=L,
)
SECRET_CALL = Task(
    "sec", "p", (CallTest((1,), {}, "zqxjvwk"), CallTest((2,), {}, "zqxjvwk2")), entry_point="f", limits=L
)

# Input and output.
STDIN = Task("si", "p", (StdinTest("2 3\n", "5\n"), StdinTest("10 20\n", "30\n")), limits=L)
LINES = Task("sm", "p", (StdinTest("3\n1\n2\n3\n", "6\n"), StdinTest("1\n9", "9\n"), StdinTest("0\n", "0\n")), limits=L)
NUMBERS = Task(
    "sn",
    "p",
    (StdinTest("2\n", "1.41421356\n", compare="numbers"), StdinTest("9\n", "3.0\n", compare="numbers")),
    limits=L,
)
OUTPUT = Task("o", "p", (OutputTest("hello\nworld\n"),), limits=L)

# Plain values under assert.
ASSERT = asserts("assert add(1, 2) == 3\nassert add(5, 7) == 12", "add", name="a")
FORKED = asserts("assert add(1, 2) == 3\nassert add(5, 7) == 12", "add", limits=Limits(cpu_s=1, wall_s=2, processes=2))
HUMANEVAL = asserts(
    """\
    def check(candidate):
        assert candidate(1, 2) == 3
        assert candidate(5, 7) == 12
        assert abs(candidate(0.5, 1.0) - 1.5) < 1e-6
    """,
    "add",
    name="h",
)
SECRET_ASSERT = asserts("want = 'zqxjvwk'\nassert f(1) == want\nassert f(2) == want + '2'", name="sec")
SORT = asserts(
    """\
    data = [3, 1, 2]
    assert f(data) == [1, 2, 3]
    assert data == [3, 1, 2]
    data = [9, 8, 8]
    assert f(data) == sorted(data)""",
    name="s",
)
MAP = asserts("assert all(map(lambda i: f(i) == i * 7, [1, 2, 3]))", name="m")
ZIP = asserts("for want, got in zip([0, 7, 14], map(f, [0, 1, 2])):\n    assert got == want", name="z")
COUNTER = asserts("assert [f() for _ in range(3)] == [1, 2, 3]\nassert f() == 4\nassert f() == 5")
RETURNS_NONE = asserts(
    """\
    x = [2, 1]
    f(x)
    assert x == [1, 2]
    y = [5, 5, 0]
    f(y)
    assert y == [0, 5, 5]"""
)

# Results that have methods, or go on running.
SUBSET = asserts("assert f([1, 2, 2]).issubset({1, 2, 3})\nassert f([]).isdisjoint([1])", name="sub")
PREFIX = asserts("assert f('a').startswith('hello a')\nassert f('b').endswith(' b')", name="pfx")
ITERATOR = asserts(
    """\
    assert list(f(3)) == [0, 1, 2]
    assert sum(f(4)) == 6
    assert next(f(9)) + 1 == 1 and set(f(2)) == {0, 1}"""
)
CONSUMED = asserts(
    """\
    a = [3, 1, 2]
    assert list(f(a)) == sorted(a)
    b = [5, 4]
    assert [x for x in f(b)] == sorted(b) and b
    c = [9, 8]
    for got, want in zip(f(c), sorted(c)):
        assert got == want"""
)
COROUTINE = asserts("import asyncio\nassert asyncio.run(f(1)) == 2\nassert asyncio.run(f(5)) == 6")
VIEW = asserts("assert f({'a': 1}) == {'a'}\nassert sorted(f({'b': 1, 'c': 2})) == ['b', 'c']")
PERSON = asserts(
    """\
    p = Person('bob')
    assert p.name.startswith('bo')
    assert p.tags.count('x') == 1""",
    "Person",
)
DESCRIBED = asserts(
    """\
    n = Node('five')
    m = describe(n)
    assert m is not n and describe(n).startswith('Node fi')
    assert n.text is not n and n.text.endswith(' five')
    assert id(m) != id(Node) and m.startswith('Node')""",
    "describe",
)
STACK = asserts(
    """\
    s = Stack()
    s.push(3)
    s.push(4)
    assert s.pop() == 4
    assert s.pop() + 1 == 4
    assert s.items == []""",
    "Stack",
)
KIND = asserts(
    "r = f([1, 2])\nassert isinstance(r, list) and len(r) == 2\nassert r == [1, 2]\nassert type(r).__name__ == 'list'"
)
IN_PLACE = asserts("a = [3, 1]\nassert f(a) is a and a == [1, 3]\nb = [2, 0]\nf(b)\nassert b == [0, 2]")
DOTTED = asserts("assert candidate(2) == 4\nassert candidate(3) == 6", "Solution.f")

# Exceptions.
RAISES = asserts(
    """\
    def raises(x):
        try:
            f(x)
        except ValueError as e:
            return str(e)
        return None
    assert raises(-1) == 'negative'
    assert f(4) == 2
    assert raises(-9) == 'negative'""",
    name="r",
)
OWN_EXCEPTION = asserts(
    """\
    def bad(x):
        try:
            f(x)
        except BadInput:
            return True
        return False
    assert all(map(lambda i: f(i) == i * 7, [1, 2, 3]))
    assert [f(i) for i in (4, 5)] == [28, 35] and bad(-1)"""
)
EXCEPTION_TEXT = asserts(
    """\
    def text(x):
        try:
            f(x)
        except BadInput as e:
            return str(e)
    assert text(-1) == 'bad -1'
    assert text(-2) == 'bad -2'"""
)
ANY_EXCEPTION = asserts(
    """\
    def bad(x):
        try:
            f(x)
        except ValueError:
            return 1
        except Exception:
            return 2
        return 3
    assert bad(-1) == 1
    assert bad('a') == 1 and f(2) == 4"""
)

# Functions of the tests that the program gets.
CALLBACK = asserts(
    """\
    assert f(lambda x: x + 1, 3) == 4
    assert f(lambda x: x * 2, 5) == 10
    assert f(len, 'ab') == 2"""
)
APPLY = asserts("assert f(lambda fn, x: fn(x), str, 5) == '5'\nassert f(lambda fn, x: fn(x), abs, -7) == 7")
CHURCH = asserts(
    """\
    one = lambda f: lambda x: f(x)
    assert succ(one)(lambda x: x + 1)(0) == 2
    assert succ(succ(one))(lambda x: x + 1)(0) == 3""",
    "succ",
)
PARTIAL = asserts("import functools\nassert f(functools.partial, 1) == 2\nassert f(functools.partial, 4) == 5")
REDUCE = asserts("import functools\nassert f(functools.reduce, [1, 2, 3]) == 6\nassert f(functools.reduce, [4]) == 4")
TYPE = asserts("assert f([1, 'a', 2], type) == 2\nassert f([1], type) == 1")
MATCHES = asserts(
    """\
    s = Game()
    assert f(lambda guess: guess.matches('secret')) == ['secret']
    assert f(lambda g: g.matches('x')) == ['x']"""
)

# Classes of unittest.
UNITTEST = asserts(
    """\
    import unittest
    class T(unittest.TestCase):
        def test_a(self):
            self.assertEqual(f([3, 1, 2]), [1, 2, 3])
        def test_b(self):
            x = [9, 8]
            self.assertListEqual(f(x), sorted(x))
        def test_c(self):
            self.assertAlmostEqual(sum(f([0.5, 0.25])), 0.75)
    """
)
UNITTEST_ASSERT = asserts(
    """\
    import unittest
    class T(unittest.TestCase):
        def test_a(self):
            x = [3, 1, 2]
            assert f(x) == sorted(x)
        def test_b(self):
            x = [9, 7]
            assert f(x) == sorted(x)
    """
)
UNITTEST_RAISES = asserts(
    """\
    import unittest
    class T(unittest.TestCase):
        def test_a(self):
            with self.assertRaises(ValueError):
                f(-1)
            self.assertEqual(f(2), 4)
        def test_b(self):
            self.assertRaises(KeyError, f, 0)
            self.assertTrue(f(3) == 6)
    """
)
