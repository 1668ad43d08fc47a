"""No Python file has more lines than a reader can keep in view."""

from support import ROOT

MOST_LINES = 500
FOLDERS = ("benchmarks", "envs", "examples", "scripts", "src", "tests")


def test_no_python_file_has_more_lines_than_allowed():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_bytes().splitlines()) for path in files}
    assert {"tests/test_file_lengths.py", "src/code_env/__init__.py"} <= set(lengths)
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}
