"""A form that no encoding makes is refused, and takes neither long nor anything away from others."""

import contextlib
import fractions

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_env.harness.wire import plain, structures
from code_env.harness.wire.plain import NotPlain, decode, encode
from harness.wire.values import DTYPES, Point, nested


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


@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow])
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
