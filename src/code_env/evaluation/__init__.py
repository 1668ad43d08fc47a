"""Scores a file of completions: one verdict for each sample, and pass@k over the tasks."""

from .results import is_row_of, sample_row
from .samples import Sample, judge_samples, passing_answers, read_samples, reference_samples
from .summary import Summary, summarize

__all__ = [
    "Sample",
    "Summary",
    "is_row_of",
    "judge_samples",
    "passing_answers",
    "read_samples",
    "reference_samples",
    "sample_row",
    "summarize",
]
