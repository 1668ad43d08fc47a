"""Plain data comes back as it went."""

import collections
import datetime
import decimal
import fractions
import json
import math
import zoneinfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_env.harness.wire.plain import decode, encode
from harness.wire.values import DTYPES, Pair, Point

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


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
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
