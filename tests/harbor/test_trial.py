"""Honest work on a task earns its reward, and neither doing nothing nor a cheat earns anything."""

import shutil
import threading
from pathlib import Path

import pytest

from code_env import ExecutorError, ImageError, TaskError
from code_env.harbor import Trial, TrialOutcome, read_folder, read_folders
from code_env.images import prepare_images

HERE = Path(__file__).parent
FOLDERS = sorted(path.name for path in (HERE / "tasks").iterdir())
CHEATS = sorted(path.name for path in (HERE / "agents").iterdir())


def finish(trial, work=lambda trial: None):
    while not trial.is_over:
        work(trial)
        trial.submit()
    return [(score.outcome, score.reward) for score in trial.scores]


def test_there_are_folders_of_all_kinds(tasks):
    found = read_folders(tasks)
    assert len(found) == len(FOLDERS) == 10
    assert sum(len(task.stages) for task in found) == 11
    assert len(CHEATS) == 5


@pytest.mark.parametrize("name", FOLDERS)
def test_the_solution_earns_all_and_doing_nothing_does_not(name, begun):
    def solve(trial):
        ran = trial.solve()
        assert ran.code == 0, ran

    honest = begun(name)
    assert set(finish(honest, solve)) == {(TrialOutcome.SCORED, 1.0)}, honest.scores
    assert honest.reward == 1.0
    lazy = begun(name)
    assert set(finish(lazy)) == {(TrialOutcome.SCORED, 0.0)}, lazy.scores


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("name", FOLDERS)
def test_no_cheat_earns_anything(name, cheat, begun):
    script = (HERE / "agents" / cheat).read_text()
    trial = begun(name)
    finish(trial, lambda trial: trial.run(script))
    # Without a verdict a cheat has earned nothing either, but the verifier's own tools must have worked.
    assert all(score.reward == 0.0 for score in trial.scores), trial.scores
    assert trial.reward == 0.0


INSIDE = {
    "ends the process with success": ("import os\nos._exit(0)", TrialOutcome.TAMPERED),
    "ends it with success later": ("import atexit, os\natexit.register(os._exit, 0)", TrialOutcome.TAMPERED),
    "kills the verifier": (
        "import os\nopen('/logs/verifier/reward.txt', 'w').write('1')\nos.kill(os.getppid(), 9)",
        TrialOutcome.TAMPERED,
    ),
    "leaves a daemon": (
        """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        before = None
        while True:
            try:
                text = open('/logs/verifier/reward.txt').read()
                if text.strip() == '0':
                    open('/logs/verifier/reward.txt', 'w').write('1')
            except OSError:
                pass
    os._exit(0)
""",
        None,
    ),
    "changes the reports": (
        """
from _pytest.reports import TestReport
made = TestReport.from_item_and_call.__func__
def passed(cls, item, call):
    report = made(cls, item, call)
    report.outcome = 'passed'
    return report
TestReport.from_item_and_call = classmethod(passed)
""",
        TrialOutcome.TAMPERED,
    ),
    "behaves well where tests are added": (
        "import os\nif 'PYTEST_ADDOPTS' not in os.environ: os._exit(0)\n"
        "if not os.path.exists('/code_env_tripwire'): os._exit(0)",
        None,
    ),
    "passes the task's own tests only": (
        """
import _pytest.python as p
run = p.Function.runtest
own = lambda test: test.function.__code__.co_filename.startswith('/tests')
p.Function.runtest = lambda self: None if own(self) else run(self)
""",
        TrialOutcome.TAMPERED,
    ),
    "says two things": (
        "open('/logs/verifier/reward.json', 'w').write('1')",
        TrialOutcome.TAMPERED,
    ),
    "nests the reward deeply": (
        "open('/logs/verifier/reward.json', 'w').write('[' * 200_000)",
        TrialOutcome.TAMPERED,
    ),
    "writes a huge number": (
        "open('/logs/verifier/reward.json', 'w').write('1' * 4000)",
        TrialOutcome.TAMPERED,
    ),
    "writes a huge file": (
        "open('/logs/verifier/reward.json', 'w').truncate(1 << 30)",
        TrialOutcome.TAMPERED,
    ),
    "changes the tests": (
        "open('/tests/test.sh', 'a').write('echo 1 > /logs/verifier/reward.txt\\n')",
        TrialOutcome.TAMPERED,
    ),
    "plants the reward": ("open('/logs/verifier/reward.json', 'w').write('1')\nraise SystemExit", None),
}


@pytest.mark.parametrize(("code", "outcome"), INSIDE.values(), ids=INSIDE)
def test_no_code_under_test_earns_anything(code, outcome, begun):
    trial = begun("write-a-function")
    wrong = f"def roman(n):\n    return ''\n{code}"
    trial.run(f"cat > roman.py <<'EOF'\n{wrong}\nEOF")
    score = trial.submit()
    assert score.reward == 0.0, score
    assert outcome in (None, score.outcome), score


OUTSIDE = {
    "a link to the tests": ("convert-a-file", "ln -s /tests/expected.json stock.json"),
    "a link to a link to the tests": ("convert-a-file", "ln -s / up && ln -s up/tests/expected.json stock.json"),
    "a directory that is the tests": ("convert-a-file", "cd / && rm -r /app && mkdir /tests && ln -s /tests /app"),
    "a plugin of pytest": (
        "write-a-function",
        """
mkdir evil-1.dist-info
printf 'Metadata-Version: 2.1\nName: evil\nVersion: 1\n' > evil-1.dist-info/METADATA
printf '[pytest11]\nevil = evil\n' > evil-1.dist-info/entry_points.txt
printf 'def pytest_collection_modifyitems(items):\n    for one in items: one.obj = lambda **k: None\n' > evil.py
echo 'def roman(n): return 1' > roman.py
""",
    ),
    "unittest that runs nothing": (
        "mend-a-class",
        "printf 'import _pytest.unittest as u\nclass Stack: pass\n' > stack.py\n"
        "echo 'u.TestCaseFunction.runtest = lambda self: None' >> stack.py",
    ),
    "a daemon under test": (
        "write-a-script",
        """
cat > longest <<'EOF'
#!/usr/local/bin/python3
import os
if os.fork() == 0:
    os.setsid()
    for fd in range(3): os.close(fd)
    if os.fork(): os._exit(0)
    path = '/logs/verifier/reward.txt'
    while not os.path.exists(path) or not open(path).read(): pass
    open(path, 'w').write('1')
EOF
chmod +x longest
""",
    ),
    "a script of the tests that goes on otherwise": (
        "write-a-script",
        """
cat > longest <<'EOF'
#!/bin/bash
cp /tests/test.sh /tmp/original
echo 'echo 1 > /logs/verifier/reward.txt; cp /tmp/original /tests/test.sh' >> /tests/test.sh
EOF
chmod +x longest
""",
    ),
    "a verifier that is stopped": (
        "write-a-script",
        "printf '#!/bin/sh\nkill -STOP $PPID\n' > longest; chmod +x longest",
    ),
    **{
        f"no directory, but {name}": ("write-a-function", f"cd / && rm -r /app && {command}")
        for name, command in {
            "a link to nowhere": "ln -s /nowhere /app",
            "a link to itself": "ln -s /app /app",
            "a file": "echo x > /app",
            "a pipe": "python3 -c 'import os; os.mkfifo(\"/app\")'",
        }.items()
    },
    "no artifacts, but a file": ("write-a-function", "rm -r /logs/artifacts && echo 1 > /logs/artifacts"),
    "no artifacts, but a link": ("write-a-function", "rm -r /logs/artifacts && ln -s /nowhere /logs/artifacts"),
}


@pytest.mark.parametrize(("name", "command"), OUTSIDE.values(), ids=OUTSIDE)
def test_nothing_else_that_an_agent_leaves_earns_anything(name, command, begun):
    trial = begun(name, verifier_s=20.0)
    assert trial.run(command).code == 0
    score = trial.submit()
    assert score.reward == 0.0, score


FOR_A_WHILE = {
    "written": "cd /tests/a; cp check.sh /tmp/was; echo 'echo 1 > $1; cat /tmp/was > /tests/a/check.sh' > check.sh",
    "written by another name": "ln /tests/a/check.sh /tmp/is; cp /tmp/is /tmp/was; "
    "echo 'echo 1 > $1; cat /tmp/was > /tmp/is' > /tmp/is",
    "replaced": "mv /tests/a/check.sh /tmp/was; echo 'echo 1 > $1; mv /tmp/was /tests/a/check.sh' > /tests/a/check.sh",
    "in another directory": "mv /tests /was; mkdir -p /tests/a; "
    "echo 'echo 1 > $1; rm -r /tests; mv /was /tests' > /tests/a/check.sh",
}


@pytest.mark.parametrize("script", FOR_A_WHILE.values(), ids=FOR_A_WHILE)
def test_a_script_that_is_another_for_a_while_is_noticed(script, begun, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "test.sh").write_text(
        "chmod +x /tests/a/*.sh\n/app/longest\nsh /tests/a/check.sh /logs/verifier/reward.txt\n"
    )
    (tmp_path / "a/check.sh").write_text("echo 0 > $1\n")
    for code, outcome in (("true", TrialOutcome.SCORED), (script, TrialOutcome.TAMPERED)):
        trial = begun("write-a-script")
        trial.task.stages[0].__dict__["tests"] = tmp_path
        trial.run(f"cat > longest <<'EOF'\n#!/bin/bash\n{code}\nEOF\nchmod +x longest")
        score = trial.submit()
        assert (score.outcome, score.reward) == (outcome, 0.0), score


def test_a_command_can_be_any_text(begun):
    trial = begun("count-errors")
    for command in ("echo a\0b", "echo \ud800"):
        ran = trial.run(command)
        assert (ran.code, "cannot be started" in ran.output, "Traceback" in ran.output) == (127, True, False)
    assert trial.run("echo \udc80; rm -r /app").code == 0
    assert trial.run("pwd; mkdir /app; cd /app; echo 'monday 3' > answer.txt").output == "/\n"
    assert trial.submit().reward == 1.0


def test_what_the_kernel_does_not_count_is_refused(begun):
    code = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(319, b"x", 0), libc.inotify_init1(0), libc.inotify_init())
try:
    os.setxattr("/tmp", "user.x", b"x")
except OSError:
    print("refused")
one, other = socket.socketpair()
before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
print(one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before)
try:
    for n in range(1 << 20):
        os.symlink("x" * 4000, f"/tmp/{n}")
except OSError as error:
    print(n < 1 << 17, error.strerror)
"""
    trial = begun("count-errors", writable_bytes=256 << 20)
    ran = trial.run(f"cat > /tmp/look.py <<'EOF'\n{code}\nEOF\npython3 /tmp/look.py")
    assert ran.output.splitlines() == ["-1 -1 -1", "refused", "True", "True No space left on device"]


def test_programs_find_what_they_expect(begun):
    code = """
import multiprocessing, os, pty, threading
def square(n): return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, range(3)))
    print(os.isatty(pty.openpty()[1]))
    threads = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(300)]
    for thread in threads: thread.start()
    print(len(threads))
    print(os.path.exists("/proc/self/stat"), os.path.exists("/dev/tty"), os.access("/dev/shm", os.W_OK))
"""
    trial = begun("count-errors")
    ran = trial.run(f"cat > /tmp/look.py <<'EOF'\n{code}\nEOF\npython3 /tmp/look.py")
    assert ran.output.splitlines() == ["[0, 1, 4]", "True", "300", "True True True"], ran


def test_a_command_may_be_longer_than_an_argument(begun):
    trial = begun("write-a-script")
    ran = trial.run(f"# {'x' * 200_000}\necho ran")
    assert (ran.code, ran.output) == (0, "ran\n")


def test_a_box_ends_in_the_middle_of_a_command(begun):
    trial = begun("write-a-script")
    threading.Timer(1.0, trial.end).start()
    with pytest.raises(ExecutorError, match="a box has ended"):
        trial.run("sleep 1000")
    with pytest.raises(ExecutorError, match="a box has ended"):
        trial.run("echo")
    trial.close()
    assert trial._box._process.returncode == 0  # It was not killed at last.


def test_an_agent_cannot_leave_its_box(begun, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    code = f"""
import ctypes, os, socket, signal, time
libc = ctypes.CDLL(None, use_errno=True)
print(os.path.exists({str(secret)!r}), os.path.exists("/proc/1"), os.path.exists("/sys/kernel"))
print(libc.unshare(0x10000000), libc.mount(b"none", b"/srv", b"tmpfs", 0, None), libc.chroot(b"/srv"))
print(libc.ptrace(16, 1, 0, 0), libc.syscall(425, 4, 0), libc.syscall(250, 0, -3, 0), libc.syscall(321, 0, 0, 0))
for family in (socket.AF_PACKET, getattr(socket, "AF_VSOCK", 40), getattr(socket, "AF_ALG", 38)):
    try:
        print(socket.socket(family, socket.SOCK_RAW if family == socket.AF_PACKET else socket.SOCK_STREAM))
    except OSError as error:
        print("refused")
for address in ("10.0.0.1", "127.0.0.1"):
    try:
        socket.create_connection((address, 22), 5)
    except OSError as error:
        print(type(error).__name__)
with socket.create_server(("127.0.0.1", 8000)) as server, socket.create_connection(("127.0.0.1", 8000)):
    print("loopback")
if os.fork() == 0:
    time.sleep(1000)
os.kill(-1, signal.SIGKILL)  # Neither this process nor the one that serves the box.
"""
    trial = begun("count-errors")
    ran = trial.run(f"cat > /tmp/look.py <<'EOF'\n{code}\nEOF\npython3 -u /tmp/look.py")
    assert ran.output.splitlines() == [
        "False False False",
        "-1 -1 -1",
        "-1 -1 -1 -1",
        *["refused"] * 3,
        "OSError",
        "ConnectionRefusedError",
        "loopback",
    ]
    assert trial.run("echo alive").output == "alive\n"


def test_an_agent_sees_no_tests_and_keeps_its_work(begun):
    trial = begun("several-steps")
    looked = trial.run("ls -d /tests /solution /logs/verifier; echo mine > /root/mine; (sleep 1000 &) ; ls")
    assert looked.output.splitlines()[-1] == "notes.txt"
    assert looked.output.count("No such file") == 3
    assert trial.stage.name == "sort"
    assert trial.solve().code == 0
    assert trial.submit().reward == 1.0
    after = trial.run("cat /root/mine; ls -d /tests /logs/verifier; for p in /proc/[0-9]*; do cat $p/comm; done")
    assert after.output.splitlines()[0] == "mine"
    assert "sleep" not in after.output
    assert after.output.count("No such file") >= 2
    trial.submit()
    assert (trial.is_over, trial.reward) == (True, 0.5)
    with pytest.raises(RuntimeError, match="all stages of the task have been submitted"):
        trial.run("true")


def test_a_stage_that_fails_ends_the_task(begun):
    trial = begun("several-steps")
    assert trial.reward is None
    assert trial.submit().reward == 0.0
    assert (trial.is_over, trial.reward) == (True, 0.0)


def test_trials_share_nothing(begun):
    one, other = begun("count-errors"), begun("count-errors")
    one.run("rm -r log; echo x > /etc/new")
    assert other.run("ls log /etc/new").output.count("monday") == 1
    assert "No such file" in other.run("ls /etc/new").output
    other.solve()
    assert other.submit().rewards == {"name": 1.0, "count": 1.0}
    assert one.submit().rewards == {"name": 0.0, "count": 0.0}


def test_what_is_removed_stays_removed(begun):
    trial = begun("count-errors")
    trial.run("rm log/monday; echo 'tuesday 1' > answer.txt")
    assert trial.submit().reward == 0.0


def test_commands_have_limits(begun):
    trial = begun("count-errors", writable_bytes=32 << 20)
    slow = trial.run("echo begun; sleep 1000", limit_s=1)
    assert (slow.code, slow.limit, slow.output) == (None, "timeout", "begun\n")
    full = trial.run("python3 -c \"open('/app/big', 'wb').write(bytes(400 << 20))\"")
    assert "No space left" in full.output
    long = trial.run("python3 -c \"print('x' * 3_000_000 + 'end')\"")
    assert len(long.output) <= 1 << 20
    assert long.output.endswith("end\n")
    score = trial.submit()
    assert (score.outcome, score.reward) == (TrialOutcome.TOO_LARGE, 0.0)


EATERS = {
    "one process": "data = bytearray(b'x') * (600 << 20)",
    "many processes": """
import os, time
for _ in range(8):
    if os.fork() == 0:
        data = bytearray(b'x') * (60 << 20)
        time.sleep(1000)
time.sleep(1000)
""",
    "a daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(0.5)
    kept = [bytearray(b'x') * (60 << 20) for _ in range(8) if os.fork() == 0]
    time.sleep(1000)
""",
}


@pytest.mark.parametrize("code", EATERS.values(), ids=EATERS)
def test_all_processes_together_have_a_limit_of_memory(code, begun):
    trial = begun("count-errors", memory_bytes=256 << 20)
    ran = trial.run(f"cat > /tmp/eat.py <<'EOF'\n{code}\nEOF\npython3 /tmp/eat.py", limit_s=100)
    assert ran.limit == "memory" or "MemoryError" in ran.output or ran.code == 0
    trial.run("sleep 3")
    # Nothing is left of it, and the agent can go on.
    after = trial.run("for p in /proc/[0-9]*; do cat $p/comm; done; echo 'monday 3' > answer.txt")
    assert "python3" not in after.output
    assert trial.submit().reward == 1.0


def test_what_cannot_be_carried_is_the_agents_own_fault(begun):
    trial = begun("count-errors")
    deep = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"
    trial.run(f'python3 -c "{deep}"; ln monday log/hard; mkdir log/pipe && python3 -c "import os; os.mkfifo(\'p\')"')
    score = trial.submit()
    assert (score.outcome, score.reward) == (TrialOutcome.TOO_LARGE, 0.0), score


def test_a_verifier_that_waits_for_ever_ends(begun):
    trial = begun("write-a-script", verifier_s=2.0)
    trial.run("printf '#!/bin/bash\nsleep 1000\n' > longest; chmod +x longest")
    score = trial.submit()
    assert (score.outcome, score.reward) == (TrialOutcome.LIMIT, 0.0)


def test_a_verifier_without_a_reward_gives_no_verdict(tasks, begun, tmp_path):
    folder = tasks / "write-a-script"
    for script, message in {
        "true": "wrote neither",
        "echo many > /logs/verifier/reward.txt": "a reward must be a number; got 'many'",
        "echo nan > /logs/verifier/reward.txt": "a reward must be finite",
        "echo '{}' > /logs/verifier/reward.json": "holds no reward",
    }.items():
        trial = begun("write-a-script")
        tests = tmp_path / "tests"
        tests.mkdir(exist_ok=True)
        (tests / "test.sh").write_text(script)
        trial.task.stages[0].__dict__["tests"] = tests
        score = trial.submit()
        assert (score.outcome, score.reward) == (TrialOutcome.NO_VERDICT, None)
        assert message in score.message
        assert trial.reward is None
    assert folder.is_dir()


def test_a_task_without_a_directory_or_a_solution_says_so(tasks, base):
    shutil.copytree(tasks / "write-a-script", tasks.parent / "plain/task")
    folder = tasks.parent / "plain/task"
    (folder / "environment/Dockerfile").write_text(f"FROM {base}\n")
    task = read_folder(folder)
    prepare_images([task.image])
    with pytest.raises(TaskError, match="says where the agent works"):
        Trial(task)
    (folder / "task.toml").write_text(f'[environment]\nworkdir = "/app"\ndocker_image = "{tasks}"\n')
    with pytest.raises(ImageError, match="is a directory, whose files are not a box's own"):
        Trial(read_folder(folder))
    shutil.rmtree(folder / "solution")
    (folder / "task.toml").write_text('[environment]\nworkdir = "/srv/new"\nenv = {A = "${WORD:-b}"}\n')
    with Trial(read_folder(folder)) as trial:
        assert trial.run("pwd; echo $A").output == "/srv/new\nb\n"
        with pytest.raises(TaskError, match=r"there is no solution/solve\.sh"):
            trial.solve()
