"""`CodeReplVectorEnv`: many `CodeReplEnv`s as one; the cells and the answers of a step run at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .code_exec_vector import CodeExecVectorEnv
from .repl_episodes import ReplEpisodes, ReplRules
from .states import EpisodeState, chosen_starts
from .workspace import SessionKeeper, Workspace


class CodeReplVectorEnv(CodeExecVectorEnv):
    """Many environments that behave like `CodeReplEnv` and are stepped together.

    `gym.make_vec("CodeRepl-v0", num_envs=8)` builds it with reward wrappers around it. Its arguments are those of
    `CodeExecVectorEnv`, with the defaults of `CodeReplEnv`. A step can have cells in some environments and answers in
    others. A group begins from one state with `reset(options={"from_state": state, "reseed": True})`, or from several
    with a list of them.

    Example:
        >>> env = CodeReplVectorEnv(2, "starter")
        >>> _ = env.reset(seed=0)
        >>> _ = env.step(("x = 1", "x = 2"))
        >>> state = env.clone_state(1)
        >>> _, info = env.reset(options={"from_state": state})
        >>> observations, *_ = env.step(("x + 1", "x + 2"))
        >>> observations[0].count("Your cell"), info["branch"]["parent"]
        (2, array([0, 0]))
        >>> env.close()
    """

    _rules_kind = ReplRules
    _episodes: Sequence[ReplEpisodes]

    def clone_state(self, index: int) -> EpisodeState:
        """Return the state of one environment's episode.

        Args:
            index: Which environment.

        Raises:
            ResetNeeded: If its episode is over.
            RuntimeError: If its step has not ended.
        """
        return self._episodes[index].clone()

    def close_extras(self, **kwargs: Any) -> None:
        """End all sessions, release all states, and close the executor, if this env made it."""
        for one in self._episodes:
            one.close()
        self._keeper.close()
        super().close_extras(**kwargs)

    def _new_episodes(self, count: int) -> Sequence[ReplEpisodes]:
        self._keeper = SessionKeeper(self.executor, count)
        return [ReplEpisodes(self.rules, self._judging.isolation, Workspace(self._keeper)) for _ in range(count)]

    def _starts(self, options: Mapping[str, Any]) -> Sequence[Any]:
        return chosen_starts(self.suite, options, self.rules.max_turns, self.num_envs)
