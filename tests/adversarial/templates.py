"""The files in `programs/` as text: each is a Jinja template.

A line that begins with `%%` is a statement, `«x»` is the value of x, and a line that begins with `%#` is a comment.
`%% print X` stands for the lines of X.
"""

import re
from pathlib import Path

import jinja2

PROGRAMS = Path(__file__).parent / "programs"


def rendered(path: Path) -> str:
    """The text of a file below PROGRAMS, with the number of its line behind `####` in each header."""
    return ENVIRONMENT.get_template(path.relative_to(PROGRAMS).as_posix()).render()


def _source(name: str) -> tuple[str, str, None]:
    path = PROGRAMS / name
    lines = enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
    source = "\n".join(re.sub(r"^#### ", f"#### {number} ", line) for number, line in lines)
    # Jinja's statements swallow the blank lines below them, which are the program's.
    source = re.sub(r"(?m)^(%%.*\n)(?=[ \t]*\n)", r"\1«''»", source)
    return source, str(path), None


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FunctionLoader(_source),
    line_statement_prefix="%%",
    variable_start_string="«",
    variable_end_string="»",
    # What opens these by default can stand in a program.
    block_start_string="«%",
    block_end_string="%»",
    comment_start_string="%#",
    comment_end_string="\n",
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)
