import subprocess
import sys

import pytest

from code_env.extract import extract_code

TABLE = {
    "nothing": ("", ""),
    "bare code": ("print(1)", "print(1)"),
    "bare code keeps its indentation": ("    return x\n", "    return x\n"),
    "bare code keeps blank lines and indentation": ("\n\n    return x", "\n\n    return x"),
    "bare code keeps CRLF": ("a = 1\r\nb = 2\r\n", "a = 1\r\nb = 2\r\n"),
    "bare code with an inline backtick": ("x = '`'\n", "x = '`'\n"),
    "tagged fence": ("```python\nprint(1)\n```", "print(1)\n"),
    "fence in prose": ("Sure:\n\n```python\nprint(1)\n```\nThat prints 1.", "print(1)\n"),
    "untagged fence": ("```\nprint(1)\n```", "print(1)\n"),
    "py": ("```py\nprint(1)\n```", "print(1)\n"),
    "python3": ("```python3\nprint(1)\n```", "print(1)\n"),
    "capitals": ("```Python\nprint(1)\n```", "print(1)\n"),
    "space before the tag": ("``` python\nprint(1)\n```", "print(1)\n"),
    "words after the tag": ("```python title=a.py\nprint(1)\n```", "print(1)\n"),
    "the last tagged fence": ("```python\na\n```\n```python\nb\n```", "b\n"),
    "the last untagged fence": ("```\na\n```\n```\nb\n```", "b\n"),
    "tagged before untagged": ("```python\na\n```\nprints\n```\n1\n```", "a\n"),
    "tagged before another language": ("```python\na\n```\n```bash\nb\n```", "a\n"),
    "tagged after untagged": ("```\n1\n```\n```python\na\n```", "a\n"),
    "tagged with another language only": ("```bash\na\n```", ""),
    "tag that only begins like the language": ("```pythonic\na\n```\n```python\nb\n```\n```pyx\nc\n```", "b\n"),
    "unclosed": ("```python\nprint(1)\n", "print(1)\n"),
    "unclosed without a last newline": ("```python\nprint(1)", "print(1)"),
    "unclosed and empty": ("```python", ""),
    "unclosed after a closed one": ("```python\na\n```\nBetter:\n```python\nb\n", "b\n"),
    "unclosed untagged after a tagged one": ("```python\na\n```\n```\nb\n", "a\n"),
    "empty fence": ("```python\n```", ""),
    "empty tagged fence after a full one": ("```python\na\n```\n```python\n```", "a\n"),
    "tilde fence": ("~~~python\nprint(1)\n~~~", "print(1)\n"),
    "tilde fence with backticks in it": ("~~~python\n```\na\n```\n~~~", "```\na\n```\n"),
    "backtick fence with tildes in it": ("```python\n~~~\n```", "~~~\n"),
    "longer fence with a shorter one in it": ("````python\n'''\n```\nx\n```\n'''\n````", "'''\n```\nx\n```\n'''\n"),
    "closed by a longer fence": ("```python\na\n`````\nb", "a\n"),
    "not closed by a fence with a tag": ("````\n```python\na\n```\n````", "```python\na\n```\n"),
    "closed by a fence with spaces after it": ("```python\na\n```  \nb", "a\n"),
    "indented fence": ("1. So:\n\n   ```python\n   if x:\n       y\n   ```\n", "if x:\n    y\n"),
    "indented fence with less indented lines": ("  ```python\n  a\nb\n  ```", "a\nb\n"),
    "fence indented by a tab": ("\t```python\n\ta\n\t```", "a\n"),
    "code indented within a fence": ("```python\n    return x\n```", "    return x\n"),
    "blank lines within a fence": ("```python\n\na\n\n\nb\n\n```", "\na\n\n\nb\n\n"),
    "CRLF": ("```python\r\na\r\nb\r\n```\r\nDone", "a\r\nb\r\n"),
    "inline code is no fence": ("Use `x` and ```y``` here", "Use `x` and ```y``` here"),
    "backticks on one line are no fence": ("```print(1)```", "```print(1)```"),
    "fence behind words": ("a ```python\nb\n```\nc", "b\n"),
    "two backticks are no fence": ("``python\na\n``", "``python\na\n``"),
    "a line separator within a line of code": ('```python\nx = "\u2028\x0c\x85"\n```', 'x = "\u2028\x0c\x85"\n'),
    "thinking": ("<think>\nprint(2)?\n</think>print(1)", "print(1)"),
    "thinking keeps the indentation after it": ("<think>a</think>\n    return x", "\n    return x"),
    "thinking with a fence in it": ("<think>\n```python\na\n```\n</think>\n```python\nb\n```", "b\n"),
    "thinking with a fence in it only": ("<think>\n```python\na\n```\n</think>b", "b"),
    "thinking that opens a fence": ("<think>```python\na</think>\n```python\nb\n```", "b\n"),
    "unclosed thinking": ("<think>\n```python\na\n```\n", ""),
    "unclosed thinking after an answer": ("```python\na\n```\n<think>\n```python\nb\n```", "a\n"),
    "two thinking parts": ("<think>a</think>\n<think>b</think>\n```\nc\n```", "c\n"),
    "two thinking parts on one line": ("<think>a</think><think>b</think>c", "c"),
    "empty thinking": ("<think></think>a", "a"),
    "closed thinking without an opening": ("So a.\n```python\na\n```\n</think>\n```python\nb\n```", "b\n"),
    "a closing of what the prompt opened, and an opening": (
        "```python\na\n```\n</think>\nNo. <think>",
        "\nNo. <think>",
    ),
    "nested thinking": ("<think>a\n<think>\nb</think>\n```python\na\n```\n</think>\nc", "\nc"),
    "code that has closing and opening": ("```python\nx = '</think>' + '<think>'\n```", "x = '</think>' + '<think>'\n"),
    "two closings without an opening": ("a</think>b</think>c", "c"),
    "a think tag within code": ("```python\nx = '<think>'\ny = '</think>'\n```", "x = '<think>'\ny = '</think>'\n"),
    "a special token in the middle": ("print('<|im_end|>')\nx", "print('<|im_end|>')\nx"),
    "a comparison at the end": ("x = a <b> c", "x = a <b> c"),
    "white space at the end without a token": ("a\n\n", "a\n\n"),
    "only a token": ("<|im_end|>", ""),
    "a token after a fence": ("```python\na\n```<|im_end|>", "a\n"),
    "a token after an unclosed fence": ("```python\na\n<|im_end|>", "a\n"),
    "a token on a line of its own": ("```python\na\n```\n<|im_end|>\n", "a\n"),
    "blank lines before a tag of agents": ("\n\n<execute>\na\n</execute>\nb", "a\n"),
    "code before a tag of agents": ("a = 1\n<execute>\nb", "a = 1\n<execute>\nb"),
    "tokens after thinking": ("<think>b</think>a<|im_end|>\n<|endoftext|>", "a"),
    "surrogates": ("```python\n'\ud800'\n```", "'\ud800'\n"),
}


@pytest.mark.parametrize(("response", "code"), TABLE.values(), ids=TABLE)
def test_the_code_of_a_response_is_found(response, code):
    assert extract_code(response) == code


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|end|>",
        "<|return|>",
        "<|END_OF_TURN_TOKEN|>",
        "<｜end▁of▁sentence｜>",
        "</s>",
        "<eos>",
        "<end_of_turn>",
    ],
)
@pytest.mark.parametrize("end", ["{}", "{}\n", " {}", "{}{}", "{}\n{} "])
def test_special_tokens_at_the_end_are_dropped(token, end):
    assert extract_code("print(1)" + end.format(token, token)).rstrip() == "print(1)"
    assert extract_code("```python\nprint(1)\n```" + end.format(token, token)) == "print(1)\n"


def test_tokens_of_several_models_may_follow_each_other():
    assert extract_code("a</s><|im_end|>\n<end_of_turn><｜end▁of▁sentence｜>") == "a"


@pytest.mark.parametrize("response", [r for r, _ in TABLE.values()], ids=TABLE)
def test_raw_takes_the_response_as_it_is(response):
    assert extract_code(response, extract="raw") == response


@pytest.mark.parametrize(
    ("language", "code"), [("bash", "b\n"), ("c++", "c\n"), ("c#", "d\n"), ("python", "a\n"), ("ruby", "d\n")]
)
def test_the_fence_of_the_task_s_language_wins(language, code):
    response = "```python\na\n```\n```bash\nb\n```\n```c++\nc\n```\n```c#\nd\n```"
    assert extract_code(response, language) == code


def test_a_call_does_not_define_what_it_calls():
    define, call = "def main():\n    a\n", "main()\n"
    response = f"```python\n{define}```\nRun it:\n```python\n{call}```"
    assert extract_code(response) == define + call
    assert extract_code(response, entry_point="main") == define
    for script in ("main() {\n    a\n}\n", "main()\n{\n    a\n}\n"):
        response = f"```bash\n{script}```\nRun it:\n```bash\nmain\n```"
        assert extract_code(response, "bash", entry_point="main") == script


@pytest.mark.parametrize("response", [None, b"print(1)", 1, ["a"], {"role": "assistant"}], ids=repr)
@pytest.mark.parametrize("extract", ["fence", "raw"])
def test_a_response_that_is_not_text_is_a_type_error(response, extract):
    with pytest.raises(TypeError, match=type(response).__name__):
        extract_code(response, extract=extract)


LONG = {
    "backticks": ("'`' * n", "''"),
    "tildes": ("'~' * n", "''"),
    "spaces": ("' ' * n", "' ' * n"),
    "newlines": ("'\\n' * n", "'\\n' * n"),
    "spaces before a fence": ("' ' * n + '```python\\na\\n```'", "'a\\n'"),
    "lines of spaces": ("(' ' * 99 + '\\n') * (n // 100)", "(' ' * 99 + '\\n') * (n // 100)"),
    "thinking opened again and again": ("'<think>' * (n // 7)", "''"),
    "thinking opened on every line": ("'<think>\\n' * (n // 8)", "''"),
    "thinking closed again and again": ("'</think>' * (n // 8)", "''"),
    "thinking opened and closed": ("'<think></think>\\n' * (n // 16)", "'\\n' * (n // 16)"),
    "thinking with fences": ("'<think>```</think>' * (n // 18)", "''"),
    "fences": ("'```python\\na\\n```\\n' * (n // 16)", "'a\\n'"),
    "a tag without an end": ("'```' + 'a' * n + '`'", "'```' + 'a' * n + '`'"),
    "spaces after a fence": ("'```' + ' ' * n + '`'", "'```' + ' ' * n + '`'"),
    "special tokens": ("'<|e|>' * (n // 5)", "''"),
    "special tokens on lines of their own": ("'<|e|>\\n' * (n // 6)", "''"),
    "angle brackets": ("'<|' * (n // 2)", "'<|' * (n // 2)"),
    "marks behind words": ("'a ```\\n' * (n // 6)", "'a '"),
    "marks behind prose": ("'Here it is:\\n' + 'a ```\\n' * (n // 6)", "''"),
    "marks with words": ("'``` a b\\n' * (n // 8)", "''"),
    "marks far in": ("'```python\\n' + '        ```\\n' * (n // 12 * 2)", None),
    "fences behind words": ("'a ```python\\n' * (n // 12)", "'a ```python\\n' * (n // 12 - 1)"),
    "fences in a quote": ("'> ```python\\n> a\\n> ```\\n' * (n // 22)", "'a\\n'"),
    "fences in quotes that end": ("'> ```python\\n> a\\n' * (n // 16)", "'a\\n'"),
    "quotes in a line": ("'>' * n + '```python\\na'", "''"),
    "bullets": ("'- ' * (n // 2) + '```python\\na'", "'a'"),
    "fences in triple quotes": ('\'"""\\n```\\n\' * (n // 8)', None),
    "triple quotes": ("'```python\\n' + '\"\"\" ' * (n // 4) + '\\n```'", "'\"\"\" ' * (n // 4) + '\\n'"),
    "answer tags": ("'<answer>' * (n // 8)", None),
    "answer tags on lines of their own": ("'<answer>\\n' * (n // 9)", "''"),
    "execute tags": ("'<execute>\\n' * (n // 10)", "''"),
    "tags with attributes": ("'<code lang=python ' * (n // 18)", None),
    "tags with many attributes": ("'Sure:\\n' + '<code lang=python lang=' + 'a ' * 90 + '>\\n' * (n // 200)", None),
    "a tag and spaces": ("'<code lang' + ' ' * n + '=python>'", None),
    "closings in quotes": ("'<think>' + '\"</think>\"' * (n // 10)", "''"),
    "closings in a string": ("'\"a</think>' * (n // 10)", None),
    "openings in quotes": ("'\"<think>' * (n // 8)", "'\"<think>' * (n // 8)"),
    "thinking of all kinds": ("'a <think><thinking><thought>' * (n // 27)", None),
    "channels": ("'<|channel|>final' * (n // 16)", "''"),
    "final channels": ("'<|channel|>final<|message|>' * (n // 27)", None),
    "definitions": ("'```python\\ndef a(): b\\n```\\n' * (n // 25)", "'def a(): b\\n'"),
    "definitions that need one another": (
        "''.join(f'```python\\ndef f{i}(): f{i - 1}()\\n```\\n' for i in range(n // 40))",
        "''.join(f'def f{i}(): f{i - 1}()\\n' for i in range(n // 40))",
    ),
    "a function and spaces": ("'```python\\ndef' + ' ' * n + '\\n```\\n```python\\nfunction' + ' ' * n", None),
    "turns": ("'<|im_end|>  <|im_start|>  ' * (n // 28)", None),
    "words": ("'The ' * (n // 4)", "''"),
    "digits": ("'1 ' * (n // 2)", "''"),
    "digits and a letter": ("'1' * n + 'a'", "'1' * n + 'a'"),
    "words before a fence": ("'Output ' * (n // 7) + '```\\nx\\n```\\n```\\nprint(1)\\n```'", "'print(1)\\n'"),
    "a word before a fence": ("'o' * n + ':\\n```\\nx\\n```\\n```\\nprint(1)\\n```'", "'print(1)\\n'"),
    "outputs": ("'```\\nprint(1)\\n```\\n' + 'Output:\\n```\\nx = 5\\n```\\n' * (n // 22)", "'print(1)\\n'"),
    **{
        f"an output of {text[:9]!r}": (f"'```\\nprint(1)\\n```\\n```\\n' + {text!r} * (n // {len(text)})", None)
        for text in ("=", " ", "a ", "a=", "a = f(", "if :", "for a in", "f(", "f()  ", ";  ", "a.", "'", "a,\n", " =(")
    },
    "lines of spaces and a comment": ("(' ' * 99 + '#\\n') * (n // 101)", "(' ' * 99 + '#\\n') * (n // 101)"),
}


READING = """
import resource
from code_env.extract import extract_code
n = 100_000
def read(name, response, code):
    print(name, flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 8, resource.RLIM_INFINITY))
    found = extract_code(response, entry_point='f')
    if code not in (found, None):
        raise SystemExit(found[:50])
"""


@pytest.mark.parametrize("part", range(4))
def test_a_long_hostile_response_is_read_to_its_end(part, some):
    # In a process of its own: a pattern that backtracks cannot be stopped from within, and would take days.
    names = some(LONG, 8)[part::4]
    lines = [READING, *(f"read({name!r}, {LONG[name][0]}, {LONG[name][1]})" for name in names)]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    told = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, ""), told[-1:]
    assert told == names
