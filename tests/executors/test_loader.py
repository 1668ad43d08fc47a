"""An interpreter whose library the loader finds by LD_LIBRARY_PATH only, as a copied one."""

import sys

import pytest

from code_env import Program, make_executor
from code_env.executors.loader import loader_environment


@pytest.fixture
def copied(tmp_path):
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\n[ "$LD_LIBRARY_PATH" = /needed ] || exit 127\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    return str(wrapper)


def test_the_variable_is_handed_on_only_where_it_is_needed(copied, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/needed")
    assert loader_environment(copied) == {"LD_LIBRARY_PATH": "/needed"}
    assert loader_environment(sys.executable) == {}
    monkeypatch.delenv("LD_LIBRARY_PATH")
    assert loader_environment(copied) == {}


@pytest.mark.parametrize("name", ["local", "subprocess"])
def test_programs_run_there(name, copied, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/needed")
    with make_executor(name, python=copied, workers=1) as executor:
        assert executor.run(Program("print(1)")).stdout == "1\n"
