"""What a program says that it has set on functions and exceptions of the tests."""

import pytest

from code_env.harness.judge.attributes_set import ChangesByProgram
from code_env.harness.judge.handles import Refusals


@pytest.fixture
def told(monkeypatch):
    texts = []
    monkeypatch.setattr(Refusals, "tell", staticmethod(texts.append))
    return texts


def function_of_tests():
    scope = {}
    exec(compile("def f():\n    f.calls += 1\nf.kept = 0", "<tests>", "exec"), scope)
    return scope["f"]


def test_new_plain_attributes_are_set_and_can_be_set_again(told):
    f, error, changes = function_of_tests(), ValueError("x"), ChangesByProgram()
    for value in (f, error):
        changes.set(value, {"tag": "a", "many": {"t": [1]}})
        changes.set(value, {"tag": "b"})
        assert (value.tag, value.many) == ("b", (1,))
    changes.set(error, {"__notes__": ["one"]})
    changes.set(error, {"__notes__": ["one", "two"]})
    assert error.__notes__ == ["one", "two"]
    assert told == []


@pytest.mark.parametrize(
    "attributes",
    [
        *({name: 1} for name in ("__code__", "__name__", "__defaults__", "_code_env_kept", "a b", "", "kept", "calls")),
        *({"tag": form} for form in ({"h": [0, "x", 1]}, {"m": 0}, {"bn": "int"}, {"zz": 1}, {"none": 3})),
        {"__notes__": ["x"]},
    ],
    ids=str,
)
def test_all_else_is_refused_on_functions(told, attributes):
    f = function_of_tests()
    ChangesByProgram().set(f, attributes)
    assert len(told) == 1
    assert vars(f) == {"kept": 0}


@pytest.mark.parametrize(
    "attributes",
    [*({"__notes__": notes} for notes in (5, ["other"], [], ["own", 1])), {"args": {"t": []}}, {"__cause__": None}],
    ids=str,
)
def test_all_else_is_refused_on_exceptions(told, attributes):
    error = ValueError("x")
    error.add_note("own")
    ChangesByProgram().set(error, attributes)
    assert len(told) == 1
    assert (error.args, error.__notes__) == (("x",), ["own"])


@pytest.mark.parametrize(
    "value", [len, ChangesByProgram, pytest.fixture, [].append], ids=["len", "class", "fixture", "append"]
)
def test_nothing_is_set_on_objects_of_others(told, value):
    ChangesByProgram().set(value, {"tag": 1})
    assert len(told) == 1
    assert not hasattr(value, "tag")


def test_what_the_tests_have_set_since_is_theirs(told):
    f, changes = function_of_tests(), ChangesByProgram()
    changes.set(f, {"tag": "a"})
    f.tag = "own"
    changes.set(f, {"tag": "b"})
    assert f.tag == "own"
    assert len(told) == 1
