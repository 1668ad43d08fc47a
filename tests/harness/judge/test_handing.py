"""What the tests hand over, asked for by a process that may ask for anything."""

import collections
import functools

import pytest

from code_env.harness.judge.handing import Handed
from code_env.harness.judge.handles import HandleMisuse, ProgramDied, Refusals
from code_env.harness.judge.lasting import LastingContainers
from code_env.harness.wire.plain import Decoder, NotPlain
from code_env.harness.wire.subclasses import Members


@pytest.fixture
def lasting():
    return LastingContainers()


@pytest.fixture
def hands(lasting):
    made = Handed(Decoder(lambda tag, body: made.given(body)), Members(), lasting, lambda *_: None)
    yield made
    made.close()


def test_the_same_function_has_the_same_number(hands):
    def one():
        """Says one."""

    class Listener:
        def hear(self):
            pass

    listener = Listener()
    forms = [hands.argument(value) for value in (one, one, listener.hear, listener.hear, Listener().hear)]
    assert [form["cb"][0] for form in forms] == [0, 0, 1, 1, 2]
    assert (forms[0]["cb"][1]["name"], forms[0]["cb"][1]["doc"]) == ("one", "Says one.")


def test_the_same_method_of_a_builtin_object_has_the_same_number(hands):
    one, other = [], []
    values = [one.append, one.append, other.append, one.extend, one.__len__, one.__len__, one.append]
    assert [hands.argument(value)["cb"][0] for value in values] == [0, 0, 1, 2, 3, 3, 0]
    assert hands.argument(one.__len__) != hands.argument(other.__len__)
    base = collections.OrderedDict(a=1)
    assert hands.argument(base.pop) != hands.argument(super(collections.OrderedDict, base).pop)


@pytest.mark.parametrize("number", [1, -1, True, "0", None, 0.0, [0]])
def test_what_was_not_given_cannot_be_called(hands, number):
    hands.argument(lambda: 1)
    with pytest.raises(ProgramDied):
        hands.answer({"callback": number})


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "next", "count": 1},
        {"do": "await"},
        {"do": "send", "args": [1]},
        {"do": "close"},
        {"do": "__class__"},
        {"do": ["call"]},
        {"args": [{"h": [0, "x", 1]}, {"zz": 1}]},
    ],
    ids=str,
)
def test_a_function_takes_no_other_step(hands, request_):
    hands.argument(lambda *args: 1)
    with pytest.raises(HandleMisuse):
        hands.answer({"callback": 0, **request_})


@pytest.mark.parametrize("count", [0, -1, 101, 10**9, None, True + 0.5, "1"])
def test_an_iterator_gives_so_many_values_at_once(hands, count):
    hands.argument(iter(range(1000)))
    with pytest.raises(HandleMisuse):
        hands.answer({"callback": 0, "do": "next", "count": count})


def test_what_a_call_gave_is_not_handed_over_where_the_program_may_have_chosen_it(hands):
    for function, args in [(functools.partial, [{"m": 0}]), (type, ["X", {"t": []}, {"d": []}]), (lambda: "".join, [])]:
        number = hands.argument(function)["cb"][0]
        reply = hands.answer({"callback": number, "args": args})
        assert "only plain data can be handed over" in str(reply), reply


def test_a_class_that_the_program_had_made_is_not_handed_over(hands):
    class Own(Exception):
        pass

    Own.__module__ = "tests"
    assert hands.argument(Own) == {"ec": [0, "Own", "tests", [{"bn": "Exception"}]]}
    hands.argument(type)
    reply = hands.answer({"callback": 1, "args": ["X", {"t": [{"m": 0}]}, {"d": []}]})
    assert "only plain data can be handed over" in str(reply)


def test_changes_of_arguments_are_told(hands):
    hands.argument(lambda xs, d, *, more: (xs.append(1), more.pop()))
    reply = hands.answer({"callback": 0, "args": [[0], {"d": []}], "kwargs": {"more": [5]}})
    assert reply["changed"] == [[0, [0, 1]], [2, []]]


def test_what_is_handed_over_again_is_the_same_object_with_its_present_content(hands, lasting):
    got = []
    number = hands.argument(lambda *args: got.append(args[0]))["cb"][0]
    assert hands.answer({"callback": number, "of": 5, "args": [[1]]}) == {"value": None}
    assert hands.answer({"callback": number, "of": 6, "args": [[1]]}) == {"value": None}
    again = {"callback": number, "of": 5, "args": [{"sa": 0}], "changed": [[0, [1, 2]]]}
    assert hands.answer(again) == {"value": None}
    assert got == [[1, 2], [1], [1, 2]]
    assert got[2] is got[0]
    lasting.end_of_request(5, {"handed": [[0, []]]}, Decoder())
    assert got == [[], [1], []]
    with pytest.raises(HandleMisuse):  # It is forgotten.
        hands.answer({"callback": number, "of": 5, "args": [{"sa": 0}]})


def test_what_a_function_changes_and_returns_has_the_numbers_of_this_exchange(hands):
    mine = [7]

    def change(a):
        a.append(0)
        return [mine, a, mine]

    number = hands.argument(change)["cb"][0]
    hands.answer({"callback": number, "of": 5, "args": [[1]]})
    reply = hands.answer({"callback": number, "of": 5, "args": [[2]]})
    assert reply == {"value": [[7], {"sa": 1}, {"sa": 2}], "changed": [[1, [2, 0]]]}
    assert hands.answer({"callback": number, "of": 5, "args": [{"sa": 1}]})["value"][0] == [7]


def test_too_much_of_what_is_handed_over_is_forgotten(hands):
    number = hands.argument(lambda *args: None)["cb"][0]
    replies = [hands.answer({"callback": number, "of": 5, "args": [[at]]}) for at in range(300)]
    assert [at for at, reply in enumerate(replies) if "forget" in reply] == [256]
    assert hands.answer({"callback": number, "of": 5, "args": [[1]]}, 1 << 21)["forget"] is True
    raising = hands.argument(lambda *args: 1 // 0)["cb"][0]
    assert {"raised", "forget"} == hands.answer({"callback": raising, "of": 5, "args": [[1]]}, 1 << 21).keys()


FORGED = [
    *({"changed": [[at, [1]]]} for at in (1, -1, None, "0")),
    *({"changed": changed} for changed in (5, [[0]], [[0, {"d": []}]], [[0, [{"sa": 9}]]], [[0, [{"h": 1}]]])),
]


@pytest.mark.parametrize("forged", [*FORGED, {"kept": [3]}, {"kept": 1}, {"args": [{"sa": 9}]}], ids=str)
def test_forged_changes_of_what_was_handed_over_are_refused(hands, forged):
    number = hands.argument(lambda *args: None)["cb"][0]
    hands.answer({"callback": number, "of": 5, "args": [[1]]})
    with pytest.raises(HandleMisuse):
        hands.answer({"callback": number, "of": 5, "args": [], **forged})


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_forged_last_changes_are_refused(hands, lasting, forged):
    number = hands.argument(lambda *args: None)["cb"][0]
    hands.answer({"callback": number, "of": 5, "args": [[1]]})
    with pytest.raises(HandleMisuse):
        lasting.end_of_request(5, {"handed": forged["changed"]}, Decoder())


class Own:
    """As if the tests had defined it."""

    size = 1

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Own) and self.number == other.number


class Called(Own):
    """Can be called, too."""

    def __call__(self):
        return self.number


Own.__module__ = Called.__module__ = "tests"


def test_an_object_of_the_tests_can_be_compared_and_nothing_else(hands):
    a, b = Own(1), Own(1)
    numbers = [hands.argument([one])[0]["ob"][0] for one in (a, b)]
    use = {"callback": numbers[0], "do": "use"}
    assert hands.answer({**use, "name": "__eq__", "args": [{"m": numbers[1]}]}) == {"value": True}
    assert hands.answer({**use, "name": "__eq__", "args": [1]}) == {"value": False}
    refused = [
        *({**use, "name": name, "args": []} for name in ("size", "__init__", "__class__", "__dict__", "__globals__")),
        *({"callback": numbers[0], "do": do, "args": []} for do in ("call", "next", "await", "send", "close")),
    ]
    for request in refused:
        reply = hands.answer(request)
        assert list(reply) == ["raised"], request


@pytest.mark.parametrize("name", [None, 7, ["__eq__"], "__init__", "x" * 200], ids=str)
def test_a_malformed_use_gives_nothing(hands, name):
    number = hands.argument(Own(1))["ob"][0]
    assert "raised" in hands.answer({"callback": number, "do": "use", "name": name, "args": "ab"})


def test_what_a_function_gives_cannot_be_called(hands):
    number = hands.argument(lambda: Called(3))["cb"][0]
    token = hands.answer({"callback": number, "args": []})["value"]["ob"][0]
    assert "raised" in hands.answer({"callback": token, "args": []})


def test_a_class_and_an_object_of_it_cross_together(hands):
    made = hands.argument(Called(3))["cb"][1]["class"]
    number, name, special, (base,), has_checks = made
    assert (name, has_checks, "__call__" in special, "__eq__" in special) == ("Called", False, True, True)
    assert hands.argument([Own(1)])[0]["ob"][1] == base
    assert hands.argument(lambda: 1)["cb"][0] not in (number, base[0])
    assert hands.argument(Called) == {"cl": made}


def test_a_class_can_be_called_only_if_the_tests_handed_it_over(hands):
    number = hands.argument([Own(1)])[0]["ob"][1][0]
    assert "raised" in hands.answer({"callback": number, "args": [2]})
    hands.argument(Own)
    made = hands.answer({"callback": number, "args": [2]})["value"]["ob"]
    assert made[1][0] == number
    assert hands.given(made[0]).number == 2
    function = hands.argument(lambda: Called)["cb"][0]
    given = hands.answer({"callback": function, "args": []})["value"]["cl"][0]
    assert "raised" in hands.answer({"callback": given, "args": [2]})


@pytest.mark.parametrize("name", ["size", "__init__", "__dict__", "__setattr__", "__signature__", "__init_subclass__"])
def test_what_else_is_done_with_a_class_is_refused(hands, name, monkeypatch):
    told = []
    monkeypatch.setattr(Refusals, "tell", staticmethod(told.append))
    number = hands.argument(Own)["cl"][0]
    assert "raised" in hands.answer({"callback": number, "do": "use", "name": name, "args": []})
    assert [text.partition(",")[0] for text in told] == [f"the program used {name!r} of the class Own"]


@pytest.mark.parametrize("args", [None, [], [1, 2], [{"m": 9}], "a", [{"zz": 1}]], ids=str)
def test_a_malformed_check_of_a_class_gives_nothing(hands, args):
    number = hands.argument(Own)["cl"][0]
    request = {"callback": number, "do": "use", "name": "__subclasscheck__", "args": args}
    try:
        assert "raised" in hands.answer(request)
    except HandleMisuse:
        assert args in ([{"m": 9}], [{"zz": 1}])


def test_what_comes_back_has_the_attributes_that_the_program_set(hands):
    error = ValueError("x")
    number = hands.argument(error)["er"][0]
    assert hands.come_back(number) is error
    assert hands.come_back([number, {"tag": "a"}]) is error
    assert error.tag == "a"
    for malformed in ([number], [number, 5], [number, None], [9, {}], [[number, {}], {}], [number, {}, {}], []):
        with pytest.raises(NotPlain):
            hands.come_back(malformed)
