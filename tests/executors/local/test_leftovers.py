"""A program finds nothing of the one before it: no file, no change of its directory, nothing in memory."""

import contextlib
import os
import time
import weakref

import pytest

import code_env
from code_env import Program
from code_env.executors.local import server, worker
from code_env.executors.local.jail.namespaces import SCRATCH
from code_env.harness.process.watching import descendants
from support import local, wait_until


def test_a_program_finds_nothing_of_the_one_before(jail):
    leave = """
import os, sys, json, builtins
for path in ('left', '/tmp/left', '/dev/shm/left', os.path.expanduser('~/left'), '/var/tmp/left', '../left'):
    try: open(path, 'w').write('left')
    except OSError: pass
json.left = builtins.left = sys.left = os.environ['LEFT'] = 'left'
sys.path.append('left')
print('done')
"""
    look = """
import os, sys, json, builtins
seen = [path for path in ('left', '/tmp/left', '/dev/shm/left', os.path.expanduser('~/left'), '/var/tmp/left', '../left') if os.path.exists(path)]
print(seen, hasattr(json, 'left'), hasattr(builtins, 'left'), hasattr(sys, 'left'), 'LEFT' in os.environ, 'left' in sys.path)
"""
    for _ in range(3):  # On every worker.
        assert jail.run(Program(leave)).stdout == "done\n"
        assert jail.run(Program(look)).stdout == "[] False False False False False\n"


CHANGES = {
    "nothing": "pass",
    "a file": "open('left', 'w').close()",
    "a file above": "open('../left', 'w').close()",
    "a file that is gone again": "open('x', 'w').close(); os.unlink('x')",
    "a directory": "os.makedirs('../a/b')",
    "its own text": "open('main.py', 'a').write('left')",
    "its own text through a mapping": "f = open('main.py', 'r+b'); mmap.mmap(f.fileno(), 0)[:4] = b'left'",
    "its own text anew": "open('main.py', 'w').write('left')",
    "another file in its place": "open('x', 'w').write('left'); os.replace('x', 'main.py')",
    "no file in its place": "os.unlink('main.py')",
    "a directory in its place": "os.unlink('main.py'); os.mkdir('main.py')",
    "a link to it": "os.link('main.py', '../left')",
    "a symbolic link": "os.symlink('main.py', 'left')",
    "another directory": "os.rename('../work', '../left'); os.mkdir('../work')",
    "no directory": "os.rename('../work', '../left')",
    "its mode": "os.chmod('.', 0o500)",
    "the mode of its text": "os.chmod('main.py', 0)",
    "times": "os.utime('.', (1, 1)); os.utime('main.py', (1, 1))",
    "a pipe": "os.mkfifo('left')",
    "what nobody may read": "os.mkdir('left', 0); open(os.open('kept', os.O_CREAT | os.O_WRONLY, 0), 'w').write('x')",
    "a full directory that nobody may read": "import time; os.mkdir('left', 0o300); open('left/x', 'w').close(); time.sleep(0.1)",
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_of_its_directory_is_seen_by_the_next(change, jail):
    look = """
import os, mmap
here, above = os.stat('.'), os.stat('..')
print(sorted(os.listdir()), os.listdir('..'), oct(here.st_mode), oct(above.st_mode), here.st_mtime > 1e9, os.stat('main.py').st_mtime > 1e9)
print('le' + 'ft' in open('main.py').read().partition('#')[0])
"""
    fresh = jail.run(Program(look)).stdout
    assert fresh.startswith("['main.py'] ['work'] ")
    assert fresh.endswith(" True True\nFalse\n")
    leave = f"import os, mmap\n{CHANGES[change]}\nprint('done')"
    for _ in range(2):
        assert jail.run(Program(leave)).stdout == "done\n"
        assert jail.run(Program(look)).stdout == fresh
    # The tests of one answer, too; each looks first and then leaves something.
    answer = f"{look}# {change}\n{CHANGES[change]}"
    for tests in (2, 3):
        task = code_env.Task("t", "", tuple(code_env.StdinTest(str(n), fresh) for n in range(tests)))
        verdict = code_env.judge(task, answer, jail)
        assert verdict.passed, verdict.cases


@pytest.mark.parametrize("level", ["full", "contained"])
def test_where_the_kernel_tells_of_no_changes_all_is_made_anew(level, monkeypatch):
    monkeypatch.setattr(server, "may_notice", lambda: False)
    look = "import os\nprint(sorted(os.listdir()), os.listdir('..'))\n"
    with local(level, workers=1) as executor:
        for _ in range(3):
            assert executor.run(Program(look + "open('left', 'w')")).stdout == "['main.py'] ['work']\n"
        tests = tuple(code_env.StdinTest(str(n), "['main.py'] ['work']\n") for n in range(3))
        assert code_env.judge(code_env.Task("t", "", tests), look + "os.mkdir('../left')", executor).passed


def test_workers_leave_half_of_what_tells_of_changes_to_others(monkeypatch):
    monkeypatch.setattr(worker.Path, "read_text", lambda self: "8\n")
    monkeypatch.setattr(worker, "_open_workers", weakref.WeakSet())
    one = worker.Worker(None, None, 0, None, notices=True)
    assert worker.may_notice()
    another = worker.Worker(None, None, 0, None, notices=True)
    assert not worker.may_notice()
    another.notices = False
    assert worker.may_notice()
    assert one.notices


def test_the_memory_that_a_program_inherits_is_blank(jail):
    """Neither the program before nor the judge's tests are in a program's memory."""
    marker = f"marker{time.monotonic_ns()}"
    task = code_env.Task(
        id="t", prompt="", tests=(code_env.CallTest(args=(marker,), expected=f"{marker} expected"),), entry_point="f"
    )
    look = f"""
import gc
wanted = {marker[:6]!r} + {marker[6:]!r}
texts = [o for o in gc.get_objects() if isinstance(o, (list, tuple, dict)) and any(isinstance(v, str) and wanted in v for v in (o.values() if isinstance(o, dict) else o))]
own = [o for o in texts if o is not globals()]
data = b''
try:
    for line in open('/proc/self/maps'):
        span, mode = line.split()[:2]
        start, end = (int(x, 16) for x in span.split('-'))
        if mode.startswith('rw') and 'stack' not in line:
            with open('/proc/self/mem', 'rb') as mem:
                mem.seek(start)
                data += mem.read(end - start)
except OSError: pass
print((wanted + ' expected').encode() in data)
"""
    for _ in range(3):
        code_env.judge(task, f"def f(x):\n    return x + ' {marker} source'", jail)
        jail.run(Program(f"x = {marker!r} + ' expected'", stdin=marker))
        result = jail.run(Program(look))
        assert result.stdout == "False\n", result


def test_a_test_leaves_nothing_for_the_next_and_cannot_break_the_serving_process(jail):
    deep = "for _ in range(1500):\n    os.mkdir('d'); os.chdir('d')\n"
    keep = "os.makedirs('../../keep/f'); open('../../keep/f/g', 'w').write('x'); os.chmod('../../keep/f', 0o555); os.chmod('../../keep', 0o555)\n"
    hide = "os.chmod('../..', 0)\n"
    for trick in (deep, keep, hide):
        code = f"import os\nn = input()\nseen = os.path.exists('../../keep')\ntry:\n    {trick.strip().replace(chr(10), chr(10) + '    ')}\nexcept OSError: pass\nprint(n, seen)"
        task = code_env.Task(
            id="t", prompt="", tests=tuple(code_env.StdinTest(str(n), f"{n} False\n") for n in range(3))
        )
        verdict = code_env.judge(task, code, jail)
        assert verdict.passed, (trick, verdict.cases)


def test_a_program_leaves_no_hint_at_its_directory(jail):
    """F_SET_RW_HINT, which no watch hears of; where it is refused, F_GET_RW_HINT gives none."""
    code = """
import ctypes, os
call, hint = ctypes.CDLL(None).fcntl, ctypes.c_uint64(4)
for path in ('.', '..'):
    fd = os.open(path, os.O_RDONLY)
    hint.value = 4
    call(fd, 1036, ctypes.byref(hint))
    call(fd, 1035, ctypes.byref(hint))
    print(hint.value)
"""
    assert jail.run(Program(code)).stdout == "0\n0\n"


@pytest.mark.parametrize(
    "code", ["with open('x', 'wb') as f: f.write(bytes(8 << 20))", "for n in range(5000): open(str(n), 'w').close()"]
)
def test_what_a_program_leaves_in_memory_goes_before_the_next_comes(code):
    def is_held():
        """Whether the file system of a worker holds much."""
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                room = os.statvfs(f"/proc/{pid}/root{SCRATCH}")
                if 1 << 20 < (room.f_blocks - room.f_bfree) * room.f_frsize < 1 << 30:  # Not the machine's own.
                    return True
                if 1000 < room.f_files - room.f_ffree < 10_000:
                    return True
        return False

    with local("full") as executor:
        assert executor.run(Program(code)).status == "ok"
        wait_until(lambda: not is_held())
        (result,) = executor.run_many([Program("open('y', 'w').write('z')", collect=("y",))])
        assert result.files == {"y": b"z"}
        large = executor.run(Program("open('y', 'wb').write(bytes(3 << 20))", collect=("y",)))
        assert len(large.files["y"]) == 3 << 20
