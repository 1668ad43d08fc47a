"""Closed ranges of numbers."""


def overlap(one, other):
    """Return whether two ranges have a number in common."""
    return one[0] < other[1] and other[0] < one[1]


def merge(ranges):
    """Return the fewest ranges that hold the same numbers, in order."""
    merged = []
    for begin, end in sorted(ranges):
        if merged and overlap(merged[-1], (begin, end)):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged
