"""Collects trajectories: a policy plays episodes in many environments, and each is written down as it ends.

Which task an episode has, and from what seed its tests are drawn, follows from the collection's seed and the episode's
number alone. So a collection that was killed goes on where it was: what is in the file is not played again, whatever
else was under way is played anew. A line is on the disk before the next step begins.
"""

from .collecting import collect
from .playing import Policy
from .summary import RolloutSummary, SandboxAlarm

__all__ = ["Policy", "RolloutSummary", "SandboxAlarm", "collect"]
