"""What the policy is shown: the transcript of an episode, and feedback on each answer.

What the policy is shown it will copy. So feedback tells a hidden test's kind of fault and nothing
that the test fed to the program: no input, no expected value, no output or message in which the
program could have put either.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from code_env.executors.result import Status
from code_env.judging.verdict import CaseResult, Outcome, Verdict
from code_env.tasks.base import MAX_SHOWN_CHARS
from code_env.tasks.task import Task
from code_env.text import clip, printable

MAX_FEEDBACK_CHARS = 4000
"""Longest feedback on one answer."""

_LEAST_TURN_CHARS = 400
"""What is left of a turn, at the least, however long the others are."""

_MAX_SHOWN_CASES = 5


@dataclass(frozen=True)
class Turn:
    """One answer and what the policy was told about it."""

    response: str
    """What the policy wrote."""
    feedback: str
    """What it was told."""


def feedback(task: Task, verdict: Verdict) -> str:
    """What the policy is told about an answer."""
    lines = [_headline(verdict)]
    if verdict.outcome is Outcome.POLICY_ERROR:
        # No test has fed the program anything yet, so its own words are safe to show.
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
        return f"The answer could not be tested: {verdict.execution.status}."
    return f"{verdict.tests_passed} of {verdict.tests_total} tests passed."


def _kind_of_fault(case: CaseResult) -> str:
    """The fault in one of few words: the name of an exception would be a word that the program chose."""
    if case.status is Status.OK:
        return "wrong result" if case.tested else "not reached"
    return _KINDS_OF_FAULT.get(case.status, "error")


_KINDS_OF_FAULT = {Status.TIMEOUT: "timeout", Status.MEMORY: "memory"}
"""What is told of a hidden test beside `error`."""


def _public_case(task: Task, case: CaseResult) -> str:
    what = task.tests[case.test].feedback(task.entry_point or "", case.actual)
    return f"Public test not passed: {what}{clip(case.message, MAX_SHOWN_CHARS)}"


def transcript(prompt: str, turns: list[Turn], turns_left: int, max_chars: int) -> str:
    """The episode so far as one text of at most `max_chars`.

    Where it would be longer, the oldest turns lose their middle first, and the text says so.

    Args:
        prompt: The task's prompt.
        turns: The answers so far, oldest first.
        turns_left: How many answers may follow.
        max_chars: Longest text.
    """
    if not turns:
        return prompt
    heads = [f"\n\n=== Your answer {number} ===\n" for number in range(1, len(turns) + 1)]
    bodies = [f"{turn.response}\n=== Result ===\n{turn.feedback}" for turn in turns]
    end = f"\n\n=== Turns left: {turns_left} ===\n"
    excess = sum(map(len, [prompt, *heads, *bodies, end])) - max_chars
    for index, body in enumerate(bodies):
        if excess > 0:
            bodies[index] = clip(body, max(_LEAST_TURN_CHARS, len(body) - excess))
            excess -= len(body) - len(bodies[index])
    whole = prompt + "".join(head + body for head, body in zip(heads, bodies, strict=True)) + end
    return clip(whole, max_chars)  # A prompt that leaves no room even for that loses its own middle.


def messages(prompt: str, turns: list[Turn]) -> list[dict[str, str]]:
    """The episode so far as chat messages."""
    chat = [{"role": "user", "content": prompt}]
    for turn in turns:
        chat.append({"role": "assistant", "content": turn.response})
        chat.append({"role": "user", "content": turn.feedback})
    return chat
