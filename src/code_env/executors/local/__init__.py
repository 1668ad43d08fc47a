"""`local`: a fork server in a Linux jail. `executor.py` is the trainer's side, `jail/` the other."""

from .executor import LocalExecutor

__all__ = ["LocalExecutor"]
