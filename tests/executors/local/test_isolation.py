"""What a program cannot reach: its host, and its neighbours. Each test looks for a canary, not at an exit code."""

import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

import code_env
from code_env import Limits, Program, Status
from support import local

FIND = """
import os, sys
found = []
for directory, _, names in os.walk('/'):
    # An interpreter need not be below /usr; that is no place for secrets either.
    if directory.startswith(('/usr', '/lib', '/proc', '/dev', sys.prefix, sys.base_prefix)):
        continue
    for name in names:
        path = os.path.join(directory, name)
        try:
            with open(path, 'rb') as file:
                if CANARY in file.read(1 << 20):
                    found.append(path)
        except OSError:
            pass
print(found)
"""


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A secret in the host's environment, in its temporary directory and in its memory."""
    text = f"canary-{os.getpid()}-{time.monotonic_ns()}"
    (tmp_path / "secret").write_text(text)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("CODE_ENV_TEST_SECRET", text)
    return text


def test_the_hosts_secrets_are_nowhere(canary, jail, tmp_path):
    first, second = canary[:8], canary[8:]
    code = f"CANARY = ({first!r} + {second!r}).encode()\n" + FIND
    result = jail.run(Program(code, limits=Limits(cpu_s=30, wall_s=60)))
    assert result.status is Status.OK, result
    assert result.stdout == "[]\n"
    direct = jail.run(Program(f"print(open({str(tmp_path / 'secret')!r}).read())"))
    assert direct.error is not None
    assert canary not in direct.stdout + direct.stderr


REACH_OUT = """
import os
def reach_out():
    for path, flags in (({0!r} + '/secret', os.O_RDONLY), ({0!r} + '/new', os.O_WRONLY | os.O_CREAT)):
        try: return os.read(os.open(path, flags), 100)
        except OSError: pass
    return 'kept'
"""
REACH_OUT_OF_BASH = "cat {0}/secret; echo new 2>&- > {0}/new || echo kept"


def judged(tests, **limits):
    """Tells whether an answer passes such tests in a jail."""
    task = code_env.Task("t", "", tests, entry_point="reach_out", limits=Limits(**limits))
    return lambda jail, code: code_env.judge(task, code, jail).passed


KEPT = (code_env.StdinTest("", "kept\n"),) * 2
PRINTED = REACH_OUT + "print(reach_out())"
WAYS_TO_RUN = {
    "program": (PRINTED, lambda jail, code: jail.run(Program(code)).stdout == "kept\n"),
    "program with processes": (
        PRINTED,
        lambda jail, code: jail.run(Program(code, limits=Limits(processes=2))).stdout == "kept\n",
    ),
    "notebook": (PRINTED, lambda jail, code: jail.run(Program(code, notebook=True)).stdout == "kept\n"),
    "bash": (
        REACH_OUT_OF_BASH,
        lambda jail, code: jail.run(Program(code, language="bash", limits=Limits(processes=2))).stdout == "kept\n",
    ),
    "stdin tests": (PRINTED, judged(KEPT)),
    "stdin tests with processes": (PRINTED, judged(KEPT, processes=2)),
    "calls": (REACH_OUT, judged((code_env.CallTest((), expected="kept"),) * 2)),
    "calls with processes": (REACH_OUT, judged((code_env.CallTest((), expected="kept"),) * 2, processes=2)),
    "asserts": (REACH_OUT, judged((code_env.AssertTest("assert reach_out() == 'kept'"),) * 2)),
}


@pytest.mark.parametrize("way", WAYS_TO_RUN)
def test_files_that_everybody_may_use_are_out_of_reach_whatever_runs(way, jail):
    """So it is not their owners and modes that keep them."""
    text, keeps = WAYS_TO_RUN[way]
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        secret = Path(place, "secret")
        secret.write_text("secret")
        secret.chmod(0o666)
        assert keeps(jail, text.format(place))
        assert os.listdir(place) == ["secret"]


def test_the_hosts_process_shows_nothing(canary, jail):
    code = (
        (
            "import os\nfor pid in [n for n in range(1, 400)] + [HOST, PARENT]:\n    for name in ('environ', 'cmdline', 'mem', 'maps', 'root/etc/hostname', 'cwd', 'fd'):\n"
            "        path = f'/proc/{pid}/{name}'\n        if pid in (os.getpid(), 'self'): continue\n        try:\n"
            "            print(path, open(path, 'rb').read(100)) if name != 'fd' else print(path, os.listdir(path))\n        except OSError: pass"
        )
        .replace("HOST", str(os.getpid()))
        .replace("PARENT", str(os.getppid()))
    )
    assert jail.run(Program(code)).stdout == ""


def test_homes_and_the_checkout_are_out_of_sight(jail):
    checkout = Path(code_env.__file__).parent
    places = [
        "/root/.ssh",
        "/root/.bashrc",
        "/etc/shadow",
        "/etc/hostname",
        "/var/log",
        str(checkout / "cli.py"),
        os.path.expanduser("~/.cache"),
    ]
    code = f"import os\nfor path in {places!r}:\n    try:\n        print(path, os.listdir(path) if os.path.isdir(path) else open(path).read(10))\n    except OSError: pass"
    assert jail.run(Program(code)).stdout == ""


def test_no_answers_lie_around(jail):
    """The package brings tasks with references along; where it is installed, programs must not read them."""
    code = """
import os, sys
for top in sys.path:
    for directory, _, names in os.walk(top):
        if '_environments' in directory or 'code_env' in os.path.basename(directory):
            for name in names:
                try:
                    if open(os.path.join(directory, name), 'rb').read(1): print(directory, name)
                except OSError: pass
"""
    result = jail.run(Program(code, limits=Limits(cpu_s=30, wall_s=60)))
    assert [line for line in result.stdout.splitlines() if "dist-info" not in line] == []


def test_neither_when_a_directory_was_read_nor_a_control_group_is_seen_in_a_view_of_its_own():
    code = """
import os, time
before = os.stat('..').st_atime_ns
time.sleep(0.05)
print(os.listdir('..'), os.stat('..').st_atime_ns == before)
print({line.rpartition(':')[2] for line in open('/proc/self/cgroup')} <= {'/\\n'})
"""
    with local("full") as executor:
        assert executor.run(Program(code)).stdout == "['work'] True\nTrue\n"


STEALS_ITS_REPORT = """
import os
for name in ('/dev/fd/7', '/proc/self/fd/7'):
    try: os.read(os.open(name, os.O_RDONLY | os.O_NONBLOCK), 100)
    except OSError: pass
os.set_blocking(7, False)
try: os.read(7, 100)
except OSError: pass
"""
"""Its descriptor is the same in every program."""


def test_a_program_cannot_take_its_own_report_away(jail):
    assert [result.status for result in jail.run_many([Program(STEALS_ITS_REPORT)] * 8)] == ["ok"] * 8
    for test in (code_env.AssertTest("assert f(1) == 2"), code_env.CallTest((1,), {}, 2)):
        task = code_env.Task("t", "", (test,), entry_point="f")
        for value, outcome in ((1, "fail"), (2, "pass")):
            steal = STEALS_ITS_REPORT if test.kind == "assert" else ""  # In others it is closed.
            answer = f"{steal}\ndef f(x):\n    return {value}\n"
            verdicts = code_env.judge_many([(task, answer)] * 4, jail)
            assert [verdict.outcome for verdict in verdicts] == [outcome] * 4


DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in range(1, 65):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True:
            time.sleep(0.05)
    os._exit(0)
time.sleep(0.3)
print('left')
"""


def test_daemons_end_with_their_program(jail):
    jail.run_many([Program("import time; time.sleep(0.2)")] * 4)  # Both workers are there.
    before = tree_of_host()
    result = jail.run(Program(DAEMON, limits=Limits(processes=4)))
    assert result.stdout == "left\n", result
    assert tree_of_host() <= before


def tree_of_host():
    from code_env.harness.process.watching import descendants

    return set(descendants(os.getpid()))


def test_one_program_does_not_see_another(jail):
    """Signals, files and /proc of a neighbour are out of reach while both run."""
    victim = jail.submit(Program("import time\nopen('victim', 'w').close()\ntime.sleep(1.5)\nprint('alive')"))
    time.sleep(0.5)
    attack = """
import os, signal
for pid in range(2, 5000):
    if pid not in (os.getpid(), os.getppid()):
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
try: os.kill(-1, signal.SIGTERM)
except OSError: pass
print('tried')
"""
    jail.run(Program("import signal\nsignal.signal(15, signal.SIG_IGN)\n" + attack))
    assert victim.result().stdout == "alive\n"


def test_the_host_may_be_attacked_by_number(jail):
    hits = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: hits.append(1))
    try:
        code = f"import os, signal\nfor pid in ({os.getpid()}, {os.getppid()}, 1):\n    try: os.kill(pid, signal.SIGUSR1)\n    except OSError as e: print('no')"
        result = jail.run(Program(code))
        time.sleep(0.1)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert hits == []
    # At level `full` process 1 is the worker, which takes no signals from inside.
    assert result.stdout.count("no") >= 2, result


def test_what_is_collected_is_the_programs_own(jail, tmp_path):
    """Whatever it puts in the place of its directory, nothing of the host comes back."""
    (tmp_path / "secret").write_text("secret")
    tmp_path.chmod(0o755)
    for target in (str(tmp_path), "/etc", "/proc/1", "/proc/self"):
        code = f"import os\nd = os.getcwd()\nos.rename(d, d + '2')\nos.symlink({target!r}, d)\nprint('moved')"
        result = jail.run(Program(code, collect=("secret", "passwd", "cmdline", "status")))
        assert (result.status, dict(result.files)) == (Status.OK, {}), result
    for code in (
        "os.rename(d, d + '2')",
        "os.rmdir(d) if os.remove('main.py') is None else 0",
        "os.chmod(d, 0)",
        "os.chmod(os.path.dirname(d), 0)",
    ):
        result = jail.run(Program(f"import os\nd = os.getcwd()\n{code}\nprint('done')", collect=("x",)))
        assert (result.status, result.stdout) == (Status.OK, "done\n"), (code, result)
        assert jail.run(Program("open('x', 'w').write('y')", collect=("x",))).files == {"x": b"y"}


def test_a_program_reaches_no_directory_of_its_worker(jail):
    leave = (
        "import os\ndone = []\nfor n in range(60):\n    for name in (f'../../../worker-{n}', '../../run', '../../leak'):\n"
        "        try: os.mkdir(name)\n        except OSError: pass\n"
        "for name in ('../..', '..'):\n    try: os.chmod(name, 0)\n    except OSError: pass\nprint('tried')"
    )
    for _ in range(3):
        assert jail.run(Program(leave)).stdout == "tried\n"
        look = jail.run(Program("import os; print(os.path.exists('../../leak'), os.path.exists('../leak'))"))
        assert look.stdout == "False False\n", look


def test_modes_and_times_of_the_hosts_files_are_safe(jail):
    """Landlock has no say in them; where the user is the trainer's, the filter has."""
    import code_env.executors.local.jail.boot as boot

    before = os.stat(os.__file__)
    code = (
        "import os\nfor f in (os.__file__, os.path.dirname(os.__file__)):\n    for action in (lambda: os.chmod(f, 0o777), lambda: os.utime(f, (0, 0)), lambda: os.chown(f, 1, 1)):\n"
        "        try: action()\n        except OSError: pass\nprint('tried')"
    )
    assert jail.run(Program(code)).stdout == "tried\n"
    after = os.stat(os.__file__)
    assert (after.st_mode, after.st_mtime, after.st_uid) == (before.st_mode, before.st_mtime, before.st_uid)
    assert boot.__file__


def test_files_can_be_copied_with_their_modes(jail):
    code = "import shutil\nopen('a', 'w').write('x')\nshutil.copy('a', 'b')\nshutil.copy2('a', 'c')\nprint(open('b').read(), open('c').read())"
    assert jail.run(Program(code)).stdout == "x x\n"


def test_standard_input_is_a_file_that_cannot_be_written(jail):
    code = "import os\nprint(open('/dev/stdin').read())\ntry: os.write(0, b'x')\nexcept OSError: print('read-only')\ntry: os.ftruncate(0, 1 << 20)\nexcept OSError: print('fixed')"
    assert jail.run(Program(code, stdin="given")).stdout == "given\nread-only\nfixed\n"


def test_descriptors_beside_the_standard_ones_lead_nowhere(jail):
    code = """
import os, stat
for fd in range(3, 300):
    try: mode = os.fstat(fd).st_mode
    except OSError: continue
    print(fd, 'socket' if stat.S_ISSOCK(mode) else oct(mode))
"""
    # One socket: the program may write an error of its own making there, and would only fool itself.
    assert jail.run(Program(code)).stdout == "7 socket\n"


def test_threads_of_a_program_cannot_outlive_it(jail):
    code = "import threading, time, os\nthreading.Thread(target=lambda: time.sleep(60), daemon=True).start()\nprint('done', flush=True)\nos._exit(0)"
    result = jail.run(Program(code))
    assert (result.status, result.stdout) == ("ok", "done\n"), result  # A survivor would be there until the limit.


ABUSES = {
    "forks": ("import os\nos.fork()", Status.ERROR, 0),
    "stays as a daemon": (DAEMON, Status.OK, 4),
    "kills its parent": ("import os\nos.kill(os.getppid(), 9)\nos.kill(os.getpid(), 6)", None, 0),
    "kills itself": ("import os\nos.kill(os.getpid(), 9)", Status.SIGNAL, 0),
    "aborts": ("import os\nos.abort()", Status.SIGNAL, 0),
    "reads the environment": ("import os\nassert 'CODE_ENV_TEST_SECRET' not in os.environ", Status.OK, 0),
    "reads a home": ("open('/root/.bashrc')", Status.ERROR, 0),
    "reads /proc": ("open('/proc/1/environ').read()", Status.ERROR, 0),
    "opens a socket": ("import socket\nsocket.socket()", Status.ERROR, 0),
    "exits early": ("import sys\nsys.exit(0)\n1 / 0", Status.OK, 0),
    "exits hard": ("import os\nos._exit(0)\n1 / 0", Status.OK, 0),
}


@pytest.mark.parametrize("name", ABUSES)
def test_an_abuse_has_its_status_and_its_neighbours_theirs(name, canary, jail, honest):
    code, status, processes = ABUSES[name]
    result = jail.run(Program(code, limits=Limits(processes=processes)))
    assert result.status in ((status,) if status else (Status.ERROR, Status.SIGNAL)), result


def test_a_program_raises_none_of_its_limits(jail):
    code = (
        "import resource\n"
        "for name in ('CORE', 'MEMLOCK', 'MSGQUEUE', 'NOFILE', 'SIGPENDING'):\n"
        "    soft, hard = resource.getrlimit(getattr(resource, f'RLIMIT_{name}'))\n"
        "    print(name, soft == hard != resource.RLIM_INFINITY)"
    )
    told = dict(line.split() for line in jail.run(Program(code)).stdout.splitlines())
    assert told == dict.fromkeys(("CORE", "MEMLOCK", "MSGQUEUE", "NOFILE", "SIGPENDING"), "True")
