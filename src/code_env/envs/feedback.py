"""What the policy is shown: the transcript of an episode, and feedback on each answer.

The policy copies what it is shown. So feedback on a hidden test names only the kind of fault, and nothing that the
program got from the test: no input and no expected value, and also no output or message, because the program could have
put one of them there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from code_env.executors.result import Status
from code_env.judging.verdict import CaseResult, Outcome, Verdict
from code_env.tasks.base import MAX_SHOWN_CHARS
from code_env.tasks.task import Task
from code_env.text import clip, printable

MAX_FEEDBACK_CHARS = 4000
"""The largest length of the feedback on one answer, in characters."""

_LEAST_TURN_CHARS = 400
"""The smallest number of characters to which a turn is shortened, for any length of the other turns."""

_MAX_SHOWN_CASES = 5


TurnKind = Literal["answer", "cell"]
"""What the policy wrote in a turn: an answer that was judged, or a cell that was run in a session."""


@dataclass(frozen=True)
class Turn:
    """What the policy wrote, and what it was told about it."""

    response: str
    """What the policy wrote."""
    feedback: str
    """The feedback that the policy got."""
    kind: TurnKind = "answer"
    """What it was."""


def feedback(task: Task, verdict: Verdict) -> str:
    """What the policy is told about an answer."""
    lines = [_headline(verdict)]
    if verdict.outcome is Outcome.POLICY_ERROR:
        # The program has not got anything from a test yet, so its own messages are safe to show.
        error = verdict.execution.error
        text = (error.traceback or f"{error.name}: {error.message}") if error else verdict.cases[0].message
        lines.append(clip(text, MAX_SHOWN_CHARS))
    failed = [case for case in verdict.cases if not case.passed]
    public = [case for case in failed if not case.hidden]
    if verdict.outcome is Outcome.FAIL:
        lines += [_public_case(task, case) for case in public[:_MAX_SHOWN_CASES]]
        faults = Counter(_kind_of_fault(case) for case in failed if case.hidden)
        lines += [f"Hidden tests not passed: {count} ({kind})." for kind, count in sorted(faults.items())]
    return clip(printable("\n".join(lines)), MAX_FEEDBACK_CHARS)


def _headline(verdict: Verdict) -> str:
    if verdict.outcome is Outcome.NO_VERDICT:
        return "The answer could not be judged: the sandbox failed."
    if verdict.outcome is Outcome.PASS:
        return f"All {verdict.tests_total} tests passed."
    if verdict.outcome is Outcome.POLICY_ERROR:
        return "The answer could not be tested, for this reason:"
    return f"{verdict.tests_passed} of {verdict.tests_total} tests passed."


def _kind_of_fault(case: CaseResult) -> str:
    """The fault as one of a few fixed words: the program could choose the name of an exception."""
    if case.status is Status.OK:
        return "wrong result" if case.tested else "not reached"
    return _KINDS_OF_FAULT.get(case.status, "error")


_KINDS_OF_FAULT = {Status.TIMEOUT: "timeout", Status.MEMORY: "memory"}
"""The words for a hidden test's fault, apart from `error`."""


def _public_case(task: Task, case: CaseResult) -> str:
    what = task.tests[case.test].feedback(task.entry_point or "", case.actual)
    return f"Public test not passed: {what}{clip(case.message, MAX_SHOWN_CHARS)}"


def transcript(prompt: str, turns: list[Turn], turns_left: int, max_chars: int) -> str:
    """The episode so far as one text of at most `max_chars`.

    If it would be longer, the middle of the oldest turns is left out first, and the text says so.

    Args:
        prompt: The task's prompt.
        turns: The turns so far, oldest first.
        turns_left: How many turns may follow.
        max_chars: The largest length of the text.
    """
    if not turns:
        return prompt
    heads = [f"\n\n=== Your {turn.kind} {number} ===\n" for number, turn in enumerate(turns, 1)]
    bodies = [f"{turn.response}\n=== Result ===\n{turn.feedback}" for turn in turns]
    end = f"\n\n=== Turns left: {turns_left} ===\n"
    excess = sum(map(len, [prompt, *heads, *bodies, end])) - max_chars
    for index, body in enumerate(bodies):
        if excess > 0:
            bodies[index] = clip(body, max(_LEAST_TURN_CHARS, len(body) - excess))
            excess -= len(body) - len(bodies[index])
    whole = prompt + "".join(head + body for head, body in zip(heads, bodies, strict=True)) + end
    return clip(whole, max_chars)  # If even the shortened turns do not fit, the prompt's middle is left out too.


def messages(prompt: str, turns: list[Turn]) -> list[dict[str, str]]:
    """The episode so far as chat messages."""
    chat = [{"role": "user", "content": prompt}]
    for turn in turns:
        chat.append({"role": "assistant", "content": turn.response})
        chat.append({"role": "user", "content": turn.feedback})
    return chat
