"""Programs with packages of their own, on both levels."""

import json
import os
import sys
from pathlib import Path

import pytest

import code_env
from code_env import Outcome, PackagesNotPrepared, Program, Status, TaskSuite, judge, judge_many
from code_env.errors import TaskError
from code_env.executors.local import servers
from code_env.packages import PackageCache, prepare
from packages.wheels import make_wheel, task
from support import LEVELS, kill_servers, local


@pytest.fixture(params=LEVELS)
def executor(request, prepared):
    with local(request.param) as executor:
        yield executor


def told(executor, code, **fields):
    """What a program prints, as JSON."""
    result = executor.run(Program(f"import json\n{code}", packages=fields.pop("packages", ("shelf",)), **fields))
    assert result.status is Status.OK, result
    return json.loads(result.stdout)


def trees(directory):
    """The files below a directory, and when each was changed."""
    return {path: path.lstat().st_mtime_ns for path in sorted(directory.rglob("*")) if path.suffix != ".lock"}


def test_two_versions_side_by_side(executor, packaged):
    references = [(one, one.reference) for one in packaged]
    wrong = [(packaged[0], "print('2.0')"), (packaged[1], packaged[1].reference.replace("VERSION", "OTHER"))]
    verdicts = judge_many((references + wrong) * 3, executor)
    assert [verdict.outcome for verdict in verdicts] == [*[Outcome.PASS] * 3, *[Outcome.FAIL] * 2] * 3


def test_programs_find_their_packages_imported(executor):
    """Only where the server that imports them is confined itself."""
    found = told(executor, "import sys\nprint(json.dumps('shelf' in sys.modules))")
    assert found is (executor.describe().level == "full")


def test_a_session_finds_its_packages(executor):
    for requirement, version in (("shelf<2", "'1.0'"), ("shelf", "'2.0'")):
        with executor.open_session(packages=[requirement]) as session:
            session.run("import shelf")
            with session.fork(1)[0] as branch:
                assert branch.run("shelf.VERSION").text == version
    with executor.open_session() as session:
        assert session.run("import shelf").error.name == "ModuleNotFoundError"


def test_a_session_with_packages_that_are_not_prepared_is_an_error(executor):
    with executor.open_session(packages=["nowhere"]) as session, pytest.raises(PackagesNotPrepared):
        session.run("1")


def test_packages_of_a_session_are_a_list(executor):
    with pytest.raises(TaskError, match=r"packages must be a list of texts, .*; got 'shelf>=1'"):
        executor.open_session(packages="shelf>=1")


def test_packages_of_the_host_are_not_there(executor):
    code = """
import importlib.util, sys
print(json.dumps([[name for name in ("numpy", "gymnasium", "pip", "code_env") if importlib.util.find_spec(name)],
                  sys.prefix, sys.executable, sys.path[1:]]))
"""
    found, prefix, executable, path = told(executor, code)
    assert found == []
    assert executable == f"{prefix}/bin/python"
    assert [entry for entry in path if "site-packages" in entry] == [
        f"{prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    ]


def test_packages_of_the_host_cannot_be_reached_by_their_path(executor):
    import gymnasium

    bases = {str(Path(gymnasium.__file__).parents[1]), *Path(sys.base_prefix).glob("lib/python3*/site-packages")}
    code = f"""
import os
def readable(top):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                open(os.path.join(folder, name)).close()
                return True
            except OSError:
                pass
    return False
print(json.dumps([readable(path) for path in {sorted(map(str, bases))!r}]))
"""
    assert told(executor, code) == [False] * len(bases)


def test_a_program_without_packages_has_those_of_the_interpreter(executor):
    code = "import numpy, importlib.util\nprint(json.dumps(importlib.util.find_spec('shelf') is None))"
    assert told(executor, code, packages=()) is True


def test_a_program_cannot_change_its_environment(executor, prepared):
    before = trees(prepared.directory)
    code = """
import os, shelf, sys
file, folder, done = shelf.__file__, os.path.dirname(shelf.__file__), []
def attempt(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return
    done.append(what.__name__)
attempt(lambda: open(file, "a"))
attempt(lambda: open(folder + "/new.py", "w"))
attempt(os.unlink, file)
attempt(os.rename, file, folder + "/other.py")
attempt(os.mkdir, folder + "/new")
attempt(os.symlink, "/", folder + "/link")
attempt(os.truncate, file, 0)
attempt(os.link, file, folder + "/hard.py")
attempt(os.unlink, sys.executable)
print(json.dumps(done))
"""
    assert told(executor, code) == []
    assert trees(prepared.directory) == before
    assert told(executor, "import shelf\nprint(json.dumps(shelf.VERSION))") == "2.0"


def test_a_program_cannot_see_another_environment(executor, prepared, packaged):
    old, new, room = (prepared.find(one.packages, sys.executable) for one in packaged)
    code = f"""
import os
def look(path):
    try:
        return open(path).read() if path.endswith(".py") else sorted(os.listdir(path))
    except OSError:
        return None
print(json.dumps([look(path) for path in {[str(old.packages / "shelf.py"), str(room.path), str(old.prefix)]!r}]))
"""
    assert told(executor, code) == [None] * 3
    own = f"print(json.dumps(open({str(new.packages / 'shelf.py')!r}).read()))"
    assert told(executor, own) == "VERSION = '2.0'\n"


def test_nothing_of_one_program_is_left_for_the_next(executor):
    assert told(executor, "import shelf\nshelf.VERSION = 'mine'\nprint(1)") == 1
    assert told(executor, "import shelf\nprint(json.dumps(shelf.VERSION))") == "2.0"


def test_what_is_not_prepared_is_an_error_at_once(executor, packaged):
    with pytest.raises(PackagesNotPrepared, match=r"nowhere.*code-env prepare SUITE"):
        executor.submit(Program("print(1)", packages=("nowhere",)))
    missing = task("missing", ["nowhere"], "print(1)", "1")
    with pytest.raises(PackagesNotPrepared, match="code-env prepare SUITE"):
        judge(missing, "print(1)", executor)
    # The executor is as good as before.
    assert judge(packaged[0], packaged[0].reference, executor).passed


def test_servers_that_die_are_replaced(executor, packaged):
    answers = [(one, one.reference) for one in packaged]
    assert all(verdict.passed for verdict in judge_many(answers, executor))
    kill_servers(executor)
    assert all(verdict.passed for verdict in judge_many(answers, executor))


def test_the_description_says_so(executor):
    assert executor.describe().packages


def test_an_environment_steps_through_such_tasks(prepared, packaged):
    import gymnasium as gym

    with gym.make("code_env:CodeExec-v0", suite=packaged, order="sequential") as env:
        for one in packaged:
            env.reset(seed=0, options={"task_id": one.id})
            *_, terminated, _, info = env.step(one.reference)
            assert (terminated, info["valid"]) == (True, True)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of the user."""
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))
    return PackageCache()


def test_few_servers_are_kept(cache, monkeypatch, tmp_path):
    """The least recently used end; one that runs a program does not, and each is started again when it is needed."""
    monkeypatch.setattr(servers, "MOST_SERVERS", 2)
    names = [f"pack{number}" for number in range(3)]
    for name in names:
        make_wheel(tmp_path / "wheels", name, "1.0")
    suite = TaskSuite("packs", [task(name, [name], f"import {name}\nprint({name}.VERSION)", "1.0") for name in names])
    prepare(suite, wheels=tmp_path / "wheels")
    with code_env.make_executor("local", workers=3) as executor:
        for _ in range(2):
            for one in suite:
                assert judge(one, one.reference, executor).passed
                kept = executor._live.servers
                with_environments = [stock for stock in kept._servers if stock.environment]
                assert len(with_environments) <= 2
                assert with_environments[-1].environment == cache.find(one.packages, executor.python).key
        # All at once there are more of them than are kept afterwards, and each program gets its verdict.
        assert all(verdict.passed for verdict in judge_many([(one, one.reference) for one in suite] * 2, executor))
        assert sum(bool(stock.environment) for stock in kept._servers) <= 2


def test_the_server_of_a_session_is_kept(prepared, monkeypatch):
    monkeypatch.setattr(servers, "MOST_SERVERS", 0)
    with local("full") as executor:
        with executor.open_session(packages=["shelf"]) as session:
            session.run("kept = 7")
            assert told(executor, "print(1)", packages=("shelf<2",)) == 1
            assert session.run("kept").text == "7"
        del session
        assert told(executor, "print(1)", packages=("shelf<2",)) == 1
        assert not any(stock.environment for stock in executor._live.servers._servers)


def test_an_environment_in_use_is_not_removed(cache, wheels, packaged):
    prepare(packaged, wheels=wheels)
    with code_env.make_executor("local", workers=1) as executor:
        assert judge(packaged[0], packaged[0].reference, executor).passed
        used = cache.find(packaged[0].packages, executor.python)
        assert used not in cache.prune(0)
        assert cache.entries() == [used]
        assert judge(packaged[0], packaged[0].reference, executor).passed
        with pytest.raises(PackagesNotPrepared):
            judge(packaged[1], packaged[1].reference, executor)
    assert cache.prune(0) == [used]


def test_what_was_removed_meanwhile_is_an_error_and_no_verdict(cache, wheels, packaged):
    prepare(packaged, wheels=wheels)
    with code_env.make_executor("local", workers=1) as executor:
        assert judge(packaged[0], packaged[0].reference, executor).passed
        kill_servers(executor)  # It must start another, and its environment is gone.
        import shutil

        shutil.rmtree(cache.directory)
        with pytest.raises(PackagesNotPrepared, match="code-env prepare SUITE"):
            judge(packaged[0], packaged[0].reference, executor)


@pytest.mark.parametrize("body", ["raise ValueError('broken')", "import sys; sys.exit(3)", "import nowhere", "???"])
def test_a_broken_package_breaks_only_programs_that_import_it(body, cache, tmp_path):
    make_wheel(tmp_path / "wheels", "broken", "1.0", {"broken.py": f"{body}\n"})
    suite = TaskSuite("broken", [task("broken", ["broken"], "print(1)", "1")])
    prepare(suite, wheels=tmp_path / "wheels")
    with code_env.make_executor("local", workers=1) as executor:
        assert judge(suite[0], "print(1)", executor).passed
        assert not judge(suite[0], "import broken\nprint(1)", executor).passed


def test_modules_are_imported_in_the_jail(cache, tmp_path):
    """The server imports packages before it forks: there they can do no more than a program."""
    mark = tmp_path / "mark"
    code = f"try:\n    open({str(mark)!r}, 'w')\n    WROTE = True\nexcept OSError:\n    WROTE = False\n"
    make_wheel(tmp_path / "wheels", "sly", "1.0", {"sly.py": code})
    suite = TaskSuite("sly", [task("sly", ["sly"], "import sly\nprint(sly.WROTE)", "False")])
    prepare(suite, wheels=tmp_path / "wheels")
    tmp_path.chmod(0o777)
    for level in LEVELS:
        with local(level) as executor:
            assert judge(suite[0], suite[0].reference, executor).passed
    assert not os.path.exists(mark)
