"""Programs that try what a sandbox must not allow, and canaries that show whether a program succeeded.

They are for developers of executors, and for users who want to test the isolation on a machine.
`code-env doctor --probe` runs a selection that does no harm even if nothing stops it. The whole collection can do harm:
run it only on a machine that you can lose, or in a sandbox that is known to hold. An executor that isolates nothing is
refused.

An executor passes an abuse if afterwards every canary is unchanged, a program that ran at the same time gave its normal
output, the next program finds the same as the first program, and no process is left.
"""

from .canaries import LOOK, SHORT, Abuse, Canaries, left_over
from .probe import ABUSES, SELECTION, Finding, probe, settle

__all__ = ["ABUSES", "LOOK", "SELECTION", "SHORT", "Abuse", "Canaries", "Finding", "left_over", "probe", "settle"]
