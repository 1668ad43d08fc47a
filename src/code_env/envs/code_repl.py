"""`CodeReplEnv`: as `CodeExecEnv`, with a session in which the policy can try things before it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .code_exec import CodeExecEnv
from .repl_episodes import ReplEpisodes, ReplRules
from .states import EpisodeState, chosen_start, state_for
from .workspace import SessionKeeper, Workspace


class CodeReplEnv(CodeExecEnv):
    """A Gymnasium environment whose action is a cell of a session, or the answer that ends the episode.

    `gym.make("CodeRepl-v0", ...)` builds it with reward wrappers around it. Its arguments are those of `CodeExecEnv`;
    `max_turns` is 8 by default, and `samples_per_step` is 1. The executor must have sessions.

    An action with a fence that is tagged `answer` is an answer, and so is the last one. It is judged as `CodeExecEnv`
    judges it, in a fresh jail, and ends the episode. Any other action is a cell: its code runs in the session, and the
    observation shows what it gave. `clone_state` and `restore_state` make branches of an episode.

    Example:
        >>> env = CodeReplEnv("starter", order="sequential")
        >>> _, info = env.reset(seed=0)
        >>> observation, _, terminated, _, _ = env.step("numbers = [3, 1, 2]\\nsorted(numbers)")
        >>> "[1, 2, 3]" in observation, terminated
        (True, False)
        >>> answer = env.suite.task(info["task_id"]).reference
        >>> _, _, terminated, _, info = env.step(f"```answer\\n{answer}```")
        >>> terminated, info["passed"]
        (True, True)
        >>> env.close()
    """

    _rules_kind = ReplRules
    _episodes: ReplEpisodes

    def clone_state(self) -> EpisodeState:
        """Return the state of the episode: its turns and its session, but not the random generator of the env.

        Raises:
            ResetNeeded: If the episode is over.
        """
        return self._episodes.clone()

    def restore_state(self, state: EpisodeState, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Go on from a state, any number of times; also from one of another env with the same tasks.

        It returns what `reset` returns. Unlike `reset(options={"from_state": state})`, it does not tell wrappers that
        an episode begins.

        Args:
            state: The state.
            seed: Seeds the module `random`, and NumPy's generator if the session has loaded it. With None, the session
                draws the same numbers after each restore.

        Raises:
            TaskError: If the state does not fit this env.
            SessionDied: If the state was released.
        """
        self._judging.require_open()
        return self._episodes.resume(state_for(self.suite, state, self.rules.max_turns), seed)

    def close(self) -> None:
        """End the session, release all states, and close the executor, if this env made it."""
        self._episodes.close()
        self._keeper.close()
        super().close()

    def _new_episodes(self) -> ReplEpisodes:
        self._keeper = SessionKeeper(self.executor, 1)
        return ReplEpisodes(self.rules, self._judging.isolation, Workspace(self._keeper))

    def _start(self, options: Mapping[str, Any]) -> Any:
        return chosen_start(self.suite, options, self.rules.max_turns)
