"""Exceptions as they are told of by a process that may tell anything."""

import asyncio
import builtins
import dataclasses
import json
import sys
import unittest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_env.harness.judge.exceptions import OwnException, ProgramError, own_exception, rebuilt
from code_env.harness.judge.handing import Handed
from code_env.harness.judge.handles import Handle, HandleMisuse, handle_class, named_handle
from code_env.harness.judge.lasting import LastingContainers
from code_env.harness.judge.origin import Origin
from code_env.harness.wire.plain import Decoder, NotPlain, encode
from code_env.harness.wire.subclasses import Members


def handed(*values):
    hands = Handed(Decoder(), Members(), LastingContainers(), lambda *_: None)
    for value in values:
        hands.argument(value)
    return hands


def made(raised, own=(), hands=None, expected=()):
    raised = {"name": "E", "message": "m", "builtin": "ValueError", "args": ["m"], **raised}
    return rebuilt(raised, Decoder(), dict(own), hands or handed(), frozenset(expected))


def of(module, name, builtin="ValueError"):
    return {"name": name, "builtin": builtin, "library": [[module, name]]}


class Mine(Exception):
    pass


Mine.__module__ = "tests"


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        ({}, ValueError, "m"),
        ({"builtin": "OSError", "args": [2, "gone", "a.txt"]}, FileNotFoundError, "[Errno 2] gone: 'a.txt'"),
        ({"builtin": "SystemExit", "args": [0]}, ProgramError, "E: m"),
        ({"builtin": "KeyboardInterrupt"}, ProgramError, "E: m"),
        ({"builtin": "StopIteration"}, RuntimeError, "the program raised E"),
        ({"builtin": "print"}, ProgramError, "E: m"),
        ({"builtin": 7}, ProgramError, "E: m"),
        ({"builtin": "UnicodeDecodeError"}, ProgramError, "E: m"),
        (of("json", "JSONDecodeError"), json.JSONDecodeError, "m"),
        (of("json.decoder", "JSONDecodeError"), json.JSONDecodeError, "m"),
        (of("unittest.case", "SkipTest", builtin="Exception"), Exception, "m"),
        (of("unittest", "SkipTest", builtin="Exception"), Exception, "m"),
        (of("asyncio", "CancelledError", builtin="Exception"), Exception, "m"),
        (of("os", "system"), ValueError, "m"),
        (of("code_env.harness.judge.handles", "HandleMisuse", builtin="Exception"), Exception, "m"),
        (of("dataclasses", "FrozenInstanceError"), ValueError, "m"),
        ({"library": [[["json"], 5], 7]}, ValueError, "m"),
        (of("numpy.linalg", "LinAlgError"), ValueError, "m"),
        (of("hypothesis.errors", "UnsatisfiedAssumption", builtin="Exception"), Exception, "m"),
        ({"group": [7], "builtin": "ExceptionGroup"}, ProgramError, "E: m"),
        ({"given": 0}, NotPlain, "not handed over"),
        ({"m": 0}, NotPlain, "not handed over"),
        ({"m": -1}, NotPlain, "not handed over"),
        ({"m": "0"}, NotPlain, "not handed over"),
        ({"args": [{"bn": "bool"}]}, NotPlain, "handle"),
        ({"attributes": {"matches": {"bn": "bool"}}}, NotPlain, "handle"),
    ],
    ids=str,
)
def test_what_is_told_chooses_among_known_classes(raised, kind, text):
    assert {asyncio.__name__, dataclasses.__name__, unittest.__name__} <= set(sys.modules)
    if kind is NotPlain:
        with pytest.raises(NotPlain, match=text):
            made(raised)
    else:
        error = made(raised)
        assert (type(error), str(error)) == (kind, text)


def test_what_the_tests_look_for_they_get():
    expected = ("SystemExit", "StopIteration")
    assert made({"builtin": "SystemExit", "args": [2]}, expected=expected).code == 2
    assert type(made({"builtin": "StopIteration"}, expected=expected)) is StopIteration
    assert type(made({"builtin": "KeyboardInterrupt"}, expected=expected)) is ProgramError


def test_an_exception_of_the_tests_comes_back_as_it_is():
    error = Mine("x")
    assert made({"m": 0}, hands=handed(error)) is error
    again = made({"given": 0, "args": ["y"]}, hands=handed(Mine))
    assert (type(again), again.args) == (Mine, ("y",))


def test_what_is_no_exception_is_not_raised():
    assert type(made({"m": 0}, hands=handed(lambda: 1))) is ValueError
    assert type(made({"given": 0}, hands=handed(lambda: 1))) is ValueError


def test_attributes_replace_nothing_that_an_exception_has():
    told = {"attributes": {"args": [9], "with_traceback": 1, "__cause__": 5, "a b": 1, "_code_env_kept": 1, "code": 5}}
    error = made(told)
    assert not hasattr(error, "_code_env_kept")
    assert (error.args, error.code, error.__cause__, callable(error.with_traceback)) == (("m",), 5, None, True)
    blocked = made({"builtin": "BlockingIOError", "attributes": {"characters_written": encode(10**30), "code": 5}})
    assert (type(blocked), blocked.code) == (BlockingIOError, 5)


def test_own_classes_derive_from_each_other():
    base = own_exception("Base", [], ["ValueError"], [], {}, dict)
    sub = own_exception("Sub", ["Base"], ["ValueError"], [], {"Base": base}, dict)
    assert sub.__mro__[:3] == (sub, base, OwnException)
    assert sub.__mro__[4:6] == (ValueError, Exception)
    told = {"name": "Sub", "classes": ["Sub", "Base"], "attributes": {"code": 7}}
    error = made(told, {"Base": base, "Sub": sub})
    assert (type(error), error.code, str(error)) == (sub, 7, "m")
    further, again = (made({**told, "name": "More"}, {"Base": base, "Sub": sub}) for _ in range(2))
    assert (type(further).__name__, type(further).__bases__, further.code) == ("More", (sub,), 7)
    assert type(further) is type(again)
    for bases in ([], ["StopIteration", "ValueError"], ["SystemExit"], ["print"], ["nothing"], [7], 7, None):
        assert own_exception("Odd", [], bases, [], {}, dict) is None


def test_a_class_of_a_package_must_be_named_by_the_tests():
    linalg = pytest.importorskip("numpy").linalg
    told = of("numpy.linalg", "LinAlgError")
    assert type(made(told, expected=["LinAlgError"])) is linalg.LinAlgError
    own = made({**told, "name": "Singular", "message": "text"}, expected=["LinAlgError"])
    assert (type(own).__name__, isinstance(own, linalg.LinAlgError), str(own)) == ("Singular", True, "text")
    assert type(made({**told, "builtin": "KeyError"}, expected=["LinAlgError"])) is KeyError
    for name in ("SkipTest", "UnsatisfiedAssumption"):
        modules = ("unittest", "hypothesis.errors")
        assert {type(made(of(module, name, builtin="Exception"), expected=[name])) for module in modules} == {Exception}


def test_an_exception_knows_what_led_to_it():
    cause = {"name": "E", "message": "c", "builtin": "KeyError", "args": ["c"]}
    error = made({"cause": cause, "context": "cause", "suppress": True})
    assert type(error.__cause__) is KeyError
    assert error.__context__ is error.__cause__
    error = made({"context": {**cause, "context": cause}, "suppress": True})
    assert (error.__cause__, error.__suppress_context__, error.__context__.__suppress_context__) == (None, True, False)
    assert type(error.__context__.__context__) is KeyError


TWO_BASES = [["KeyError", "AttributeError"], ["OSError", "KeyError"], ["SyntaxError", "OSError"]]


@pytest.mark.parametrize("names", TWO_BASES, ids=str)
def test_a_class_derives_from_all_its_builtin_bases_if_it_can(names):
    kinds = [getattr(builtins, name) for name in names]
    own = own_exception("Own", [], names, [], {}, dict)
    sub = own_exception("Sub", ["Own"], [*names, "ZeroDivisionError"], [], {"Own": own}, dict)
    told = {"builtin": names[0], "builtins": names, "args": ["x"], "message": "text"}
    unnamed = made({**told, "classes": ["E"]})
    named = made({**told, "classes": ["Own"]}, {"Own": own})
    apart = names == ["SyntaxError", "OSError"]  # Python has no class with both.
    for error in (unnamed, named, sub.__new__(sub)):
        assert [isinstance(error, kind) for kind in kinds] == [True, not apart]
    assert isinstance(sub.__new__(sub), ZeroDivisionError) is not apart
    assert (str(unnamed), str(named), unnamed.args) == ("text", "text", ("x",))


def test_an_exception_of_a_class_that_is_not_named_is_of_a_class_of_its_own():
    told = {"classes": ["E", "ValueError"], "attributes": {"code": 5}}
    error, other = made(told), made({**told, "message": "n"})
    assert (type(error).__name__, type(error).__bases__[-1], error.code, str(error)) == ("E", ValueError, 5, "m")
    assert type(error) is type(other)
    assert type(error) is not ValueError
    assert (str(other), other.args) == ("n", ("m",))
    long = "x" * 9000
    assert str(made({**told, "args": [long], "message": "x ... left out ... x" * 500})) == long
    assert type(made({**told, "name": "no name"})).__name__ == "ValueError"
    assert type(made({**told, "builtin": "StopIteration"})) is RuntimeError
    assert type(made({**told, "builtin": "ExceptionGroup"})) is ProgramError
    assert type(made({**told, "builtins": ["KeyError"]})) is ValueError
    assert type(made({**told, "builtin": "UnicodeDecodeError"})) is ProgramError


UNICODE = {"UnicodeDecodeError": ["u", b"x"], "UnicodeEncodeError": ["u", "x"], "UnicodeTranslateError": ["x"]}


def test_the_program_is_asked_whether_an_exception_that_it_keeps_is_of_a_class():
    class Program:
        def operate(self, name, args, origin=None):
            return (name, args) == ("isinstance", (kept, own))

    kept = handle_class(Handle, "Own", 0)(Program(), 7, "Own", Origin.RESULT)
    own, other = (own_exception(name, [], ["ValueError"], [], {}, dict) for name in ("Own", "Other"))
    error = made({"name": "Own", "classes": ["Own"]}, {"Own": own})
    assert [isinstance(one, kind) for kind in (own, other) for one in (kept, error)] == [True, True, False, False]
    for kind in (OwnException, type("OfTests", (own,), {})):
        assert not isinstance(kept, kind)
    with pytest.raises(HandleMisuse, match="shared"):
        isinstance(kept, type(made({"classes": ["E"]})))
    with pytest.raises(HandleMisuse, match="shared"):
        issubclass(type(kept), own)


@pytest.mark.parametrize("classes", [["Own"], ["More", "Own"], ["E"]])
def test_the_programs_class_defines_the_operators(classes):
    own = own_exception("Own", [], ["ValueError"], ["eq"], {}, dict)
    told = {"name": classes[0], "classes": classes, "operators": ["eq", "len", "str", "nothing", 7, None]}
    error = made(told, {"Own": own})
    for use in (lambda: error == 5, lambda: error != 5, lambda: error in [5], lambda: error == error):
        with pytest.raises(HandleMisuse, match="shared"):
            use()
    assert str(error) == "m"
    assert type(error).__hash__ is None
    plain = made({**told, "operators": "eq"}, {"Own": own_exception("Own", [], ["ValueError"], [], {}, dict)})
    assert (plain == plain, plain != 5, bool(plain)) == (True, True, True)


def test_attributes_of_a_class_are_read_from_the_programs_class():
    class Program:
        def get(self, handle, name):
            return {"status": 404}[name]

    own = own_exception("Own", [], ["ValueError"], [], {}, dict)
    own._code_env_class = named_handle(Program(), "Own", Origin.CLASS, forwards=False)
    error = made({"name": "Own", "classes": ["Own"]}, {"Own": own})
    assert [kind.status for kind in (own, type(error), type("OfTests", (own,), {}))] == [404] * 3
    for classes in (["More", "Own"], ["E"]):
        unnamed = made({"name": classes[0], "classes": classes}, {"Own": own})
        with pytest.raises(HandleMisuse, match="shared"):
            _ = type(unnamed).status
    assert not hasattr(own, "_status")
    assert not hasattr(OwnException, "status")


@pytest.mark.parametrize("classes", [None, ["E"], ["Own"]])
@pytest.mark.parametrize("start", [-1, -(10**12), np.int64(-8)])
@pytest.mark.parametrize("name", UNICODE)
def test_an_error_of_unicode_shows_nothing_of_the_judges_memory(name, start, classes):
    told = {"builtin": name, "classes": classes, "attributes": {"object": 1, "start": -9}}
    for at in (start, 0):
        args = [encode(one) for one in (*UNICODE[name], at, at + 1, "r")]
        error = made({**told, "args": args}, {"Own": own_exception("Own", [], [name], [], {}, dict)})
        assert str(error) == "m" or ("position 0" in str(error)) == (at == 0)


def test_an_exception_of_an_unnamed_class_goes_back_as_its_builtin_class():
    error = made({"classes": ["E"], "message": "n", "attributes": {"code": 5}})
    form = handed().argument(error)
    assert form == {"er": [0, {"bn": "ValueError"}, ["m"], {"code": 5}]}


FORGED = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3) | st.sampled_from(["ValueError", "json"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["bn", "m", "t", "args"]), inner),
    max_leaves=8,
)
FIELDS = ("builtin", "args", "m", "given", "library", "group", "classes", "attributes", "notes", "cause", "message")
FIELDS += ("context", "suppress", "object", "name", "operators", "objects")


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(FIELDS), FORGED))
def test_whatever_is_told_gives_an_exception_or_is_refused(raised):
    try:
        error = rebuilt(raised, Decoder(), {}, handed(Mine("x"), Mine))
    except NotPlain:
        return
    assert isinstance(error, Exception)
