"""E2B's services on this machine, for tests that drive the real SDK over real HTTP; see README.md."""

from .faults import Fault, Faults
from .sandbox import Sandbox
from .server import LoopbackServer

__all__ = ["Fault", "Faults", "LoopbackServer", "Sandbox"]
