import pickle

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import batch_space, create_shared_memory

from code_env import CodeText


@pytest.mark.parametrize("text", ["", "a b\n", "é→λ日本", "\0\x1b[31m", "\ud800", "x" * 65_536, np.str_("x")])
def test_any_text_is_inside(text):
    assert text in CodeText()


@pytest.mark.parametrize("value", ["x" * 65_537, 3, b"x", None, ["x"]])
def test_what_is_too_long_or_no_text_is_outside(value):
    assert value not in CodeText()


def test_samples_are_inside_and_repeat_with_the_seed():
    first, second = CodeText(seed=4), CodeText(seed=4)
    samples = [first.sample() for _ in range(50)]
    assert samples == [second.sample() for _ in range(50)]
    assert len(set(samples)) > 40
    assert all(sample in first for sample in samples)
    assert all(len(CodeText(3, seed=1).sample()) <= 3 for _ in range(20))


def test_spaces_are_equal_by_length_and_differ_from_plain_text():
    assert CodeText(5) == CodeText(5) != CodeText(6)
    assert CodeText(5) != spaces.Text(5)
    assert repr(CodeText(5)) == "CodeText(5)"


def test_it_batches_and_pickles():
    assert isinstance(batch_space(CodeText(), 3), spaces.Tuple)
    assert pickle.loads(pickle.dumps(CodeText(7))) == CodeText(7)


def test_shared_memory_is_refused_with_the_remedy():
    with pytest.raises(CustomSpaceError, match="shared_memory=False"):
        create_shared_memory(CodeText())


@pytest.mark.parametrize("text", ["", "a `b`\n", "é→λ日本🦊", "\0\x1b[31m", "\ud800", "x" * 9])
def test_any_text_can_be_flattened_and_back(text):
    space = CodeText(9)
    flat = spaces.flatten(space, text)
    assert flat in spaces.flatten_space(space)
    assert flat.shape == (spaces.flatdim(space),)
    assert spaces.unflatten(space, flat) == text


def test_what_is_not_inside_is_not_flattened():
    with pytest.raises(ValueError, match="at most 3 characters was expected"):
        spaces.flatten(CodeText(3), "four")


def test_tuples_of_it_can_be_flattened():
    space = spaces.Tuple([CodeText(4), CodeText(5)])
    assert spaces.unflatten(space, spaces.flatten(space, ("λ", "`b`"))) == ("λ", "`b`")
