"""A client of an OpenAI-compatible chat endpoint, as vLLM, SGLang, llama.cpp and the hosted services offer it.

The `openai` SDK sends the requests, and repeats those that failed on the way, that the server refused for now (408,
409, 429) or that failed in the server (5xx). Here, an answer that is not a chat completion, such as half a JSON object,
is asked for again too. https://platform.openai.com/docs/api-reference/chat describes the protocol.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

from code_env.checks import require_number, require_whole
from code_env.errors import ModelError

Messages = list[dict[str, str]]
"""A conversation: mappings with `role` and `content`."""

_KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Completion:
    """One answer of a model."""

    text: str
    """The answer; empty if the model said nothing, as one that thinks until it reaches its limit."""
    finish_reason: str | None
    """Why the model stopped: `stop` at its end, `length` at the limit of tokens; None if the server does not say."""
    prompt_tokens: int
    """Tokens of the conversation; 0 if the server does not say."""
    completion_tokens: int
    """Tokens of the answer; 0 if the server does not say."""


class _NoCompletion(Exception):
    """The server's answer is not a chat completion."""


class ChatModel:
    """A model behind a chat endpoint. It is a context manager; all methods can be called from any thread.

    Args:
        name: The model's name, as the endpoint knows it.
        base_url: The endpoint's address, up to and with `/v1`; that of OpenAI if None.
        api_key: The key; that in `OPENAI_API_KEY` if None. Servers of one's own need none.
        max_tokens: The longest answer, in tokens; the server's own limit if None.
        temperature: The sampling temperature; the server's own if None.
        system: A system message that is put before each conversation.
        concurrency: How many requests there are at the same time.
        timeout_s: How long to wait for an answer, in seconds.
        tries: How many times a request is made that fails in a way that may pass.

    Raises:
        ModelError: If the package `openai` is missing, or an argument is wrong.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        system: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 600.0,
        tries: int = 6,
    ) -> None:
        try:
            import openai
        except ImportError:
            raise ModelError(
                "a model behind an endpoint needs the package openai: install code-exec-env[model]"
            ) from None
        key = api_key or os.environ.get(_KEY_VARIABLE)
        if key is None and base_url is None:
            raise ModelError(
                f"OpenAI's endpoint needs a key: set {_KEY_VARIABLE}, or give the base_url of another server"
            )
        self.name = name
        self.settings = {"max_tokens": max_tokens, "temperature": temperature, "system": system}
        """What was chosen of these arguments: two models answer alike if they have the same name and settings."""
        self._concurrency = require_whole("concurrency", concurrency, ModelError, least=1)
        self._tries = require_whole("tries", tries, ModelError, least=1)
        timeout_s = require_number("timeout_s", timeout_s, ModelError, least=0.001)
        self._options: dict[str, Any] = {"model": name}
        self._options |= {} if max_tokens is None else {"max_tokens": max_tokens}
        self._options |= {} if temperature is None else {"temperature": temperature}
        self._before: Messages = [] if system is None else [{"role": "system", "content": system}]
        self._client = openai.OpenAI(
            base_url=base_url, api_key=key or "none", timeout=timeout_s, max_retries=self._tries - 1
        )
        self._closed = threading.Event()

    def complete(self, messages: Iterable[Mapping[str, str]]) -> Completion:
        """Ask for the next message of a conversation.

        Raises:
            ModelError: If the server gave no completion, as often as it was asked.
        """
        import openai

        conversation: Any = [*self._before, *messages]
        for attempt in range(1, self._tries + 1):
            try:
                return _completion_of(self._client.chat.completions.create(messages=conversation, **self._options))
            except openai.OpenAIError as error:
                raise ModelError(f"{self._client.base_url} gave no completion: {_reason(error)}") from None
            except (_NoCompletion, ValueError) as error:
                if attempt == self._tries or self._closed.wait(0.1 * 2**attempt):
                    told = f"{self._client.base_url} answered {attempt} times with what is no chat completion: {error}"
                    raise ModelError(told) from None
        raise AssertionError("there is at least one try")

    def complete_each(self, conversations: Iterable[Iterable[Mapping[str, str]]]) -> Iterator[tuple[int, Completion]]:
        """Ask for the next message of each conversation; yield its number, from 0, with the answer, as it comes.

        Raises:
            ModelError: If one cannot be completed. The answers that came before were yielded.
        """
        numbered = enumerate(conversations)
        running: dict[Future[Completion], int] = {}
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="code-env-model")
        try:
            while True:
                for number, messages in islice(numbered, self._concurrency - len(running)):
                    running[pool.submit(self.complete, messages)] = number
                if not running:
                    return
                done = wait(running, return_when=FIRST_COMPLETED).done
                # Those that came are yielded before an error is raised.
                for future in sorted(done, key=lambda one: one.exception() is not None):
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Close the connections; requests under way fail. Idempotent."""
        self._closed.set()
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _completion_of(answer: Any) -> Completion:
    """Return the completion in a server's answer.

    Raises:
        _NoCompletion: If there is none in it.
    """
    choices: Any = getattr(answer, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        raise _NoCompletion("an object with choices[0].message was expected")
    # A model that refuses, or that thinks until its limit of tokens, has no content.
    text = message.content or getattr(message, "refusal", None) or ""
    if not isinstance(text, str):
        raise _NoCompletion("text was expected in choices[0].message.content")
    usage = getattr(answer, "usage", None)
    counts = [getattr(usage, name, None) or 0 for name in ("prompt_tokens", "completion_tokens")]
    reason = getattr(choices[0], "finish_reason", None)
    return Completion(text, None if reason is None else str(reason), *counts)


def _reason(error: Exception) -> str:
    """Return an error of the SDK in one line, with the reason below it."""
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}{cause}"
