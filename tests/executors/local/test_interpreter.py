"""Which interpreter runs programs, and what of its environment they find."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from code_env import ExecutorError, Program, Status
from code_env.executors.local.interpreter import ask_interpreter
from support import let_others_reach, local


def test_programs_find_what_a_fresh_interpreter_finds(jail):
    code = "import sys; print(sys.executable, sys.prefix, sys.version_info[:2], __name__, sys.argv)"
    expected = f"{sys.executable} {sys.prefix} {sys.version_info[:2]} __main__ ['main.py']\n"
    assert jail.run(Program(code)).stdout == expected


@pytest.mark.parametrize(
    "module", ["asyncio", "sqlite3", "unittest", "xml.etree.ElementTree", "multiprocessing", "ctypes"]
)
def test_the_standard_library_is_there(module, jail):
    result = jail.run(Program(f"import {module}; print({module}.__name__)"))
    assert result.stdout == f"{module}\n", result


def test_installed_packages_are_there_and_read_only(jail):
    code = "import numpy, rapidfuzz\nprint(int(numpy.arange(4).sum()))\nopen(rapidfuzz.__file__, 'a')"
    result = jail.run(Program(code))
    assert (result.stdout, result.status) == ("6\n", Status.ERROR)
    assert result.error.name in ("PermissionError", "OSError")


def test_builtins_of_site_are_there(jail):
    assert jail.run(Program("print('before')\nexit(3)")).exit_code == 3
    assert jail.run(Program("quit()")).status is Status.OK


def test_heavy_modules_come_from_a_server_that_has_them(jail):
    result = jail.run(Program("import sys\nprint('numpy' in sys.modules)\nimport numpy"))
    assert result.stdout == "True\n"
    plain = jail.run(Program("import sys\nprint('num' + 'py' in sys.modules)"))
    assert plain.stdout == "False\n"
    # Whoever hides the name only waits longer.
    hidden = jail.run(Program("m = __import__('num' + 'py')\nprint(int(m.arange(4).sum()))"))
    assert hidden.stdout == "6\n", hidden


def test_numpy_has_one_thread_and_its_own_random_numbers(jail):
    code = "import numpy\na = numpy.ones((300, 300))\nprint((a @ a)[0, 0])\ntry:\n    import os\n    print(len(os.listdir('/proc/self/task')))\nexcept OSError:\n    print(1)"
    assert jail.run(Program(code)).stdout == "300.0\n1\n"
    draws = {jail.run(Program("import numpy\nprint(numpy.random.random())")).stdout for _ in range(3)}
    assert len(draws) == 3


def test_programs_have_random_numbers_of_their_own(jail):
    draws = {jail.run(Program("import random\nprint(random.random())")).stdout for _ in range(3)}
    assert len(draws) == 3
    seeded = {jail.run(Program("import random\nrandom.seed(1)\nprint(random.random())")).stdout for _ in range(2)}
    assert len(seeded) == 1


def test_a_module_of_the_programs_own_can_be_imported(jail):
    code = "open('mine.py', 'w').write('VALUE = 7')\nimport mine, given, package.part\nprint(mine.VALUE, given.VALUE, package.part.VALUE)"
    files = {"given.py": b"VALUE = 8", "package/part.py": b"VALUE = 9", "package/__init__.py": b""}
    assert jail.run(Program(code, files=files)).stdout == "7 8 9\n"


def test_an_interpreter_in_a_private_home_works(jail, tmp_path):
    """As under pyenv of root: nobody but its owner may pass the directories that lead to it."""
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
    library = next((home / "venv/lib").glob("python*")) / "site-packages"
    (library / "private_package.py").write_text("VALUE = 'private'")
    (home / "secret").write_text("secret")
    home.chmod(0o700)
    with local(jail.describe().level, python=str(home / "venv/bin/python"), workers=1) as executor:
        result = executor.run(Program("import private_package, asyncio\nprint(private_package.VALUE)"))
        assert result.stdout == "private\n", result
        secret = executor.run(Program(f"print(open({str(home / 'secret')!r}).read())"))
        assert secret.status is Status.ERROR


def test_an_interpreter_is_asked_again_only_when_it_has_changed(tmp_path):
    python, asked = tmp_path / "python", tmp_path / "asked"

    def write():
        python.write_text(f'#!/bin/sh\necho >>{asked}\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)

    write()
    assert ask_interpreter(str(python)) == ask_interpreter(str(python))
    assert asked.read_text() == "\n"
    python.unlink()
    write()
    ask_interpreter(str(python))
    assert asked.read_text() == "\n\n"
    python.unlink()
    with pytest.raises(ExecutorError, match="does not answer"):
        ask_interpreter(str(python))


def test_another_interpreter_can_be_named(jail):
    others = [path for path in map(shutil.which, ("python3.13", "python3.12", "python3.11", "python3")) if path]
    other = next((path for path in others if supported(path)), None)
    if other is None:
        pytest.skip("no other interpreter of a supported version is on the path")
    expected = subprocess.run([other, "-c", "import sys; print(sys.version)"], capture_output=True, text=True).stdout
    with local(jail.describe().level, python=other, workers=1) as executor:
        assert executor.run(Program("import sys; print(sys.version)")).stdout == expected


def supported(path):
    ask = subprocess.run([path, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, text=True)
    return ask.stdout == "True\n"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 1", "exit code 1"),
        ("echo 'shim: not installed' >&2; echo see help >&2; exit 127", "exit code 127, 'shim: not installed'"),
        ("echo Traceback: >&2; echo ' x' >&2; echo KeyError >&2; exit 1", "exit code 1, 'KeyError'"),
        ("kill -9 $$", "killed by signal 9"),
        ("echo hello", "it printed something else than its description"),
    ],
)
def test_what_is_no_interpreter_is_refused_with_a_message(script, why, tmp_path):
    from code_env import make_executor

    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with make_executor("local", python=str(python)) as executor, pytest.raises(ExecutorError) as refused:
        executor.describe()
    assert str(refused.value).startswith(f"{python} does not answer as a Python interpreter: {why}")
    assert str(refused.value).endswith("give the path of CPython 3.11 or newer as python=")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"workers": 0},
        {"workers": True},
        {"python": "/no/such"},
        {"min_isolation": "none"},
        {"preload": "numpy"},
        {"preload": [1]},
        {"readable": ["/no/such/path"]},
    ],
)
def test_arguments_are_checked(kwargs):
    from code_env import make_executor

    with pytest.raises(ExecutorError):
        make_executor("local", **kwargs)


def test_more_paths_can_be_made_readable(jail, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "file").write_text("readable")
    data.chmod(0o755)
    let_others_reach(data)
    with local(jail.describe().level, readable=[str(data)], workers=1) as executor:
        path = str(data / "file")
        assert executor.run(Program(f"print(open({path!r}).read())")).stdout == "readable\n"
        assert executor.run(Program(f"open({path!r}, 'w')")).status is Status.ERROR


def test_standard_library_path_is_the_interpreters(jail):
    result = jail.run(Program("import os; print(os.path.dirname(os.__file__))"))
    assert Path(result.stdout.strip()) == Path(sysconfig.get_path("stdlib"))
    assert os.path.isdir(result.stdout.strip())
