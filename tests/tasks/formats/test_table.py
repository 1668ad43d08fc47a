from pathlib import Path

from code_env.tasks import formats

DOCS = Path(__file__).parents[3] / "docs" / "formats.md"


def test_the_docs_list_every_format():
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in row.split("|")[1].replace("`", " ").replace(",", " ").split()} == set(
        formats.FORMATS
    )


def test_a_row_of_no_format_is_of_none():
    assert formats.format_of_row({}) is None
    assert formats.format_of_row({"prompt": "p"}) is None


def test_a_directory_of_no_format_is_of_none(tmp_path):
    assert formats.format_of_directory(tmp_path) is None
