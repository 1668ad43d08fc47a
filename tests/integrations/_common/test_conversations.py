from types import SimpleNamespace

import pytest

from code_env import TaskError
from code_env.integrations._common.conversations import answer_of, stated_output


def user(content):
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("prompt", "output"),
    [
        ("Sum. Expected output: 15 (for [1,2,3,4,5])", "15"),
        ("Sum. Expected output: 15", "15"),
        ("Sum.\nexpected output is: 15\nThanks.", "15"),
        ("EXPECTED OUTPUT: `1 2`", "1 2"),
        ("Expected output: f(x) (x > 0)", "f(x) (x > 0)"),
        ("Expected output:\n```\n1\n2\n```\nDone.", "1\n2"),
        ("Expected output:\n1\n2\n\nDo it well.", "1\n2"),
        ("For example, Expected output: 1\nExpected output: 2", "2"),
        ("Expected output:", None),
        ("Print 15.", None),
    ],
)
def test_the_output_that_a_prompt_states(prompt, output):
    assert stated_output([user(prompt)]) == output


def test_the_last_prompt_counts_and_no_answer_does():
    assistant = {"role": "assistant", "content": "Expected output: 3"}
    assert stated_output([user("Expected output: 1"), user("Expected output: 2"), assistant]) == "2"
    assert stated_output([assistant]) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [("x", "x"), (None, ""), ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab")],
)
def test_an_answer_s_text(content, text):
    assert answer_of([user("?"), {"role": "assistant", "content": content}]) == text
    assert answer_of([SimpleNamespace(role="assistant", content=content)]) == text


@pytest.mark.parametrize("content", [3, [{"type": "image"}]], ids=str)
def test_what_is_no_text_is_an_error(content):
    with pytest.raises(TaskError, match="content must be text, or a list of parts with text"):
        answer_of([{"role": "assistant", "content": content}])
