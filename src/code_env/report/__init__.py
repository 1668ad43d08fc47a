"""Reports: a page that shows what a policy did, sample by sample."""

from .page import write_report

__all__ = ["write_report"]
