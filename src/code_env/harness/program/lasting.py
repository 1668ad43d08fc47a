"""Reports to the tests what a program does to containers that it shares with them beyond one exchange.

At each step an iterator, a generator or a coroutine can change arguments of the call that returned it, and a generator
can yield one list again and again. So both sides keep the containers in the call's arguments, and those that have been
yielded, as long as the program holds them: a container that only this file refers to can no longer change or occur
again. `judge/lasting.py` is the other side; its request has `"forget": true` if it has forgotten the yielded
containers. Each step is an exchange (`containers.py`) in which the kept containers have the first numbers, and its
reply has these fields::

    "values": [{"sa": 1}]           the value
    "changed": [[1, [2, 3]], ...]   the new content of yielded containers
    "kept": [0, 2]                  which of the containers yielded before are kept from now on; absent if all are
    "given": [[0, [1]], ...]        the content of all containers in the arguments, as `changed` in the reply to a call

A program can also hand one list to a function of the tests again and again. So while a request is served, each call of
such a function is a step in the same way, whose values are the arguments. The message has `changed` and `kept`, and the
number of the request as `of`, if it concerns any container. The answer of the tests can have `forget`, and the reply to
the request has the last changes as `handed`.

A container has changed if it holds other objects than before. To compare identities costs little, so the messages of a
step cost more than this. All this runs in the program's process, which is untrusted.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from ..wire.containers import Containers
from ..wire.plain import lasting_number, tags

# Bound here because the program shares this process and can replace them.
_references, _is, _type, _all, _map, _len, _list, _sum = sys.getrefcount, operator.is_, type, all, map, len, list, sum
_BaseException, _StopIteration, _hasattr, _range, _any = BaseException, StopIteration, hasattr, range, any
_dict, _zip = dict, zip
_of = Containers.of

_FREE_ITEMS = 1000
"""How many items a step may look at for changes. If there are more, the last step looks at them, and only some of those
before it: a function that goes through a long list must not become slow."""

_LIKE_ITEMS = 20
"""To look at a container costs as much as to look at this many items, in addition to its own."""

_FEW = 8
"""Up to this number of yielded containers, each step checks which of them the program still holds. If there are more,
this is checked only when their number has doubled."""

_MAPPINGS = (dict, Counter, OrderedDict, defaultdict)


def _items_of(value: Any) -> Any:
    """Return what a container holds, to see later whether it has changed."""
    kind = _type(value)
    if kind in _MAPPINGS:
        return [*kind.keys(value), *kind.values(value)]
    if kind is bytearray:
        return bytes(value)
    if _hasattr(value, "tobytes"):  # A NumPy array.
        return value.ravel().tolist() if value.dtype.kind == "O" else value.tobytes()
    return _list(value)


def _differ(before: Any, now: Any) -> bool:
    if _type(before) is bytes:
        return bool(before != now)
    return _len(before) != _len(now) or not _all(_map(_is, before, now))


def _holders(values: list[Any], at: int) -> int:
    """Return how many references there are to an item of a list."""
    return _references(values[at])


_OURS = _holders([[]], 0)


class _Lasting:
    """The containers that one iterator can still change or yield again.

    Args:
        arguments: Those in the arguments of its call.
    """

    def __init__(self, arguments: list[Any]) -> None:
        self.count = _len(arguments)
        self.known = _of(arguments)
        """The containers in the arguments, then the yielded ones."""
        self._items = [_items_of(value) for value in arguments]
        """The items of each container when the tests last heard of it."""
        self._check_held_at = _FEW
        """The number of yielded containers at which to check next which of them the program still holds."""
        self._cost = self._credit = 0

    def step(self, values: list[Any], encode: Callable[..., Any]) -> dict[str, Any]:
        """Return the reply's fields for a step that gave these values; none means that it was the last step."""
        reply: dict[str, Any] = {}
        self.known.cut(_len(self._items))  # If a value could not be encoded.
        known, last = self.known, _len(self._items)
        reply["values"] = [encode(value, known) for value in values]
        if not last:
            self._items = [_items_of(value) for value in known.values]
            return reply
        held = self._held(last) if values else None
        is_due = self.is_due(reply["values"])
        # What the program has let go, it can have changed before.
        suspects = [at for at in _range(self.count, last) if is_due or (held is not None and at not in held)]
        changed = [at for at in suspects if self._has_changed(at)]
        if changed:
            reply["changed"] = [[at, encode(known.values[at], known, content=True)] for at in changed]
        given = self.changed_arguments(encode, _of(known.values[: self.count])) if is_due else []
        if given:
            reply["given"] = given
        self._items += [_items_of(value) for value in known.values[last:]]
        if held is not None and self.count + _len(held) < last:
            reply["kept"] = [at - self.count for at in held]
            self._keep([*_range(self.count), *held, *_range(last, _len(known.values))])
        return reply

    def changed_arguments(self, encode: Callable[..., Any], known: Containers) -> list[Any]:
        """Return the content of all containers in the arguments if any of them has changed since the last time."""
        if not _any([self._has_changed(at) for at in _range(self.count)]):
            return []
        return [[at, encode(known.values[at], known, content=True)] for at in _range(self.count)]

    def forget(self) -> None:
        """Forget the yielded containers."""
        self._keep(_list(_range(self.count)))

    def take(self, answer: dict[str, Any], value_of: Callable[..., Any]) -> Any:
        """Return the value of the tests' answer to a step, which can also change the containers."""
        self.known.begin_again()
        try:
            return value_of(answer, self.known)
        finally:
            self.known.cut(_len(self._items))
            for at, _ in answer.get("changed", ()):
                self._items[at] = _items_of(self.known.values[at])
            if "forget" in answer:
                self.forget()

    def _keep(self, numbers: list[int]) -> None:
        self.known = _of([self.known.values[at] for at in numbers])
        self._items = [self._items[at] for at in numbers]

    def _held(self, last: int) -> dict[int, bool] | None:
        """Return the numbers of the yielded containers that the program still holds; None if it is not checked now."""
        if _FEW < last - self.count < self._check_held_at:
            return None
        values = self.known.values
        held = {at: True for at in _range(self.count, last) if _holders(values, at) > _OURS}
        self._check_held_at = 2 * _len(held)
        return held

    def _has_changed(self, at: int) -> bool:
        """Return whether a container has changed since this was last asked."""
        before, now = self._items[at], _items_of(self.known.values[at])
        self._items[at] = now
        return _differ(before, now)

    def is_due(self, forms: list[Any]) -> bool:
        """Return whether to look for changes now: if there is credit for it, or if the tests get a container again."""
        self._credit += _FREE_ITEMS
        if self._cost <= self._credit:
            self._cost = _sum(_map(_len, self._items)) + _LIKE_ITEMS * _len(self._items)
        if self._cost > self._credit and forms and "sa" not in tags(forms):
            return False
        self._credit = self._credit - self._cost if self._credit > self._cost else 0
        return True


class Steps:
    """Takes the steps of the program's iterators, generators and coroutines.

    Args:
        encode: Returns the form of a value; it also takes the containers of the exchange.
        raised: Returns the report of an exception.
    """

    def __init__(self, encode: Callable[..., Any], raised: Callable[[BaseException], dict[str, Any]]) -> None:
        self._encode, self._raised = encode, raised
        self._lasting: dict[Any, _Lasting] = {}

    def remember(self, reply: dict[str, Any], arguments: list[Any]) -> None:
        """Remember the containers in a call's arguments if the call gave an iterator, a generator or a coroutine."""
        number = lasting_number(reply.get("value")) if arguments else None
        if number is not None and number not in self._lasting:
            self._lasting[number] = _Lasting(arguments)

    def forget(self, number: Any) -> None:
        """Forget what an iterator has yielded."""
        if number in self._lasting:
            self._lasting[number].forget()

    def take(self, number: Any, advance: Callable[[], Any]) -> dict[str, Any]:
        """Return the reply with the next value, given a function that gets it."""
        lasting = self._lasting.setdefault(number, _Lasting([]))
        try:
            return {**lasting.step([advance()], self._encode), "more": True}
        except _StopIteration as end:
            return self.end(number, {"more": False, "end": self._encode(end.value)})
        except _BaseException as error:
            return self.end(number, {"raised": self._raised(error)})

    def end(self, number: Any, reply: dict[str, Any]) -> dict[str, Any]:
        """Return the reply with the last changes of an iterator that has ended."""
        return {**self._lasting.pop(number, _Lasting([])).step([], self._encode), **reply}

    def given(self, number: Any) -> list[Any]:
        """Return what a coroutine that still runs has made of its arguments since this was last reported."""
        lasting = self._lasting.get(number)
        if lasting is None or not lasting.is_due([None]):
            return []
        return lasting.changed_arguments(self._encode, _of(lasting.known.values[: lasting.count]))

    def wait_for(self, number: Any, run: Callable[[Containers], dict[str, Any]]) -> dict[str, Any]:
        """Return the reply with the result of a coroutine, given a function that runs it within an exchange."""
        lasting = self._lasting.pop(number, _Lasting([]))
        known, arguments = lasting.known, _list(lasting.known.values)
        reply = {**run(known), "changed": lasting.changed_arguments(self._encode, known)}
        self.remember(reply, arguments)
        return reply


class Handing:
    """Hands containers to functions of the tests while requests of the tests are served.

    Args:
        encode: Returns the form of a value; it also takes the containers of the exchange.
    """

    def __init__(self, encode: Callable[..., Any]) -> None:
        self._encode = encode
        self._served: list[tuple[Any, list[_Lasting]]] = []
        """The numbers of the requests that are served, and what each has handed over, if anything."""

    def during(self, number: Any, serve: Callable[[], Any]) -> Any:
        """Return the reply to a request, given a function that makes it, with the last changes.

        If the number is None, nothing is kept.
        """
        lasting: list[_Lasting] = []
        self._served.append((number, lasting))
        try:
            reply = serve()
        finally:
            self._served.pop()
        last = lasting[0].step([], self._encode) if lasting else {}
        return {**reply, "handed": last["changed"]} if "changed" in last else reply

    def step(self, args: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], _Lasting]:
        """Return the fields of the message that hands these arguments over, and the containers that it concerns."""
        number, kept = self._served[-1] if self._served else (None, [])
        if number is None:
            kept = []
        if not kept:
            kept.append(_Lasting([]))
        lasting = kept[0]
        message = lasting.step([*args, *kwargs.values()], self._encode)
        forms = message.pop("values")
        if number is not None and (lasting.known.values or message):
            message["of"] = number
        return {**message, "args": forms[: _len(args)], "kwargs": _dict(_zip(kwargs, forms[_len(args) :]))}, lasting
