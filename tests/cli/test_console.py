"""What all commands print with."""

from rich.table import Table

from code_env.cli.console import out, progress_bar, say

NAME = "my[socks]:boom:x"


def test_no_text_is_taken_for_markup_or_an_emoji(capsys):
    table = Table(NAME)
    table.add_row(NAME)
    out.print(table)
    out.print(NAME)
    say(NAME)
    assert capsys.readouterr().out.count(NAME) == 4
    bar = progress_bar()
    bar.add_task(NAME)
    assert bar.columns[0].render(bar.tasks[0]).plain == NAME
