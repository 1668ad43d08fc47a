"""Keeps containers that the program can still change, yield again, or hand to a function of the tests again.

`program/lasting.py` is the other side and says what crosses. A list that is yielded or handed over twice is one list
for the tests, with its present content. Changes to arguments are held back while a case is evaluated, as those of a
call are, see `held_changes.py`. A forged number can only name a container of the same iterator, or one that the program
has handed over itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..wire.containers import Containers
from ..wire.plain import Decoder, Encoder, NotPlain, lasting_number
from .handles import HandleMisuse

_MOST_YIELDED = 256
"""The most yielded containers that are kept of one iterator. If there are more, all of them are forgotten."""

_MOST_BYTES = 1 << 20
"""The most bytes of the messages in which these containers came."""


class _Lasting:
    def __init__(self, arguments: list[Any], *, is_of_coroutine: bool = False) -> None:
        self.arguments, self.is_of_coroutine = arguments, is_of_coroutine
        self.known = Containers.of(arguments)
        """The containers in the arguments, then the yielded ones."""
        self._sizes: list[int] = []
        """For each yielded container, the bytes of the message in which it came; 0 if it was not the first in it."""
        self.has_forgotten = False
        self.is_held = False
        """Whether `known` has copies of the arguments, with the changes that are held back."""
        self.held_by: object = None
        """The statement of the tests that holds them back."""
        self.given: Any = None
        """These changes, encoded."""

    def forgets(self) -> dict[str, Any]:
        """Return the field that tells the program to forget yielded containers; nothing if it was told already."""
        if not self.has_forgotten:
            return {}
        self.has_forgotten = False
        return {"forget": True}

    def step(self, reply: dict[str, Any], size: int, decoder: Decoder) -> list[Any]:
        """Return the values of a step, and bring the yielded containers up to date."""
        known, first = self.known, len(self.arguments)
        known.begin_again()
        last = len(known.values)
        decoder = decoder.within(known)
        values = [decoder.decode(form) for form in reply["values"]]
        if reply.get("changed"):
            known.change(_contents(reply["changed"], decoder, range(first, last)))
        before, kept = len(self._sizes), reply.get("kept")
        if len(known.values) > last:
            self._sizes += [size, *[0] * (len(known.values) - last - 1)]
        if kept is not None:
            if type(kept) is not list or not all(type(at) is int and 0 <= at < before for at in kept):
                raise NotPlain("no yielded container has that number")
            self._keep([*kept, *range(before, len(self._sizes))])
        return values

    def limit(self) -> None:
        """Forget the yielded containers if there are too many."""
        if len(self._sizes) > _MOST_YIELDED or sum(self._sizes) > _MOST_BYTES:
            self._keep([])
            self.has_forgotten = True

    def _keep(self, numbers: list[int]) -> None:
        """Keep these of the yielded containers."""
        values, first = self.known.values, len(self.arguments)
        self.known = Containers.of([*values[:first], *(values[first + at] for at in numbers)])
        self._sizes = [self._sizes[at] for at in numbers]

    def change_arguments(self, given: Any, decoder: Decoder) -> None:
        """Give the arguments, or their copies if changes are held back, their new content."""
        known = Containers.of(self.known.values[: len(self.arguments)])
        known.change(_contents(given, decoder.within(known), range(len(self.arguments))))

    def hold(self, given: Any) -> list[tuple[Any, Any]]:
        """Hold back changes to the arguments. Return pairs of a copy and its argument, for the copies made here."""
        self.given = given
        if self.is_held:
            return []
        copies = Containers.of(self.arguments).copied().values
        self._replace_arguments(copies)
        self.is_held = True
        return list(zip(copies, self.arguments, strict=True))

    def let_go(self, decoder: Decoder) -> None:
        """Make the changes that were held back."""
        self._replace_arguments(self.arguments)
        self.is_held = False
        self.change_arguments(self.given, decoder)

    def _replace_arguments(self, values: list[Any]) -> None:
        self.known = Containers.of([*values, *self.known.values[len(values) :]])


def _contents(forms: Any, decoder: Decoder, numbers: range) -> list[tuple[int, Any]]:
    contents = [(number, decoder.content(form)) for number, form in forms or ()]
    if any(type(number) is not int or number not in numbers for number, _ in contents):
        raise NotPlain("no container has that number")
    return contents


def _content(value: Any, arguments: list[Any]) -> Any:
    """Return the form of the content of one of the containers in the arguments; None if it is not plain data alone."""
    try:
        return Encoder(known=Containers.of(arguments)).encode(value, content=True)
    except NotPlain:
        return None


@contextlib.contextmanager
def _malformed_is_not_plain() -> Iterator[None]:
    """Raise `NotPlain` instead of another exception, as for a content that does not fit its container."""
    try:
        yield
    except NotPlain:
        raise
    except Exception as error:
        raise NotPlain(f"malformed changes: {type(error).__name__}") from error


class LastingContainers:
    """The containers that the iterators, generators and coroutines of one answer can still change or yield."""

    def __init__(self) -> None:
        self._lasting: dict[Any, _Lasting] = {}
        self._holding: dict[int, _Lasting] = {}
        self._handed: dict[int, _Lasting] = {}
        """What the program has handed to functions of the tests, by the numbers of the requests that it serves."""

    def remember(self, form: Any, known: Containers, count: int) -> None:
        """Remember the first `count` containers of an exchange, its arguments, if its value is such an object."""
        number = lasting_number(form) if count else None
        if number is not None and number not in self._lasting:
            self._lasting[number] = _Lasting(known.values[:count], is_of_coroutine="co" in form)

    def refuse_shared(self, number: Any, forms: Any) -> None:
        """Refuse a change to a container that another coroutine has got too: the program has a copy for each of them.

        Args:
            number: The number of the coroutine that has made the changes.
            forms: Number and content of containers in its arguments, as the program reports them.

        Raises:
            HandleMisuse: If another coroutine that has not ended got such a container.
        """
        mine = self._lasting.get(number)
        others = [one for one in self._lasting.values() if one is not mine and one.is_of_coroutine]
        if mine is None or not others or not forms or type(forms) is not list:
            return
        shared = {id(value) for one in others for value in one.arguments}.intersection(map(id, mine.arguments))
        for at, value in enumerate(mine.arguments):
            if id(value) in shared and [at, _content(value, mine.arguments)] not in [[at, None], *forms]:
                raise HandleMisuse(
                    f"two coroutines got one {type(value).__name__}, and one of them changed it before the other had "
                    'ended: each has a copy; judge="shared" lets them share it'
                )

    def request(self, number: Any) -> dict[str, Any]:
        """Return the fields that a request for a step needs in addition."""
        lasting = self._lasting.get(number)
        return {} if lasting is None else lasting.forgets()

    def step(
        self,
        number: Any,
        reply: dict[str, Any],
        size: int,
        decoder: Decoder,
        stands_for: dict[int, Any] | None,
        scope: object = None,
    ) -> list[Any]:
        """Return the values of a step.

        Args:
            number: The number of the iterator.
            reply: The reply.
            size: How many bytes the reply has.
            decoder: Rebuilds values of the program.
            stands_for: Gets pairs of a copy and its argument, by the id of the copy, if changes are held back;
                otherwise None.
            scope: The statement of the tests that holds them back.

        Raises:
            NotPlain: If the reply is malformed.
        """
        lasting = self._lasting.setdefault(number, _Lasting([]))
        if reply.get("more") is not True:
            del self._lasting[number]
        with _malformed_is_not_plain():
            given = reply.get("given")
            if given and stands_for is not None:
                stands_for.update((id(copy), (copy, original)) for copy, original in lasting.hold(given))
                if self._holding.setdefault(id(lasting), lasting).held_by is None:
                    lasting.held_by = scope
            values = lasting.step(reply, size, decoder)
            lasting.limit()
            if given:
                lasting.change_arguments(given, decoder)
        return values

    def handed(
        self, request: dict[str, Any], forms: list[Any], size: int, decoder: Decoder
    ) -> tuple[list[Any], Containers]:
        """Return what the program hands to a function of the tests.

        Args:
            request: The program's message.
            forms: The arguments in it.
            size: How many bytes it has.
            decoder: Rebuilds values of the program.

        Returns:
            The arguments, and the containers of this exchange, which are those in the arguments.

        Raises:
            NotPlain: If the message is malformed.
        """
        of = request.get("of")
        lasting = _Lasting([]) if of is None else self._handed.setdefault(of, _Lasting([]))
        with _malformed_is_not_plain():
            values = lasting.step({**request, "values": forms}, size, decoder)
        known = lasting.known.only(lasting.known.within(values))
        lasting.limit()
        return values, known

    def forgets(self, of: Any) -> dict[str, Any]:
        """Return the fields that the answer to a message needs in addition; `of` is the request that it names."""
        lasting = self._handed.get(of)
        return {} if lasting is None else lasting.forgets()

    def end_of_request(self, number: int, reply: dict[str, Any], decoder: Decoder) -> None:
        """Make the last changes to what the program has handed over while it served a request, and forget it.

        Raises:
            HandleMisuse: If the reply is malformed.
        """
        lasting = self._handed.pop(number, None)
        if reply.get("handed") is None:
            return
        try:
            (lasting or _Lasting([])).step({"values": [], "changed": reply["handed"]}, 0, decoder)
        except Exception as error:
            raise HandleMisuse(f"what a function of the tests got has become no plain data: {error}") from error

    def take_arguments(self, number: Any) -> Containers:
        """Return the containers in the arguments of a coroutine, and forget them: it has run to its end."""
        return self._lasting.pop(number, _Lasting([])).known

    def change_arguments(self, number: Any, given: Any, decoder: Decoder) -> None:
        """Give the arguments of a coroutine that still runs their new content.

        Raises:
            NotPlain: If it does not fit them.
        """
        if type(number) is not int or number not in self._lasting:
            raise NotPlain("no coroutine has that number")
        self.refuse_shared(number, given)
        with _malformed_is_not_plain():
            self._lasting[number].change_arguments(given, decoder)

    def let_go(self, decoder: Decoder, scope: object = None, holder: object = None) -> None:
        """Make the changes that were held back.

        Args:
            decoder: Rebuilds values of the program.
            scope: The statement that held them back.
            holder: The statement that holds them back from now on, if there is one.

        Raises:
            HandleMisuse: If they do not fit the arguments.
        """
        for lasting in [one for one in self._holding.values() if one.held_by is scope]:
            lasting.held_by = holder
            if holder is not None:
                continue
            del self._holding[id(lasting)]
            try:
                lasting.let_go(decoder)
            except Exception as error:
                raise HandleMisuse(f"what became of an argument is not plain data: {error}") from error


def containers_in(inputs: Any) -> Containers:
    """Return the containers in the arguments of a foreseen call, which the tests have only in encoded form."""
    known = Containers()
    decoder, (args, kwargs) = Decoder(known=known), inputs
    for form in (*args, *kwargs.values()):
        decoder.decode(form)
    return known
