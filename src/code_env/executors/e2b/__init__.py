"""`e2b`: runs programs in sandboxes of E2B's cloud; see `executor.py`."""

from .executor import E2BExecutor
from .retrying import RetryPolicy

__all__ = ["E2BExecutor", "RetryPolicy"]
