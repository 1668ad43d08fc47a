import collections
import enum
import http

import pytest

from code_env.harness.wire.plain import Encoder, NotPlain, decode, encode
from code_env.harness.wire.subclasses import Members, any_subclass, content_for


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Letter(str, enum.Enum):  # noqa: UP042 (as answers write it)
    A = "a"
    ALSO_A = "a"  # noqa: PIE796


class Perm(enum.IntFlag):
    R = 1
    W = 2


class Helpful(enum.IntEnum):
    ONE = 1

    def help(self):
        return "no"


class Wide(enum.IntEnum):
    HUGE = 1 << 70


class Plain(enum.Enum):
    ONE = 1


def through(value, there=None, back=None):
    there = Members() if there is None else there
    return decode(Encoder(None, there.alike).encode(value), lambda tag, body: (back or Members()).member(body))


@pytest.mark.parametrize("member", [Colour.RED, Letter.ALSO_A, Perm.R, Perm.R | Perm.W, Perm(0)])
def test_a_member_comes_as_one_of_a_class_with_the_same_members(member):
    back = Members()
    got = through(member, back=back)
    assert got == member
    assert (got.name, got.value, type(got).__name__) == (member.name, member.value, type(member).__name__)
    assert list(type(got).__members__) == list(type(member).__members__)
    assert through(member, back=back) is got
    assert type(got) is not type(member)


def test_at_home_a_member_is_itself():
    home, abroad = Members(), Members()
    there = through(Colour.BLUE, home, abroad)
    assert through(there, abroad, home) is Colour.BLUE


def test_a_status_of_http_is_itself():
    assert through(http.HTTPStatus.NOT_FOUND) is http.HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("member", [Helpful.ONE, Wide.HUGE, Plain.ONE])
def test_a_member_that_has_more_than_a_value_stays(member):
    assert Members().alike(member) is None
    if isinstance(member, int):
        assert Encoder(None, any_subclass).encode([member]) == [encode(int(member))]


@pytest.mark.parametrize(
    "body",
    [
        [],
        7,
        ["IntEnum", "C", [["A", 1]], 2],
        ["IntEnum", "C", [["__eq__", 1]], 1],
        ["IntEnum", "C", [["_missing_", 1]], 1],
        ["IntEnum", "C", [["mro", 1]], 1],
        ["IntEnum", "C", [["a b", 1]], 1],
        ["IntEnum", "C d", [["A", 1]], 1],
        ["IntEnum", "C", [["A", [1]]], [1]],
        ["IntEnum", "C", [["A", "x"]], "x"],
        ["IntFlag", "C", [["A", {"i": hex(1 << 100_000)}]], 1],
        ["IntFlag", "C", [["A", 1]], {"i": hex(1 << 100_000)}],
        ["IntEnum", "C", [[f"A{n}", n] for n in range(101)], 1],
        ["object", "C", [["A", 1]], 1],
        ["exec", "C", [["A", 1]], 1],
        ["str", "C", [["A", 1]], {"h": [0, "x", 0]}],
        ["HTTPStatus", "HTTPStatus", [], 7],
        ["HTTPStatus", "HTTPStatus", [], "200"],
        ["client", "client", [], 200],
    ],
    ids=str,
)
def test_a_forged_member_is_refused(body):
    with pytest.raises(NotPlain):
        Members().member(body)


def test_a_flood_of_classes_fills_no_memory():
    members = Members()
    for number in range(1_100):
        members.member(["int", f"C{number}", [["A", number]], number])
    assert len(members._classes) <= 1_000


class Bare(dict):
    """It adds nothing."""


class Made(list):
    def __init__(self, *items):
        super().__init__(items)

    def __repr__(self):
        return "Made"


class Missing(dict):
    def __missing__(self, key):
        return 0


class Slotted(str):
    __slots__ = ("extra",)


class Point(collections.namedtuple("Point", "x y")):
    def norm(self):
        return 0


@pytest.mark.parametrize("value", [Bare(a=1), Made(1, 2), type("P", (Point.__base__,), {})(1, 2)])
def test_what_adds_nothing_crosses(value):
    got = decode(Encoder(None, Members().alike).encode(value))
    assert got == value
    assert type(got) in (dict, list, got.__class__)


def with_an_attribute():
    value = Bare()
    value.note = 1
    return value


@pytest.mark.parametrize("value", [Missing(), Slotted("a"), Point(1, 2), with_an_attribute()])
def test_what_adds_something_stays_where_tests_may_use_it(value):
    assert Members().alike(value) is None
    assert decode(Encoder(None, any_subclass).encode(value)) == value


class Liar(list):
    def __iter__(self):
        return iter("lies")

    def __len__(self):
        return 9

    def __getitem__(self, index):
        return "lie"

    def __eq__(self, other):
        return True


class LyingCounter(collections.Counter):
    def items(self):
        return [("lie", 1)]

    def keys(self):
        return ["lie"]

    def __iter__(self):
        return iter(["lie"])


class LyingNumber(int):
    def __int__(self):
        return 99

    def __index__(self):
        return 99


class LyingText(str):
    def __str__(self):
        return "lie"

    def __getitem__(self, index):
        return "lie"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (Liar([1]), [1]),
        (LyingCounter("a"), collections.Counter("a")),
        (LyingNumber(5), 5),
        (LyingText("true"), "true"),
        (type("D", (collections.OrderedDict,), {"items": None, "__iter__": None})(a=1), collections.OrderedDict(a=1)),
        (type("S", (frozenset,), {"__iter__": None})([1]), frozenset([1])),
        (type("Q", (collections.deque,), {"__iter__": None})([1, 2], 2), collections.deque([1, 2], 2)),
    ],
)
def test_an_override_cannot_lie(value, content):
    got = decode(Encoder(None, any_subclass).encode(value))
    assert (type(got), got) == (type(content), content)


class Stack(list):
    def top(self):
        return self[-1]


class Odd(Stack):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


@pytest.mark.parametrize(
    ("value", "operator", "content"),
    [
        (Stack([1]), "eq", [[1]]),
        (Stack([1]), "ne", [[1]]),
        (Stack([1]), "add", [[1]]),
        (Odd([1]), "eq", None),
        (Odd([1]), "lt", [[1]]),
        (Helpful.ONE, "rsub", [1]),
        (Plain.ONE, "eq", []),
        (Plain.ONE, "ne", []),
        (Plain.ONE, "add", None),
        (collections.UserDict(a=1), "ne", [{"a": 1}]),
        (collections.UserList([1]), "lt", [[1]]),
        (collections.UserList([1]), "add", None),
        (Stack, "eq", []),
    ],
)
def test_the_content_is_given_where_the_base_defines_the_operator(value, operator, content):
    found = content_for(value, operator)
    assert found == content
    assert list(map(type, found or ())) == list(map(type, content or ()))
