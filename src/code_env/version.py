"""The version of this package, as it is installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("code-exec-env")
except PackageNotFoundError:  # A checkout on the path, without an installation.
    VERSION = "0+unknown"
