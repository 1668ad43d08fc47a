"""Named tuples, nested values and types of arrays, for the tests of what is encoded and decoded."""

import collections
import typing


class Point(typing.NamedTuple):
    x: object
    y: object


Pair = collections.namedtuple("Pair", ["left", "right"])
DTYPES = ["?", "<i1", "<i8", ">i4", "<u2", "<f2", "<f8", ">f8", "<c8", "<c16", "S3", "<U3", "<M8[s]", "<m8[ns]"]


def nested(wrap, levels, innermost=0):
    value = innermost
    for _ in range(levels):
        value = wrap(value)
    return value
