"""Programs that try what a sandbox must not allow, and canaries that tell whether one of them got anywhere.

For those who make an executor, and for whoever wants to see what holds on a machine: `code-env doctor --probe` runs a
selection that does no harm where nothing stops it. The whole collection is another matter: run it where you could do
without the machine, or against a sandbox that stands. An executor that isolates nothing is refused.

An executor passes if after each abuse every canary is as it was, a program beside it gave what it always gives, the
next program finds what the first one found, and no process is left.
"""

from .canaries import LOOK, SHORT, Abuse, Canaries, left_over
from .probe import ABUSES, SELECTION, Finding, probe, settle

__all__ = ["ABUSES", "LOOK", "SELECTION", "SHORT", "Abuse", "Canaries", "Finding", "left_over", "probe", "settle"]
