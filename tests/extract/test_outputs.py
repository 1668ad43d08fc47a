"""In fences without tags, what a program prints in an example is not its code, and code is not an output."""

import pytest

from code_env.extract import extract_code

PROGRAM = "n = int(input())\nprint('YES' if n % 2 == 0 else 'NO')\n"
OUTPUTS = (
    *("YES", "YES\nNO", "yes", "Hello world", "Hello, World!", "a b c", "Case #1: 7", "abc", "Alice 3\nBob 4", "#####"),
    *("a,b,c", "{'a': 1}", "5 -> 7", "5 => 7", "Total: 10", "$5.00", "Even", "Not found", "not found", "xxx", "-"),
    *("Enter a number: 5\nSum is 7", "Input: 3\nOutput: xxx", "2024-01-01", "***\n* *\n***", "1/2", "50%"),
    *("{\n  'a': {\n    'b': 1\n", "report.txt", "a == b", "== Result ==", "pass or fail", "for each of 3"),
)
"""Texts that no reader takes for code, wherever they stand."""

LIKE_CODE = (
    *("x = 5", "f(3) = 7", "Point(x=1, y=2)", "nums = [1, 2]\nresult: 3", "Counter({'a': 1})", "pass", "a=1 b=2"),
    "return code: 0",
)
"""Texts that can be code or an output: the words before them decide."""

TRANSCRIPTS = (
    *(">>> f(1)\n2", ">>> print(f(1))\n2", "In [1]: f(1)\nOut[1]: 2", "$ python main.py\n4\nYES"),
    'Traceback (most recent call last):\n  File "main.py", line 1, in <module>\n    n = int(input())\nValueError',
)

ANNOUNCED = (
    *("Output:", "**Output**", "### Example Output", "Sample output:", "Expected output 1:", "Output (for 4):"),
    *("Input:", "Output for the sample:", "Example:", "Example run", "Sample Input:", "The output is:"),
    *("The output will be:", "For `4` it prints:", "This prints the following:", "Here's the output:", "Result:"),
    *("Here is an example of its output:", "Running the program with 4 gives", "You should see something like this:"),
    "示例输出:",
)

CODE = (
    *("print(6)", "import sys\nsys.stdout.write('6')", "for i in range(3):\n    print(i)", "x = max(3, 6)\nx"),
    *("def main():\n    print(6)\nmain()", "print(sum(map(int, open(0))))", "exec('print(6)')", "    return 6"),
    *("print (6)", "sys.stdout.write('6')"),
)
"""Code, whatever is said before it."""

NO_CODE = ("2024-01-01", "Hello, World!", "Enter a number: 5\nSum is 7")
"""Of these, what is not even code if it stands alone."""


def untagged(*parts):
    return "\n".join(part if part.endswith(":") else f"```\n{part.rstrip()}\n```" for part in parts)


def wrongly_found(texts, response_of, tag=""):
    found = {text: extract_code(response_of(text).replace("```\nn =", f"```{tag}\nn =")) for text in texts}
    return {text: code for text, code in found.items() if code != PROGRAM}


def test_an_output_without_a_tag_is_no_code():
    texts = [*OUTPUTS, *TRANSCRIPTS]
    assert wrongly_found(texts, lambda text: untagged("The program:", PROGRAM, "When it runs:", text)) == {}
    assert wrongly_found(texts, lambda text: untagged(PROGRAM, text)) == {}
    assert wrongly_found(texts, lambda text: untagged("First:", text, "The program:", PROGRAM)) == {}


@pytest.mark.parametrize("announced", ANNOUNCED)
def test_what_is_announced_as_an_output_is_no_code(announced):
    texts = [*OUTPUTS, *LIKE_CODE, *TRANSCRIPTS]
    for between in (f"\n{announced}\n\n```\n", f"\n{announced} ```\n", f"\nIt is right.\n\n{announced}\n```\n"):
        assert wrongly_found(texts, lambda text, words=between: f"```\n{PROGRAM}```{words}{text}\n```\n") == {}
    quoted = f"> ```\n{'> '.join(['', *PROGRAM.splitlines(True)])}> ```\n> {announced}\n> ```\n> YES\n> ```"
    assert extract_code(quoted) == PROGRAM


def test_a_tagged_output_is_no_code_if_it_is_announced():
    response = "```python\n{}```\n{}\n```python\n{}\n```"
    for text in ("YES", "{'a': 1}", "[1, 2, 3]", "Alice 3\nBob 4"):
        assert extract_code(response.format(PROGRAM, "Output:", text)) == PROGRAM
    for text in TRANSCRIPTS:
        assert extract_code(response.format(PROGRAM, "So:", text)) == PROGRAM
    for text in ("x", "x + 1", "[1, 2, 3]"):
        assert extract_code(response.format(PROGRAM, "Better:", text)) == f"{text}\n"
    for text in ("x = 5", "df.head()", "print(6)"):
        assert extract_code(response.format(PROGRAM, "Output:", text)) == f"{text}\n"


@pytest.mark.parametrize("words", [*ANNOUNCED, "Better:", "Here is the program that reads the input:", ""])
def test_code_is_found_whatever_is_said_before_it(words):
    found = {code: extract_code(f"```\n{PROGRAM}```\n{words}\n```\n{code}\n```") for code in CODE}
    assert found == {code: f"{code}\n" for code in CODE}


@pytest.mark.parametrize("code", [*LIKE_CODE, "df.head()", "[x for x in xs]", "x += 1", "assert x", "add = f"])
def test_what_looks_like_code_is_found_if_no_output_is_announced(code):
    assert extract_code(f"```\n{PROGRAM}```\nBetter:\n```\n{code}\n```") == f"{code}\n"


@pytest.mark.parametrize("code", [*OUTPUTS, *LIKE_CODE, *TRANSCRIPTS, *CODE, "x", "a + b"])
@pytest.mark.parametrize("words", ["Output:", "The program:"])
def test_a_fence_alone_is_the_answer_if_it_may_be_code(code, words):
    alone = f"{words}\n```\n{code}\n```"
    assert extract_code(alone) == ("" if code in NO_CODE else f"{code}\n")


@pytest.mark.parametrize("expression", ["x", "x + 1", "-x", "math.pi * x", "x[0]"])
def test_an_expression_of_names_that_are_defined_before_is_code(expression):
    before = "import math\nx = 5\n"
    assert extract_code(f"```\n{before}```\nThen:\n```\n{expression}\n```") == f"{before}{expression}\n"
    assert extract_code(f"```\n{before}```\nThen:\n```\ny{expression}\n```") == before


def test_a_call_of_what_is_defined_before_is_code():
    before = "def main():\n    print(6)\n"
    assert extract_code(f"```\n{before}```\nRun it to see the output:\n```\nmain()\n```") == f"{before}main()\n"
    assert extract_code(f"```\n{before}```\nRun it to see the output:\n```\nnone()\n```") == before


def test_an_entry_point_is_found_behind_an_output():
    response = "```\ndef add(a, b):\n    return 0\n```\nOutput:\n```\nadd = max\n```"
    assert extract_code(response, entry_point="add") == "add = max\n"
    assert extract_code(response, entry_point="other") == "def add(a, b):\n    return 0\n"


@pytest.mark.parametrize(
    ("language", "code"), [("bash", "sort -n"), ("bash", "cat"), ("befunge", "64+.@"), ("bash", "echo YES")]
)
def test_words_can_be_code_in_other_languages(language, code):
    assert extract_code(f"```\ntrue\n```\nBetter:\n```\n{code}\n```", language) == f"{code}\n"


def test_outputs_in_other_languages_are_no_code():
    script = "read -r a b\necho $((a + b))\n"
    assert extract_code(f"```\n{script}```\nOutput:\n```\nIt is three\n```", "bash") == script
    program = 'console.log("YES");\n'
    assert extract_code(f"```\n{program}```\nThen:\n```\nYES\n```", "javascript") == program
    assert extract_code(f"```\n{program}```\nThen:\n```\nx => 1;\n```", "javascript") == "x => 1;\n"
