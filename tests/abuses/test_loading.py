"""The files of abuses say what they say, or why they cannot be read."""

import pytest

from code_env import Limits
from code_env.abuses import SHORT, loading

BEGINNINGS = """
#### first
a = 1
b = 2

#### second
---- begins with first
c = 3
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "PROGRAMS", tmp_path)
    (tmp_path / "beginnings.txt").write_text(BEGINNINGS)
    return tmp_path


def test_what_a_block_says(programs):
    (programs / "cpu.txt").write_text(
        "#### plain\nprint(1)\n\n\n#### with all\n---- begins with second\n---- wall_s=2 processes=3\n"
        '---- stdin "a\\nb"\n---- selected\nprint(c)\n#### refused\n---- each line is refused\nimport os\nos.fork()\n'
    )
    plain, with_all, refused = loading.load_abuses("cpu")
    assert plain == ("plain", "cpu", "print(1)\n", SHORT, "", False)
    assert with_all.code == "a = 1\nb = 2\nc = 3\nprint(c)\n"
    assert with_all.limits == Limits(cpu_s=1, wall_s=2, memory_bytes=128 << 20, processes=3)
    assert (with_all.stdin, with_all.selected) == ("a\nb", True)
    assert refused.code == "import os\nattempt('os.fork()', lambda: os.fork())\n"


@pytest.mark.parametrize("option", ["wal_s=2", "wall_s=-1", "wall_s", "wall_s=two", "selectd"])
def test_an_option_that_does_not_exist_is_named(programs, option):
    (programs / "cpu.txt").write_text(f"#### a loop\n---- {option}\nwhile True: pass\n")
    with pytest.raises(ValueError, match=f"abuse 'a loop': expected an option, or limits .* got '{option}'"):
        loading.load_abuses("cpu")


def test_a_beginning_that_does_not_exist_is_named(programs):
    (programs / "cpu.txt").write_text("#### a loop\n---- begins with third\nwhile True: pass\n")
    with pytest.raises(ValueError, match="abuse 'a loop': no beginning is named 'third'; known are first, second"):
        loading.load_abuses("cpu")
