"""Shared fixtures, the tier that runs, and what happens to a test that cannot run here.

A test that lacks something is skipped with the reason, and pytest's summary lists it. With
CODE_ENV_REQUIRE=all, as in CI, that is a failure: nothing may be left out unseen.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from code_env import Executor, load_suite, make_executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.packages import PackageCache, prepare
from e2b_server import LoopbackServer
from models.chat_endpoint import Endpoint
from packages.wheels import versions_suite
from support import DATA, HONEST, LEVELS, local, somewhere
from tiers import holds_quick_tests, longest_first, quick_part, sample

TESTS = Path(__file__).parent

collect_ignore_glob = ["*_script.py", "count_programs.py"]
"""Scripts are called in environments of their own, which have what they import. The other one imports modules of tests
by their names, which pytest imports by their paths: it would have each process of the tests read all programs twice."""


# On a busy machine a single example can take longer than Hypothesis has patience for ten.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The tier is chosen by an option; without it everything runs."""
    parser.addoption("--quick", action="store_true", help="run the quick tier only, see tests/tiers.py")


def pytest_configure(config: pytest.Config) -> None:
    """Have PATH as in an activated environment, one thread for arithmetic, and interrupts arrive as in a terminal.

    The `python3` that PATH begins with otherwise can be a script that looks for one, which takes 0.2 s each time. With
    a thread for each core, PyTorch's threads mostly spin while they wait for each other: the models of the tests are
    small, and the cores have other tests to run. A shell lets what it starts in the background ignore interrupts.
    """
    programs = str(Path(sys.executable).parent)
    if not os.environ["PATH"].startswith(f"{programs}:"):  # Workers have it already.
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector from looking at all tests and modules each time: half a million objects, 0.3 s."""
    gc.disable()
    done = yield
    gc.freeze()
    gc.enable()
    return done


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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even load what is not in this tier."""
    return True if config.getoption("quick") and not holds_quick_tests(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path):
    """Look for examples in the package only: what tests share would be loaded under a second name to find none."""
    collectors = yield
    if not file_path.is_relative_to(TESTS):
        return collectors
    return [one for one in collectors if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in this tier, and what talks with E2B's cloud where there is no key for it."""
    kept = quick_part(items) if config.getoption("quick") else items
    if not os.environ.get("E2B_API_KEY"):
        kept = [item for item in kept if not item.get_closest_marker("live")]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = longest_first([item for item in items if item in chosen], workers)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, also when that is nothing."""
    lines = [f"{report.nodeid}: {report.longrepr[-1]}" for report in terminalreporter.stats.get("skipped", [])]
    if not os.environ.get("E2B_API_KEY"):
        lines.append("tests that are marked live: they talk with E2B's cloud and need E2B_API_KEY")
    if terminalreporter.config.getoption("quick"):
        lines.append("what tests/tiers.py leaves to `scripts/test --all`")
    terminalreporter.section("left out")
    for line in lines or ["nothing"]:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def some(request) -> Callable:
    """Takes a sample of what a test goes through in the quick tier, and all of it else; see `tiers.sample`."""
    if request.config.getoption("quick"):
        return sample
    return lambda items, one_in, name=str: list(items)


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


@pytest.fixture(scope="session")
def cloud() -> Iterator[LoopbackServer]:
    """E2B on this machine, driven by the real SDK over real HTTP; see tests/e2b_server."""
    with LoopbackServer() as server:
        yield server


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A chat endpoint, over real HTTP."""
    with Endpoint() as server:
        yield server
        server.shutdown()


@pytest.fixture
def starter_endpoint(endpoint) -> Endpoint:
    """A chat endpoint that knows the references of `starter`."""
    endpoint.know(load_suite("starter"))
    return endpoint


@pytest.fixture(scope="module", params=LEVELS)
def jail(request):
    with local(request.param) as executor:
        yield executor


@pytest.fixture(scope="module", params=["contained", "subprocess"])
def other(request):
    """Executors that run programs in another way than the default one."""
    with somewhere(request.param) as made:
        yield made


@pytest.fixture(scope="module", params=[*LEVELS, "subprocess"])
def everywhere(request):
    """Each executor that runs notebooks, at each of its levels."""
    with somewhere(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def alone(jail):
    """What ten honest programs give while nothing else runs."""
    results = jail.run_many(HONEST)
    assert [result.status for result in results] == ["ok"] * len(HONEST)
    return results


@pytest.fixture
def honest(jail, alone):
    """The honest programs, run beside and after whatever a test runs; each must give the same result as alone."""
    futures = [jail.submit(program) for program in HONEST]
    yield
    assert [future.result() for future in futures] == alone
    assert jail.run_many(HONEST) == alone


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """A folder with the wheels of `versions_suite`."""
    folder = tmp_path_factory.mktemp("wheels")
    versions_suite(folder)
    return folder


@pytest.fixture(scope="session")
def packaged(wheels):
    """`versions_suite`: tasks that need these wheels."""
    return versions_suite(wheels)


@pytest.fixture(scope="session")
def full_cache(wheels, packaged, tmp_path_factory):
    """The directory of a cache in which that suite is prepared. No test changes it."""
    directory = tmp_path_factory.mktemp("cache")
    prepare(packaged, wheels=wheels, cache=PackageCache(directory))
    return directory


@pytest.fixture
def prepared(full_cache, monkeypatch):
    """The same cache, as the user's."""
    monkeypatch.setenv("CODE_ENV_CACHE", str(full_cache))
    return PackageCache(full_cache)
