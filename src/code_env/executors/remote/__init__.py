"""`remote`: programs run on servers of `code-env serve`, on this machine or on others."""

from .executor import RemoteExecutor

__all__ = ["RemoteExecutor"]
