"""Shared fixtures, and what happens to a test that cannot run here.

A test that lacks something is skipped with the reason, and pytest's summary lists it. With
CODE_ENV_REQUIRE=all, as in CI, that is a failure: nothing may be left out unseen.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_env import Executor, Program, make_executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from e2b_server import LoopbackServer

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("CODE_ENV_DATA", ROOT.parent / "shared" / "data"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    if report.skipped and os.environ.get("CODE_ENV_REQUIRE") == "all" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"CODE_ENV_REQUIRE=all allows no skips, and this one says: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.skipped and os.environ.get("CODE_ENV_REQUIRE") == "all":
        report.outcome = "failed"
        report.longrepr = f"CODE_ENV_REQUIRE=all allows no skips, and {collector.nodeid} says: {report.longrepr}"
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what talks with E2B's cloud where there is no key for it; the summary says so."""
    if os.environ.get("E2B_API_KEY"):
        return
    live = [item for item in items if item.get_closest_marker("live")]
    if live:
        config.hook.pytest_deselected(items=live)
        items[:] = [item for item in items if item not in live]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, also when that is nothing."""
    skipped = terminalreporter.stats.get("skipped", [])
    deselected = terminalreporter.stats.get("deselected", [])
    terminalreporter.section("left out")
    for report in skipped:
        terminalreporter.write_line(f"{report.nodeid}: {report.longrepr[-1]}")
    for item in deselected[:20]:
        terminalreporter.write_line(f"{item.nodeid}: deselected by marker or expression")
    if len(deselected) > 20:
        terminalreporter.write_line(f"... and {len(deselected) - 20} more, deselected alike")
    if not skipped and not deselected:
        terminalreporter.write_line("nothing")


@pytest.fixture(scope="session")
def data() -> Path:
    """The directory with the benchmark data."""
    if not DATA.is_dir():
        pytest.skip(f"no benchmark data in {DATA}; set CODE_ENV_DATA to where it is")
    return DATA


@pytest.fixture(scope="session")
def executor() -> Iterator[Executor]:
    """An executor for tests that do not care which one: the default."""
    with make_executor(DEFAULT_EXECUTOR, workers=2) as made:
        yield made


@pytest.fixture(scope="session")
def no_user_namespaces() -> list[str]:
    """A command prefix that takes user namespaces away."""
    return [sys.executable, str(Path(__file__).with_name("without_user_namespaces.py"))]


RESTRICTED = {
    "allowed_imports": ["collections", "hashlib", "itertools", "json", "math", "random", "re", "sys", "time", "typing"],
    "use_limited_builtins": False,
    "use_utility_builtins": False,  # With them, programs find names such as `math` that they have not imported.
}
"""Options of `restricted` with which ordinary programs run, and those that are wrong fail as elsewhere."""


@pytest.fixture(scope="session")
def cloud() -> Iterator[LoopbackServer]:
    """E2B on this machine, driven by the real SDK over real HTTP; see tests/e2b_server."""
    with LoopbackServer() as server:
        yield server


@contextlib.contextmanager
def executor_of(name: str, cloud: LoopbackServer) -> Iterator[Executor]:
    """An executor by its name, `e2b` on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in cloud.environment.items() if name == "e2b" else ():
            patch.setenv(variable, value)
        with make_executor(name, **(RESTRICTED if name == "restricted" else {})) as executor:
            yield executor


LEVELS = ("full", "contained")


def local(level, **kwargs):
    """An executor at a level, also where the machine grants a higher one."""
    executor = make_executor("local", **{"workers": 2, **kwargs})
    if level == "contained":
        executor._started()._level = level
    elif executor.describe().level != level:
        executor.close()
        pytest.skip(f"this machine does not grant level {level}: {executor.describe()}")
    return executor


@pytest.fixture(scope="module", params=LEVELS)
def jail(request):
    with local(request.param) as executor:
        yield executor


@pytest.fixture(scope="module", params=[*LEVELS, "subprocess"])
def everywhere(request):
    """Each executor that runs notebooks, at each of its levels."""
    made = make_executor("subprocess", workers=2) if request.param == "subprocess" else local(request.param)
    with made as executor:
        yield executor


@pytest.fixture
def honest(jail):
    """Ten honest programs, run beside and after whatever a test runs; each must give the same result as alone."""
    programs = [
        Program(
            "import math, os\nn = int(input())\nopen('out', 'w').write('x' * n)\n"
            "print(math.factorial(n), os.listdir())",
            stdin=str(n),
            collect=("out",),
        )
        for n in range(10)
    ]
    alone = jail.run_many(programs)
    assert [result.status for result in alone] == ["ok"] * 10
    futures = [jail.submit(program) for program in programs]
    yield
    assert [future.result() for future in futures] == alone
    assert jail.run_many(programs) == alone
