"""Judges `call` tests: compares what a function of the program returns for their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..wire.channel import ChannelError
from ..wire.endings import Ended, Problem, described
from ..wire.plain import Decoder, NotPlain
from ..wire.shown import brief
from .comparing import compare_values
from .handles import HandleMisuse, ProgramDied, TimeIsUp
from .remote import RemoteModule
from .reporting import Reporter
from .time_limit import time_limit


class Calls:
    """Judges the calls of one answer.

    Args:
        tests: All tests of the task.
        entry_point: The function that is called.
        wall_s: The limit on wall time of a test, in seconds.
        reporter: Reports the cases.
    """

    def __init__(self, tests: list[dict[str, Any]], entry_point: str | None, wall_s: float, reporter: Reporter) -> None:
        self._tests, self._entry_point, self._wall_s, self._reporter = tests, entry_point, wall_s, reporter

    def judge(self, indexes: list[int], module: RemoteModule, *, until_failure: bool) -> None:
        """Judge these tests; each call runs in its own process.

        Raises:
            ChannelError, ProgramDied: If the program's process is gone.
        """
        problem = module.begin(self._entry_point)
        waiting = list(indexes)
        if problem is None:
            self._reporter.begin()
            try:
                # Request all calls at once. If the first failure ends the tests, begin with one and double the number.
                at_once = 1 if until_failure else len(indexes)
                while waiting and not self._reporter.enough:
                    self._judge_some(waiting, at_once, module)
                    at_once *= 2
            except (ProgramDied, ChannelError):
                pass
        ended = module.end()
        for index in waiting:
            if problem is not None:
                self._reporter.untested(index, problem)
            elif self._reporter.enough:
                self._reporter.skip(index)
            else:
                self._reporter.case(index, ended.fault, f"not reached: {ended.reason}", **ended.details)
        module.check_alive()

    def begin_together(self, indexes: list[int], module: RemoteModule) -> Problem | None:
        """Have the program begin, and send the first inputs with that; return why it cannot be tested, or None.

        Raises:
            ChannelError, ProgramDied: If the program's process is gone.
        """
        first = next(self._groups(indexes))
        return module.begin(self._entry_point, inputs=self._inputs(first), together=True)

    def judge_together(self, indexes: list[int], module: RemoteModule, problem: Problem | None) -> bool:
        """Judge these tests in the process that has loaded the answer.

        Args:
            indexes: The numbers of the tests.
            module: The answer, which has begun.
            problem: Why the answer cannot be tested, or None.

        Returns:
            Whether each call gave the result that it gives in its own process, as far as can be told. If False, ignore
            the cases that were reported.

        Raises:
            ChannelError, ProgramDied: If the program's process is gone. Then also ignore the cases.
        """
        if problem is not None:
            for index in indexes:
                self._reporter.untested(index, problem)
        else:
            self._reporter.begin()
            # The inputs of hidden tests are sent after the process has sent the results of public tests.
            for group in self._groups(indexes):
                replies = module.replies("together", self._entry_point, self._inputs(group))
                for index, reply in zip(group, replies, strict=False):
                    if "kept" in reply:
                        return False
                    if self._reporter.enough:
                        self._reporter.skip(index)
                    else:
                        self._judge_reply(index, module, Ended(reply.get("ended")), reply.get("reply"))
        return True

    def _groups(self, indexes: list[int]) -> Iterator[list[int]]:
        """Yield the public tests, then the hidden ones."""
        for hidden in (False, True):
            group = [index for index in indexes if self._tests[index]["hidden"] is hidden]
            if group:
                yield group

    def _inputs(self, indexes: list[int]) -> list[Any]:
        return [[self._tests[i]["args"], self._tests[i]["kwargs"]] for i in indexes]

    def _judge_some(self, waiting: list[int], most: int, module: RemoteModule) -> None:
        """Request the first `most` of the waiting calls together; judge them and remove them from the list."""
        for reply in module.replies("each", self._entry_point, self._inputs(waiting[:most])):
            if self._reporter.enough:
                self._reporter.skip(waiting[0])
            else:
                self._judge_reply(waiting[0], module, Ended(reply.get("ended")), reply.get("reply"))
            del waiting[0]

    def _judge_reply(self, index: int, module: RemoteModule, ended: Ended, reply: Any) -> None:
        try:
            with time_limit(self._wall_s):
                self._judge_call(index, module, ended, reply)
        except TimeIsUp as error:
            self._reporter.case(index, "timeout", str(error))

    def _judge_call(self, index: int, module: RemoteModule, ended: Ended, reply: Any) -> None:
        test = self._tests[index]
        expected, compare = Decoder().decode(test["expected"]), test["compare"]
        if ended.status != "ok" or reply is None:
            self._reporter.case(index, ended.fault, ended.reason, expected=brief(expected), **ended.details)
            return
        try:
            actual = module.unpack(reply, plain_only=True)
        except NotPlain as error:
            self._reporter.case(
                index, "ok", f"what came back is not plain data: {error}", expected=brief(expected), **ended.used
            )
            return
        # The call raised an exception of any class; this is the program's result.
        except Exception as error:
            raised = described(reply["raised"])
            message = f"{raised['name']}: {raised['message']}".strip()
            status = "memory" if isinstance(error, MemoryError) else "error"
            details = {**ended.details, "error": raised}
            self._reporter.case(index, status, message, expected=brief(expected), **details)
            return
        passed, message = False, f"expected {brief(expected)}, got {brief(actual)}"
        try:
            passed = compare_values(expected, actual, compare["rule"], compare["rel"], compare["abs"])
        except HandleMisuse as error:
            message = str(error)
        self._reporter.case(
            index,
            "ok",
            "" if passed else message,
            passed=passed,
            expected=brief(expected),
            actual=brief(actual),
            **ended.details,
        )
