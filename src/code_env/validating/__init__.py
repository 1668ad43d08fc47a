"""Proves suites: references pass, trivial answers do not, and the tests tell right answers from wrong ones."""

from .findings import FindingKind, Validation, ValidationFinding
from .validation import validate

__all__ = ["FindingKind", "Validation", "ValidationFinding", "validate"]
