"""Exports: the items of a report in the formats of other viewers. No package of theirs is needed to write them."""

from .files import FORMATS, export_run

__all__ = ["FORMATS", "export_run"]
