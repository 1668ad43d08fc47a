import sys
import textwrap

import pytest

from code_env import Executor, ExecutorError, ExecutorNotFound, executor_names, make_executor
from code_env.executors.registry import name_of
from support import BrokenExecutor


def test_the_known_executors_are_made_by_name():
    assert "subprocess" in executor_names()
    with make_executor("subprocess", workers=1) as executor:
        assert isinstance(executor, Executor)


def test_an_unknown_name_gets_the_known_ones_and_the_nearest():
    with pytest.raises(ExecutorNotFound, match=r"known are .*subprocess.*entry-point group.*did you mean 'subprocess'"):
        make_executor("subproces")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed package that adds executors, as the entry-point group promises."""
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[code_env.executors]\nacme = acme:make\nno_executor = acme:wrong\n")
    (tmp_path / "acme.py").write_text(
        textwrap.dedent("""
        from code_env.executors.subprocess import UnisolatedSubprocessExecutor
        def make(workers): return UnisolatedSubprocessExecutor(workers=workers)
        def wrong(): return 3
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("acme", None)


def test_an_installed_package_adds_an_executor(plugin):
    assert "acme" in executor_names()
    with make_executor("acme", workers=1) as executor:
        assert executor.describe().level == "none"


def test_what_is_no_executor_is_refused(plugin):
    with pytest.raises(ExecutorError, match="acme:wrong gave a int"):
        make_executor("no_executor")


def test_a_module_s_path_is_a_name_too(plugin):
    with make_executor("acme:make", workers=1) as executor:
        assert executor.describe().level == "none"
    for name, reason in (("acme:none", "acme"), ("no.such:make", "no")):
        with pytest.raises(ExecutorError, match=f"cannot be loaded here: .*{reason}"):
            make_executor(name)
    for name in ("acme:", ":make", "acme:make:make"):
        with pytest.raises(ExecutorNotFound, match=f"no executor is named '{name}'"):
            make_executor(name)


def test_what_needs_arguments_says_which(plugin):
    for name, missing in (("acme", "workers"), ("math:sqrt", "x")):
        with pytest.raises(ExecutorError, match=f"{name}' needs arguments that were not given: {missing}$"):
            make_executor(name)


@pytest.mark.parametrize("name", ["local", "subprocess", "e2b", "restricted", "acme"])
def test_an_unknown_argument_gets_the_known_ones_and_the_nearest(plugin, name):
    with pytest.raises(TypeError, match=f"^the executor '{name}' has no argument 'worker'; known are .*mean 'workers'"):
        make_executor(name, worker=1)


def test_an_executor_has_the_name_that_made_it():
    for name in ("local", "subprocess", "restricted"):
        with make_executor(name, workers=1) as executor:
            assert name_of(executor) == name
    assert name_of(BrokenExecutor()) == "BrokenExecutor"
