"""What a command writes takes the place of nothing that it reads."""

import pytest

from code_env.errors import OutputError
from code_env.output_file import output_path, require_other


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("read", "read"),
        ("read", "./folder/../read"),
        ("link", "read"),
        ("read", "link"),
        ("read.partial", "read"),
        ("read", "read.partial"),
        ("new", "./new"),
        ("to_new", "new"),
        (".", "folder/.."),
    ],
)
def test_a_file_that_is_read_is_not_replaced(path, other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "read").touch()
    (tmp_path / "link").symlink_to("read")
    (tmp_path / "to_new").symlink_to("new")
    with pytest.raises(OutputError, match=r"would replace .* give another path"):
        require_other(tmp_path / path, [None, tmp_path / "read.html", tmp_path / other])
    require_other(tmp_path / "read.html", [tmp_path / other, tmp_path / "folder"])


def test_a_folder_that_is_not_there_is_told_before_work_begins(tmp_path):
    with pytest.raises(OutputError, match="none is no folder; make it, or give another path"):
        output_path(tmp_path / "none" / "new")
