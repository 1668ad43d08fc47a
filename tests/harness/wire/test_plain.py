import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import json
import math
import typing
import zoneinfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_env.harness.wire import plain, structures
from code_env.harness.wire.plain import MAX_DEPTH, NotPlain, decode, encode, type_name


class Point(typing.NamedTuple):
    x: object
    y: object


Pair = collections.namedtuple("Pair", ["left", "right"])
Nothing = collections.namedtuple("Nothing", [])


def through_json(form):
    text = json.dumps(form, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return json.loads(text.decode("utf-8", "surrogatepass"))


def round_trip(value):
    return decode(through_json(encode(value)))


def is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def same(a, b):
    """Equal in type and value throughout, order and signs of zero and of NaN included."""
    if is_namedtuple(a):
        return (
            is_namedtuple(b) and (type(a).__name__, a._fields) == (type(b).__name__, b._fields) and all(map(same, a, b))
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, decimal.Decimal):
        return a.as_tuple() == b.as_tuple()
    if isinstance(a, datetime.datetime | datetime.time):
        return a == b and a.utcoffset() == b.utcoffset()
    if isinstance(a, dict):
        factories = getattr(a, "default_factory", None) is getattr(b, "default_factory", None)
        return factories and same(list(a.items()), list(b.items()))
    if isinstance(a, set | frozenset):
        return {(type(x), x) for x in a} == {(type(x), x) for x in b}
    if isinstance(a, collections.deque):
        return a.maxlen == b.maxlen and same(list(a), list(b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def time_zones():
    day = datetime.timedelta(hours=23, minutes=59)
    return st.none() | st.timedeltas(-day, day).map(datetime.timezone)


TEXT = st.text(st.characters(exclude_categories=[]))
BIG, LENGTH = st.integers(), st.integers(0, 1000)
HASHABLE_ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(1 << 200), 1 << 200),
    st.floats(allow_nan=False),
    TEXT,
    st.binary(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.timedeltas(),
)
HASHABLE = st.recursive(
    HASHABLE_ATOMS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
DTYPES = ["?", "<i1", "<i8", ">i4", "<u2", "<f2", "<f8", ">f8", "<c8", "<c16", "S3", "<U3", "<M8[s]", "<m8[ns]"]


@st.composite
def arrays(draw):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = math.prod(shape)
    if dtype.kind in "SU":
        items = draw(st.lists(st.text("abc", max_size=3), min_size=count, max_size=count))
        return np.array(items, dtype).reshape(shape)
    if dtype.kind == "b":
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype).reshape(shape)
    size = count * dtype.itemsize
    return np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype).reshape(shape)


ATOMS = st.one_of(
    HASHABLE,
    st.floats(),
    st.complex_numbers(),
    st.binary().map(bytearray),
    st.decimals(),
    st.builds(lambda start, length, step: range(start, start + length * step, step), BIG, LENGTH, st.integers(1)),
    st.builds(lambda start, length, step: range(start, start - length * step, -step), BIG, LENGTH, st.integers(1)),
    st.times(timezones=time_zones()),
    st.datetimes(timezones=time_zones()),
    arrays(),
    arrays().filter(lambda array: array.size).map(lambda array: array.reshape(-1)[0]).filter(lambda s: s.itemsize),
)


def containers(inner):
    items = st.lists(inner, max_size=4)
    mapping = st.dictionaries(HASHABLE, inner, max_size=4)
    return st.one_of(
        items,
        items.map(tuple),
        st.sets(HASHABLE, max_size=4),
        mapping,
        mapping.map(collections.Counter),
        mapping.map(collections.OrderedDict),
        st.builds(collections.defaultdict, st.sampled_from([None, list, int, dict, set, str, float]), mapping),
        st.builds(collections.deque, items, st.none() | st.integers(0, 5)),
        st.builds(Point, inner, inner),
        st.builds(Pair, inner, inner),
    )


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.recursive(ATOMS, containers, max_leaves=12))
def test_plain_data_comes_back_as_it_went(value):
    assert same(value, round_trip(value))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(0, id="zero"),
        pytest.param(-0.0, id="negative-zero"),
        pytest.param(5e-324, id="smallest-float"),
        pytest.param(math.nan, id="nan"),
        pytest.param(math.inf, id="inf"),
        pytest.param(-math.inf, id="minus-inf"),
        pytest.param((1 << 63) - 1, id="largest-small-int"),
        pytest.param(1 << 63, id="smallest-big-int"),
        pytest.param(-(1 << 63), id="smallest-big-negative-int"),
        pytest.param(10**6000 + 1, id="int-beyond-the-digits-limit"),
        pytest.param(-(10**6000), id="negative-int-beyond-the-digits-limit"),
        pytest.param("\ud800", id="lone-surrogate"),
        pytest.param("\ud83d\ude00", id="surrogates-that-would-pair"),
        pytest.param("\0\n\x1b\u2028\U0001f600", id="control-characters"),
        pytest.param({"\udfff": "\ud800"}, id="surrogates-in-a-dict"),
        pytest.param({"t": [1]}, id="dict-that-looks-like-a-tag"),
        pytest.param([{"i": "0x1"}, {"h": 0}], id="dicts-that-look-like-tags"),
        pytest.param({1: "a", "1": "b", (1,): "c", None: "d"}, id="keys-of-several-types"),
        pytest.param({True: 1.0}, id="bool-key"),
        pytest.param(b"\0\xff", id="bytes"),
        pytest.param(bytearray(b""), id="empty-bytearray"),
        pytest.param(complex(-0.0, math.nan), id="complex"),
        pytest.param(range(10**30, -(10**30), -(10**29)), id="range-of-big-ints"),
        pytest.param(Nothing(), id="namedtuple-without-fields"),
        pytest.param(Point(Pair(1, (2,)), [Nothing()]), id="nested-namedtuples"),
        pytest.param(collections.Counter("abca"), id="counter"),
        pytest.param(collections.Counter(a=-1, b=0), id="counter-below-one"),
        pytest.param(collections.defaultdict(list, {"a": [1]}), id="defaultdict"),
        pytest.param(collections.deque([1, 2], 2), id="deque-with-maxlen"),
        pytest.param(collections.deque(maxlen=0), id="deque-of-length-zero"),
        pytest.param(decimal.Decimal("-0E-10"), id="decimal-zero"),
        pytest.param(decimal.Decimal("sNaN123"), id="decimal-signaling-nan"),
        pytest.param(decimal.Decimal("-Infinity"), id="decimal-infinity"),
        pytest.param(decimal.Decimal("1" * 10_000), id="decimal-of-many-digits"),
        pytest.param(fractions.Fraction(-(10**5000), 7), id="fraction-of-big-ints"),
        pytest.param(datetime.date.min, id="date"),
        pytest.param(datetime.datetime.max, id="datetime"),
        pytest.param(datetime.timedelta.min, id="timedelta"),
        pytest.param(datetime.time(1, 2, 3, 4, datetime.timezone(datetime.timedelta(seconds=-1))), id="odd-time-zone"),
        pytest.param(np.float64("nan"), id="numpy-nan"),
        pytest.param(np.int8(-1), id="numpy-int"),
        pytest.param(np.bool_(True), id="numpy-bool"),
        pytest.param(np.str_("añ\U0001f600"), id="numpy-text"),
        pytest.param(np.datetime64("2024-01-01T00:00", "m"), id="numpy-datetime"),
        pytest.param(np.array(7), id="array-without-dimensions"),
        pytest.param(np.zeros((0, 3)), id="empty-array"),
        pytest.param(np.arange(6).reshape(2, 3).T, id="transposed-array"),
        pytest.param(np.arange(9)[::-2], id="array-with-negative-stride"),
        pytest.param([np.array([[1.5]]), {"a": np.float32(1)}], id="nested-numpy"),
        pytest.param(
            datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")), id="time-zone-by-its-key"
        ),
        pytest.param(datetime.time(1, tzinfo=zoneinfo.ZoneInfo("UTC")), id="time-in-a-zone"),
    ],
)
def test_an_odd_value_comes_back_as_it_went(value):
    assert same(value, round_trip(value))


def test_an_ordered_dict_keeps_the_order_that_moves_gave_it():
    value = collections.OrderedDict(a=1, b=2, c=3)
    value.move_to_end("a")
    value.move_to_end("c", last=False)
    assert list(round_trip(value)) == ["c", "b", "a"]


def test_an_array_of_objects_comes_back():
    value = np.array([[1, "a"], [None, [2.5]]], dtype=object)
    got = round_trip(value)
    assert (got.dtype, got.shape, got.tolist()) == (value.dtype, value.shape, value.tolist())
    assert round_trip(np.empty((0, 2), object)).shape == (0, 2)


def test_the_second_of_two_equal_hours_stays_the_second():
    moment = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Paris"), fold=1)
    assert round_trip(moment).utcoffset() == moment.utcoffset() == datetime.timedelta(hours=1)


def test_a_time_zone_that_is_unknown_here_becomes_its_offset():
    hour = [0, 3600, 0]
    got = decode({"dt": ["datetime", "2024-07-01T00:00:00", hour, "Nowhere/Land", 0]})
    assert got.utcoffset() == datetime.timedelta(hours=1)
    lying = decode({"dt": ["datetime", "2024-07-01T00:00:00", hour, "UTC", 0]})
    assert lying.utcoffset() == datetime.timedelta(hours=1)


@pytest.mark.parametrize("view", ["keys", "values", "items"])
def test_views_of_an_ordered_dict_cross_as_those_of_a_dict(view):
    got = round_trip(getattr(collections.OrderedDict(b=1, a=2), view)())
    assert list(got) == list(getattr({"b": 1, "a": 2}, view)())


def test_empty_numpy_text_comes_back():
    assert same(round_trip(np.str_("")), np.str_(""))


def test_empty_numpy_bytes_come_back():
    assert same(round_trip(np.bytes_(b"")), np.bytes_(b""))


def test_a_namedtuple_with_renamed_fields_comes_back():
    value = collections.namedtuple("Row", ["a", "class", "a"], rename=True)(1, 2, 3)
    assert same(value, round_trip(value))


def test_a_defaultdict_with_a_factory_of_the_program_loses_only_the_factory():
    got = round_trip(collections.defaultdict(lambda: 1, a=2))
    assert (type(got), dict(got), got.default_factory) == (collections.defaultdict, {"a": 2}, None)


def test_a_decoded_array_can_be_written_to():
    array = round_trip(np.zeros(2))
    array[0] = 5
    assert array.tolist() == [5, 0]


def test_two_namedtuples_of_one_kind_have_one_type():
    first, second = round_trip([Point(1, 2), Point(3, 4)])
    assert type(first) is type(second)


def test_what_is_shared_comes_back_as_copies():
    shared = [1]
    first, second = round_trip([shared, shared])
    assert first == second == [1]
    assert first is not second


class Word(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


class Disguising(type):
    @property
    def __name__(cls):
        return "list"


class Unhashable(type):
    def __hash__(cls):
        raise ZeroDivisionError


class DisguisedFloat(np.float64):
    def __eq__(self, other):
        return True

    __hash__ = None


DisguisedFloat.__module__ = "numpy"


def subclassed(base, *args):
    return type(f"My{base.__name__}", (base,), {})(*args)


NOT_PLAIN = [
    *(
        pytest.param(subclassed(base, *args), id=f"subclass-of-{base.__name__}")
        for base, args in [
            (int, (1,)),
            (float, (1.0,)),
            (str, ("a",)),
            (complex, (1,)),
            (bytes, (b"a",)),
            (bytearray, (b"a",)),
            (list, ([1],)),
            (tuple, ((1,),)),
            (dict, ({},)),
            (set, ({1},)),
            (frozenset, ({1},)),
            (collections.Counter, ("a",)),
            (collections.OrderedDict, ({},)),
            (collections.defaultdict, (int,)),
            (collections.deque, ([1],)),
            (decimal.Decimal, (1,)),
            (fractions.Fraction, (1, 2)),
            (datetime.date, (2024, 1, 1)),
            (datetime.time, (1,)),
            (datetime.datetime, (2024, 1, 1)),
            (datetime.timedelta, (1,)),
            (Point, (1, 2)),
            (np.ndarray, ((2,),)),
            (np.float64, (1.0,)),
        ]
    ),
    pytest.param(Word("a"), id="str-with-slots"),
    pytest.param(Colour.RED, id="enum"),
    pytest.param(object(), id="object"),
    pytest.param(print, id="function"),
    pytest.param(type, id="class"),
    pytest.param(lambda: 1, id="lambda"),
    pytest.param(iter([]), id="iterator"),
    pytest.param(range(10**9), id="range-that-takes-long-to-go-through"),
    pytest.param(memoryview(b"a"), id="memoryview"),
    pytest.param(np.array([object()]), id="array-of-objects"),
    pytest.param(np.zeros(1, [("a", "i4")]), id="structured-array"),
    pytest.param(np.zeros(1, [("a", "i4")])[0], id="structured-scalar"),
    pytest.param(np.ma.array([1]), id="masked-array"),
    pytest.param(
        datetime.datetime(2024, 1, 1, tzinfo=type("Zone", (datetime.tzinfo,), {})()), id="time-zone-of-the-program"
    ),
    pytest.param(DisguisedFloat(1), id="numpy-subclass-that-names-numpy-as-its-module"),
    pytest.param(Disguising("Odd", (), {})(), id="class-that-calls-itself-list"),
    pytest.param(Unhashable("Odd", (), {})(), id="class-whose-hash-raises"),
]


@pytest.mark.parametrize("value", NOT_PLAIN)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(NotPlain):
        encode(value)


@pytest.mark.parametrize("value", NOT_PLAIN)
def test_what_is_not_plain_goes_to_other_wherever_it_lies(value):
    given_to_other = []

    def other(what, why):
        given_to_other.append((what, why))
        return {"h": len(given_to_other)}

    assert encode([(value,), 5, {1: value}], other) == [{"t": [{"h": 1}]}, 5, {"d": [[1, {"h": 2}]]}]
    assert all(what is value and isinstance(why, str) and why for what, why in given_to_other)


def test_the_refusal_names_the_type():
    with pytest.raises(NotPlain, match=r"^Word$"):
        encode([Word("a")])


def test_the_name_of_a_type_is_read_past_its_metaclass():
    assert type_name(Disguising("Odd", (), {})()) == "Odd"


def list_in_itself():
    value = [1]
    value.append(value)
    return value


def dict_in_itself():
    value = {}
    value["me"] = (value,)
    return value


def deque_in_itself():
    value = collections.deque()
    value.append([value])
    return value


@pytest.mark.parametrize("make", [list_in_itself, dict_in_itself, deque_in_itself])
def test_a_value_that_contains_itself_is_refused(make):
    with pytest.raises(NotPlain, match="contains itself"):
        encode(make())


def test_a_list_that_occurs_twice_does_not_contain_itself():
    inner = [1]
    assert encode([inner, inner, (inner,)]) == [[1], [1], {"t": [[1]]}]


WRAPS = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "dict": lambda inner: {"a": inner},
    "deque": lambda inner: collections.deque([inner]),
    "defaultdict": lambda inner: collections.defaultdict(list, a=inner),
    "OrderedDict": lambda inner: collections.OrderedDict(a=inner),
    "Counter": lambda inner: collections.Counter({"a": inner}),
    "frozenset": lambda inner: frozenset([inner]),
    "namedtuple": lambda inner: Pair(inner, 1),
}


def nested(wrap, levels, innermost=0):
    value = innermost
    for _ in range(levels):
        value = wrap(value)
    return value


def depth_of(value):
    depth = 0
    while type(value) is not int:
        value = value["a"] if isinstance(value, dict) else next(iter(value))
        depth += 1
    return depth


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("levels", [50, 150, MAX_DEPTH])
def test_what_may_be_encoded_may_be_decoded_however_deep(wrap, levels):
    form = encode(nested(wrap, levels))
    assert depth_of(decode(form)) == levels


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 5_000])
def test_what_is_nested_too_deep_is_refused(wrap, levels):
    if wrap is WRAPS["frozenset"]:
        levels = MAX_DEPTH + 1  # Python itself cannot hash a deeper one.
    with pytest.raises(NotPlain, match="deep"):
        encode(nested(wrap, levels))


def test_shared_references_that_double_sixty_times_are_refused():
    with pytest.raises(NotPlain, match="more than"):
        encode(nested(lambda a: [a, a], 60, [0]))


def test_shared_references_that_double_are_refused_though_there_is_another_way_out():
    with pytest.raises(NotPlain, match="more than"):
        encode(nested(lambda a: [a, a], 60, [object()]), lambda value, why: None)


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({}, id="no-tag"),
        pytest.param({"t": [], "d": []}, id="two-tags"),
        pytest.param({"zz": 1}, id="unknown-tag"),
        pytest.param({"": 1}, id="empty-tag"),
        pytest.param({"h": 1}, id="handle-without-reference"),
        pytest.param({"r": 1}, id="other-handle-without-reference"),
        pytest.param({"t": 1}, id="tuple-of-a-number"),
        pytest.param({"t": "ab"}, id="tuple-of-text"),
        pytest.param({"t": {"t": []}}, id="tuple-of-a-tagged-tuple"),
        pytest.param({"i": 1}, id="int-of-an-int"),
        pytest.param({"i": "zz"}, id="int-of-text"),
        pytest.param({"i": None}, id="int-of-null"),
        pytest.param({"f": "1.5"}, id="finite-float"),
        pytest.param({"f": []}, id="float-of-a-list"),
        pytest.param({"s": [[]]}, id="set-of-lists"),
        pytest.param({"fs": [{"d": []}]}, id="frozenset-of-dicts"),
        pytest.param({"s": [{"de": "sNaN"}]}, id="set-of-signaling-nan"),
        pytest.param({"d": [[1]]}, id="dict-of-single-items"),
        pytest.param({"d": [[1, 2, 3]]}, id="dict-of-triples"),
        pytest.param({"d": [[[], 1]]}, id="dict-with-a-list-as-key"),
        pytest.param({"d": 7}, id="dict-of-a-number"),
        pytest.param({"ct": [[[], 1]]}, id="counter-with-a-list-as-key"),
        pytest.param({"od": 7}, id="ordered-dict-of-a-number"),
        pytest.param({"b": "a"}, id="base64-cut-short"),
        pytest.param({"b": "é"}, id="base64-beyond-ascii"),
        pytest.param({"b": 1}, id="base64-of-a-number"),
        pytest.param({"ba": "*"}, id="bytearray-not-base64"),
        pytest.param({"c": ["x", "1"]}, id="complex-of-text"),
        pytest.param({"c": []}, id="complex-of-nothing"),
        pytest.param({"rg": ["0x0", "0x1", "0x0"]}, id="range-with-step-zero"),
        pytest.param({"rg": []}, id="range-of-nothing"),
        pytest.param({"rg": ["0x0", "0x3b9aca00", "0x1"]}, id="range-that-takes-long-to-go-through"),
        pytest.param({"dd": ["exec", []]}, id="defaultdict-with-another-factory"),
        pytest.param({"dd": [[], []]}, id="defaultdict-with-a-list-as-factory"),
        pytest.param({"dd": []}, id="defaultdict-of-nothing"),
        pytest.param({"dq": [-1, []]}, id="deque-with-negative-maxlen"),
        pytest.param({"dq": [1 << 80, []]}, id="deque-with-huge-maxlen"),
        pytest.param({"de": "abc"}, id="decimal-of-text"),
        pytest.param({"de": [1]}, id="decimal-of-a-list"),
        pytest.param({"fr": ["0x1", "0x0"]}, id="fraction-over-zero"),
        pytest.param({"fr": ["0x1"]}, id="fraction-without-denominator"),
        pytest.param({"dt": ["date", "yesterday"]}, id="date-of-text"),
        pytest.param({"dt": ["tzinfo", "2024-01-01"]}, id="moment-of-another-class"),
        pytest.param({"dt": [[], ""]}, id="moment-of-a-list"),
        pytest.param({"dt": 1}, id="moment-of-a-number"),
        pytest.param({"td": [10**18, 0, 0]}, id="timedelta-beyond-its-range"),
        pytest.param({"td": [1e400, 0, 0]}, id="timedelta-of-infinity"),
        pytest.param({"td": ["9" * 5000]}, id="timedelta-of-many-digits"),
        pytest.param({"nt": ["Row", ["class"], [1]]}, id="namedtuple-with-a-keyword-as-field"),
        pytest.param({"nt": ["Row", ["a", "a"], [1, 2]]}, id="namedtuple-with-a-field-twice"),
        pytest.param({"nt": ["Row", ["\ufb01", "fi"], [1, 2]]}, id="namedtuple-with-a-field-twice-once-normalised"),
        pytest.param({"nt": ["a b", ["c"], [1]]}, id="namedtuple-with-a-name-of-two-words"),
        pytest.param({"nt": ["Row", ["a): import os #"], [1]]}, id="namedtuple-with-code-as-field"),
        pytest.param({"nt": ["Row", ["a", "b"], [1]]}, id="namedtuple-with-too-few-values"),
        pytest.param({"nt": ["Row", [f"f{i}" for i in range(101)], [0] * 101]}, id="namedtuple-with-many-fields"),
        pytest.param({"nt": []}, id="namedtuple-of-nothing"),
        pytest.param({"nt": [nested(lambda a: [a], 900), [], []]}, id="namedtuple-with-a-deep-list-as-name"),
        pytest.param({"np": ["O", [1], "AAAAAAAAAAA="]}, id="array-of-objects"),
        pytest.param({"np": ["V8", [1], "AAAAAAAAAAA="]}, id="array-of-records"),
        pytest.param({"np": ["i4,O", [1], "AAAAAAAAAAA="]}, id="array-of-records-with-objects"),
        pytest.param({"np": ["<i8", [2], "AAAAAAAAAAA="]}, id="array-of-another-size"),
        pytest.param({"np": ["<i8", [-2], "AAAAAAAAAAA="]}, id="array-with-negative-shape"),
        pytest.param({"np": ["<i8", [1e400], ""]}, id="array-of-infinite-shape"),
        pytest.param({"np": ["<i8", [1 << 62, 1 << 62], ""]}, id="array-of-impossible-shape"),
        pytest.param({"np": ["<i8", [1], "AAAA"]}, id="array-of-part-of-an-item"),
        pytest.param({"np": ["nonsense", [1], ""]}, id="array-of-an-unknown-type"),
        pytest.param({"np": ["(1,2", [0], ""]}, id="array-of-a-type-that-does-not-parse"),
        pytest.param({"np": ["(,)i4", [0], ""]}, id="array-of-a-type-with-a-bad-shape"),
        pytest.param({"np": ["(1,2)i4", [0], ""]}, id="array-of-arrays"),
        pytest.param({"np": ["a3", [1], "AAAA"]}, id="array-of-a-deprecated-type"),
        pytest.param({"np": []}, id="array-of-nothing"),
        pytest.param({"no": [[2], [1]]}, id="array-of-objects-of-another-size"),
        pytest.param({"no": [[-1, -1], [1]]}, id="array-of-objects-with-negative-shape"),
        pytest.param({"no": [["1"], [1]]}, id="array-of-objects-with-text-as-shape"),
        pytest.param({"no": [[1], [{"h": [0, "x", 0]}]]}, id="array-of-handles"),
        pytest.param({"nt": ["Row", ["startswith"], [{"bn": "bool"}]]}, id="namedtuple-with-a-class-as-field"),
        pytest.param({"dt": ["datetime", "2024-01-01", None, "../../etc/passwd", 0]}, id="time-zone-that-is-a-path"),
        pytest.param({"dt": ["datetime", "2024-01-01", None, ["UTC"], 0]}, id="time-zone-that-is-a-list"),
        pytest.param({"dt": ["datetime", "2024-01-01", None, "UTC", 7]}, id="time-zone-with-an-odd-fold"),
        pytest.param({"np": 1}, id="array-of-a-number"),
        pytest.param({"ns": ["<i8", ""]}, id="scalar-of-no-bytes"),
        pytest.param({"ns": ["<i8", "AAAA"]}, id="scalar-of-part-of-an-item"),
        pytest.param(nested(lambda a: [a], 5_000), id="list-too-deep"),
        pytest.param(nested(lambda a: {"t": [a]}, 5_000), id="tuple-too-deep"),
        pytest.param(nested(lambda a: {"d": [[1, a]]}, 5_000), id="dict-too-deep"),
    ],
)
def test_a_forged_form_is_refused(form):
    with pytest.raises(NotPlain):
        decode(form)


TAGS = ["h", "r", *plain._DECODERS]
FORGED_TEXT = st.one_of(
    st.text(max_size=6),
    st.sampled_from([*DTYPES, "O", "date", "time", "datetime", "list", "nan", "inf", "0x1", "-0x0", "AAAA", "abc"]),
    st.text("()[],<>|ifUSMm1 .-+eE", max_size=8),
)
FORGED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | FORGED_TEXT,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(TAGS) | st.text(max_size=2), inner, max_size=2),
        st.dictionaries(st.sampled_from(TAGS), inner, min_size=1, max_size=1),
        st.builds(lambda tag, body: {tag: body}, st.sampled_from(TAGS), st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda d, s, b: {"np": [d, s, b]}, FORGED_TEXT, st.lists(st.integers(-2, 3), max_size=3), FORGED_TEXT
        ),
        st.builds(lambda d, b: {"ns": [d, b]}, FORGED_TEXT, FORGED_TEXT),
        st.builds(lambda n, f, v: {"nt": [n, f, v]}, FORGED_TEXT, st.lists(FORGED_TEXT, max_size=2), st.lists(inner)),
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow])
@given(FORGED)
def test_decoding_any_json_returns_or_raises_not_plain(form):
    with contextlib.suppress(NotPlain):
        decode(form)


def test_a_handle_is_resolved_by_the_reference():
    seen = []
    value = decode([{"h": [1, "why"]}, {"t": [{"r": 2}]}], lambda tag, body: seen.append((tag, body)) or tag)
    assert value == ["h", ("r",)]
    assert seen == [("h", [1, "why"]), ("r", 2)]


def test_a_flood_of_kinds_of_namedtuple_does_not_cost_a_known_kind_its_decoding(monkeypatch):
    monkeypatch.setattr(structures, "_named", {})
    honest = encode(Point(1, 2))
    assert decode(honest) == (1, 2)
    for number in range(1_100):
        try:
            decode({"nt": [f"Flood{number}", ["a"], [1]]})
        except NotPlain:
            break
    assert decode(honest) == (1, 2)


HASH_ALIKE = [k * (2**61 - 1) for k in range(1, 3001)]


@pytest.mark.parametrize(
    "form",
    [
        {"s": HASH_ALIKE},
        {"fs": [*range(10_000), *HASH_ALIKE[:1001]]},
        {"d": [[k, 0] for k in HASH_ALIKE]},
        {"ct": [[k, 0] for k in HASH_ALIKE]},
        {"od": [[k, 0] for k in HASH_ALIKE]},
        {"dd": [None, [[k, 0] for k in HASH_ALIKE]]},
        {"s": [{"t": [k]} for k in HASH_ALIKE]},
    ],
    ids=lambda form: f"{next(iter(form))}{len(next(iter(form.values())))}",
)
def test_a_forged_set_whose_members_hash_alike_is_refused(form):
    with pytest.raises(NotPlain, match="same hash"):
        decode(form)


@pytest.mark.parametrize("value", [set(range(5000)), dict.fromkeys(map(str, range(5000)), 1), set(HASH_ALIKE[:1000])])
def test_a_large_set_or_mapping_is_taken(value):
    assert decode(encode(value)) == value


def test_a_fraction_that_would_take_long_to_cancel_is_refused():
    with pytest.raises(NotPlain, match="bits"):
        decode({"fr": [hex(3 << 10_000_000), hex((5 << 9_000_000) + 1)]})
    assert decode(encode(fractions.Fraction(1, 3**1000))) == fractions.Fraction(1, 3**1000)
