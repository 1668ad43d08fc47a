"""Proves suites: references pass, trivial answers do not, and the tests distinguish right from wrong answers."""

from .findings import FindingKind, Validation, ValidationFinding
from .validation import validate

__all__ = ["FindingKind", "Validation", "ValidationFinding", "validate"]
