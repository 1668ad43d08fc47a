"""Prompts as numbers: bytes or token ids, filled up or cut in the middle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_env import EncodingError
from code_env.encodings import TextEncoding


@given(st.text(), st.integers(1, 50))
def test_any_text_is_in_the_space(text, length):
    encoding = TextEncoding(length)
    numbers = encoding(text)
    assert numbers in encoding.space
    raw = text.encode()
    if len(raw) <= length:
        assert bytes(numbers).rstrip(b"\0") == raw.rstrip(b"\0")
    else:
        head = (length + 1) // 2
        assert bytes(numbers[:head]) == raw[:head]
        assert length == 1 or bytes(numbers[head:]) == raw[-(length // 2) :]


def test_lone_surrogates_are_replaced():
    assert bytes(TextEncoding(3)("a\ud800b")) == b"a?b"


def test_a_tokenizer_gives_ids():
    encoding = TextEncoding(4, encode=lambda text: [int(word) for word in text.split()], vocabulary=1000, pad=999)
    assert encoding.space.high.tolist() == [999] * 4
    assert encoding("1 2").tolist() == [1, 2, 999, 999]
    assert encoding("1 2 3 4 5 6").tolist() == [1, 2, 5, 6]
    assert encoding("").dtype == np.int64
    with pytest.raises(EncodingError, match="encode gave 1 to 1000; expected is 0 to 999"):
        encoding("1 1000")


@pytest.mark.parametrize("ids", [[[1, 2]], [1.5], [None], ["a"], 3])
def test_what_is_no_list_of_ids_is_refused(ids):
    with pytest.raises(EncodingError, match="encode must give a list of whole numbers"):
        TextEncoding(4, encode=lambda text: ids, vocabulary=10)("x")


@pytest.mark.parametrize(
    "arguments",
    [
        {"length": 0},
        {"length": 1.0},
        {"length": True},
        {"length": 4, "encode": str.split},
        {"length": 4, "vocabulary": 5},
        {"length": 4, "pad": 256},
        {"length": 4, "pad": -1},
        {"length": 4, "encode": str.split, "vocabulary": 1},
    ],
)
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(EncodingError):
        TextEncoding(**arguments)
