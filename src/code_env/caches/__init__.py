"""Caches on disk: folders that are made once, kept while they are used, and removed when there are too many."""

from .folders import CACHE_VARIABLE, MAX_BYTES, FolderCache, cache_directory, size_of
from .locks import FileLock

__all__ = ["CACHE_VARIABLE", "MAX_BYTES", "FileLock", "FolderCache", "cache_directory", "size_of"]
