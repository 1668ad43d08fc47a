"""Collects trajectories: a policy plays episodes in many environments, and each episode is written when it ends.

The task of an episode, and the seed from which its tests are drawn, depend only on the collection's seed and the
episode's number. So a collection that was killed can continue: episodes that are in the file are not played again, and
unfinished episodes are played from their beginning. A line is on the disk before the next step begins.
"""

from code_env.field_docs import show_fields

from .collecting import collect
from .playing import Policy
from .summary import RolloutSummary, SandboxAlarm

__all__ = ["Policy", "RolloutSummary", "SandboxAlarm", "collect"]

for _name in __all__:
    show_fields(globals()[_name])
