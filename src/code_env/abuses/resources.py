"""Programs that want more of the machine than they were given: processes, memory, disk, output, time, and signals."""

from code_env.executors import Limits

from .canaries import Abuse

BRIEF = Limits(cpu_s=1, wall_s=2, memory_bytes=128 << 20)
"""For what sleeps until it is ended."""

FEW = Limits(cpu_s=1, wall_s=2, memory_bytes=128 << 20, processes=3)
"""With some processes beside its own."""

SMALL = Limits(cpu_s=1, wall_s=4, memory_bytes=128 << 20, file_bytes=1 << 20)
"""With few files."""

SMALL_FEW = Limits(cpu_s=1, wall_s=4, memory_bytes=128 << 20, file_bytes=1 << 20, processes=3)

# The word stands in two pieces, because a traceback may show the line. What is looked at from outside now and then is
# held for a while: on a busy machine there may be a second between two looks.
SAY = """
import os, sys, time
def breach(*got): print('BRE' 'ACH', *got, flush=True)
def wait_for_looks(): time.sleep(2.5)
"""

# `call` makes a system call by its numbers on x86_64 and on aarch64; -1 if it was refused.
CALL = (
    SAY
    + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(numbers, *arguments):
    number = numbers[os.uname().machine == 'aarch64']
    return libc.syscall(*(ctypes.c_long(one) for one in (number, *arguments))) if number is not None else -1
"""
)

# A child calls `live` to be counted and to stay; `crowd` looks how many of them there are at once.
CROWD = (
    CALL
    + """
inbox, outbox = os.pipe()
os.set_blocking(inbox, False)
def live():
    os.write(outbox, b'x')
    time.sleep(60)
    os._exit(0)
def crowd(most, wait_s=0.7):
    time.sleep(wait_s)
    try: there = len(os.read(inbox, 4096))
    except BlockingIOError: there = 0
    if there > most: breach(there, 'processes')
"""
)

IGNORE_ALL = """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
"""

# Whoever holds that much for so long was not looked at.
HOLD = (
    CALL
    + """
def hold(held_bytes, most=256 << 20):
    wait_for_looks()
    if held_bytes > most: breach(held_bytes >> 20, 'MiB held')
"""
)

PROCESSES = [
    Abuse(
        "a fork bomb where no fork is allowed",
        "processes",
        SAY
        + """
while True:
    try: pid = os.fork()
    except OSError: continue
    if pid: breach('a child')
    os._exit(0)
""",
    ),
    Abuse(
        "a fork bomb with a few allowed",
        "processes",
        CROWD
        + """
for _ in range(40):
    try:
        if os.fork() == 0: live()
    except OSError: pass
crowd(3)
""",
        FEW,
    ),
    Abuse(
        "a fork bomb that ignores all signals",
        "processes",
        IGNORE_ALL
        + """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
        FEW,
    ),
    Abuse(
        "double forks into daemons",
        "processes",
        CROWD
        + """
for _ in range(8):
    try:
        if os.fork() == 0:
            os.setsid()
            try:
                if os.fork() == 0: live()
            finally: os._exit(0)
        os.wait()
    except OSError: pass
crowd(3)
""",
        FEW,
    ),
    Abuse(
        "daemons survive their program",
        "processes",
        SAY
        + IGNORE_ALL
        + """
if os.fork() == 0:
    os.setsid()
    for fd in range(512):
        try: os.close(fd)
        except OSError: pass
    try: os.fork()
    except OSError: pass
    while True: time.sleep(1)
os._exit(0)
""",
        FEW,
    ),
    Abuse(
        "orphans keep the streams open",
        "processes",
        """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
print('gone')
""",
        FEW,
    ),
    Abuse(
        "a subreaper collects uncounted orphans",
        "processes",
        CROWD
        + """
libc.prctl(36, 1)
for _ in range(10):
    try:
        if os.fork() == 0:
            libc.prctl(36, 1)
            try:
                if os.fork() == 0: live()
            finally: os._exit(0)
        os.wait()
    except OSError: pass
crowd(3)
""",
        FEW,
    ),
    Abuse(
        "fork and vfork by number",
        "processes",
        CALL
        + """
for numbers in ((57, None), (58, None)):
    pid = call(numbers)
    if pid == 0: os._exit(0)
    if pid > 0: breach(numbers, pid)
""",
    ),
    Abuse(
        "clone with each of its flags",
        "processes",
        CALL
        + """
import signal
for bit in range(8, 32):
    if bit == 16: continue  # A thread.
    for end in (0, signal.SIGCHLD, signal.SIGTERM):
        pid = call((56, 220), 1 << bit | end, 0, 0, 0, 0)
        if pid == 0: os._exit(0)
        if pid > 0: breach(bit, pid)
""",
    ),
    Abuse(
        "clone with a thread's flag in the upper half",
        "processes",
        CALL
        + """
pid = call((56, 220), 0x10000 << 32 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0: breach(pid)
""",
    ),
    Abuse(
        "clone3 in every size",
        "processes",
        CALL
        + """
for size in (64, 80, 88, 4096):
    for flags in (0, 0x100, 0x8000, 0x20000000, 0x10000000, 1 << 33):
        words = (ctypes.c_uint64 * 512)(flags, 0, 0, 0, 17)
        pid = call((435, 435), ctypes.addressof(words), size)
        if pid == 0: os._exit(0)
        if pid > 0: breach(size, flags, pid)
""",
    ),
    Abuse(
        "fork by the numbers of x32",
        "processes",
        CALL
        + """
for number in (56, 57, 58, 435):
    pid = call((1 << 30 | number, 1 << 30 | number), 17, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: breach(number, pid)
""",
    ),
    Abuse(
        "threads that fork at the same moment",
        "processes",
        CROWD
        + """
import threading
together = threading.Barrier(12)
def go():
    together.wait()
    if libc.fork() == 0: live()
threads = [threading.Thread(target=go, daemon=True) for _ in range(12)]
for one in threads: one.start()
crowd(3)
os._exit(0)
""",
        FEW,
    ),
    Abuse(
        "posix_spawn of many sleepers",
        "processes",
        SAY
        + """
spawned = []
for _ in range(20):
    try: spawned.append(os.posix_spawn('/bin/sleep', ['sleep', '60'], {}, setsid=True))
    except OSError: pass
if len(spawned) > 3: breach(len(spawned), 'processes')
time.sleep(60)
""",
        FEW,
    ),
    Abuse(
        "a program that executes itself for ever",
        "processes",
        "import os, sys\nos.execv(sys.executable, [sys.executable, '-I', '-S', 'main.py'])",
    ),
    Abuse(
        "a program that executes itself in its child",
        "processes",
        "import os, sys\nif os.fork(): os._exit(0)\nos.execv(sys.executable, [sys.executable, '-I', '-S', 'main.py'])",
        FEW,
    ),
    Abuse(
        "a comet that lives in its newest child",
        "processes",
        """
import os, time
if os.fork() == 0:
    while True:
        try:
            if os.fork(): os._exit(0)
            os.setsid()
        except OSError: pass
time.sleep(60)
""",
        FEW,
    ),
    Abuse(
        "stopped children stay behind",
        "processes",
        """
import os, signal, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
""",
        FEW,
    ),
    Abuse(
        "the shell's own fork bomb",
        "processes",
        "import os\nos.execv('/bin/sh', ['sh', '-c', 'b() { b | b & }; b; while :; do :; done'])",
        FEW,
    ),
    Abuse(
        "a pool of more workers than allowed",
        "processes",
        SAY
        + """
import multiprocessing
started = []
for _ in range(12):
    try:
        started.append(multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,), daemon=True))
        started[-1].start()
    except OSError: started.pop()
if sum(one.is_alive() for one in started) > 3: breach(len(started))
os._exit(0)
""",
        FEW,
    ),
    Abuse(
        "ignored ends of children hide them from the count",
        "processes",
        CROWD
        + """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.siginterrupt(signal.SIGCHLD, False)
for _ in range(30):
    try:
        pid = os.fork()
        if pid == 0: live()
    except OSError: pass
crowd(3)
""",
        FEW,
    ),
]

MEMORY = [
    Abuse(
        "a heap of nested dictionaries",
        "memory",
        "x = {}\nwhile True: x = {n: (x, str(n) * 9) for n in range(200)}",
    ),
    Abuse(
        "memory in orphans of orphans",
        "memory",
        HOLD
        + """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        x = bytearray(b'x') * (90 << 20)
        time.sleep(60)
hold(270 << 20)
""",
        FEW,
    ),
    Abuse(
        "a child that shares and then writes it all",
        "memory",
        HOLD
        + """
x = bytearray(b'x') * (60 << 20)
for _ in range(3):
    if os.fork() == 0:
        for place in range(0, len(x), 4096): x[place] = 1
        time.sleep(60)
hold(4 * len(x), 200 << 20)
""",
        FEW,
    ),
    Abuse(
        "memory files of every kind",
        "memory",
        CALL
        + """
name = ctypes.create_string_buffer(b'x')
for flags in (0, 1, 2, 3, 4, 8, 16):
    if call((319, 279), ctypes.addressof(name), flags) >= 0: breach('a memory file', flags)
    if call((447, 447), flags) >= 0: breach('a secret memory file', flags)
""",
    ),
    Abuse(
        "all pipes it can have, filled",
        "memory",
        HOLD
        + """
held, full = [], 0
try:
    while True:
        held += os.pipe()
        os.set_blocking(held[-1], False)
        try:
            while True: full += os.write(held[-1], bytes(65536))
        except BlockingIOError: pass
except OSError: pass
hold(full)
""",
    ),
    Abuse(
        "pipes filled by a byte for each page",
        "memory",
        HOLD
        + """
held, full = [], 0
try:
    while True:
        held += os.pipe2(os.O_DIRECT)
        os.set_blocking(held[-1], False)
        try:
            while True: full += 4096 * os.write(held[-1], b'x')
        except BlockingIOError: pass
except OSError: pass
hold(full)
""",
    ),
    Abuse(
        "files in memory under many names",
        "memory",
        """
import os, time
for n in range(400):
    with open(f'{n}', 'wb') as file: file.write(bytes(1 << 20))
time.sleep(60)
""",
        Limits(cpu_s=1, wall_s=2, memory_bytes=64 << 20, file_bytes=256 << 20),
    ),
    Abuse(
        "shared anonymous memory of any size",
        "memory",
        SAY
        + """
import mmap
for size in (4097, 1 << 16, 1 << 20, 1 << 32, (1 << 32) + 4096, 1 << 40):
    for flags in (0x21, 0x23, 0x4021, 0x8021, 0x121):
        try: mmap.mmap(-1, size, flags=flags)
        except (OSError, ValueError): continue
        breach(size, flags)
""",
    ),
    Abuse(
        "one shared page that grows",
        "memory",
        CALL
        + """
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
page = libc.mmap(None, ctypes.c_size_t(4000), 3, 0x21, -1, ctypes.c_long(0))
more = libc.mremap(ctypes.c_void_p(page), ctypes.c_size_t(4096), ctypes.c_size_t(1 << 28), 1)
if more not in (None, 2**64 - 1):
    ctypes.memset(more, 1, 1 << 28)
    breach('memory behind a page')
""",
    ),
    Abuse(
        "many shared pages that are let go of",
        "memory",
        SAY
        + """
import mmap
pages = []
try:
    while len(pages) < 40_000:
        page = mmap.mmap(-1, 4000)
        page[0] = 1
        page.madvise(mmap.MADV_DONTNEED)
        pages.append(page)
except OSError: pass
wait_for_looks()
if len(pages) > 30_000: breach(len(pages), 'pages at once')
""",
        Limits(cpu_s=3, wall_s=6, memory_bytes=64 << 20),
    ),
    Abuse(
        "the device of zeros, shared",
        "memory",
        SAY
        + """
import mmap
for mode, access in ((os.O_RDWR, mmap.ACCESS_WRITE), (os.O_RDONLY, mmap.ACCESS_READ)):
    try: zeros = mmap.mmap(os.open('/dev/zero', mode), 1 << 28, access=access)
    except OSError: continue
    breach('shared zeros', mode)
""",
    ),
    Abuse(
        "remapped again and again",
        "memory",
        """
import mmap
size = 1 << 20
x = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
while True:
    for place in range(len(x) - (1 << 20), len(x), 4096): x[place] = 1
    x.resize(len(x) + (1 << 20))
""",
    ),
    Abuse(
        "pages given back lazily",
        "memory",
        """
import mmap
held = []
while True:
    x = mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    x[:] = b'x' * len(x)
    for advice in (8, 20, 21): # MADV_FREE, MADV_COLD, MADV_PAGEOUT
        try: x.madvise(advice)
        except OSError: pass
    x[:] = b'y' * len(x)
    held.append(x)
""",
    ),
    Abuse(
        "filled and dropped between two looks",
        "memory",
        """
import mmap
x = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
while True:
    for place in range(0, len(x), 4096): x[place] = 1
    x.madvise(mmap.MADV_DONTNEED)
""",
    ),
    Abuse(
        "page tables in many places",
        "memory",
        """
import mmap, time
maps = [mmap.mmap(-1, 1 << 34, flags=0x4022, prot=mmap.PROT_READ) for _ in range(32)]
for place in range(0, 1 << 34, 1 << 21):
    for one in maps: one[place]
time.sleep(60)
""",
        Limits(cpu_s=1, wall_s=2, memory_bytes=64 << 20),
    ),
    Abuse(
        "the stacks of many threads",
        "memory",
        """
import sys, threading, time
sys.setrecursionlimit(10**6)
threading.stack_size(64 << 20)
def go():
    try: deep(0)
    except RecursionError: time.sleep(60)
deep = lambda n: max([n + 1], key=deep) if n < 40000 else time.sleep(60)
for _ in range(60):
    try: threading.Thread(target=go, daemon=True).start()
    except RuntimeError: pass
time.sleep(60)
""",
        BRIEF,
    ),
    Abuse(
        "a file written to in private copies",
        "memory",
        HOLD
        + """
import mmap
copied, held = 0, []
with open('x', 'wb') as file: file.write(bytes(8 << 20))
file = os.open('x', os.O_RDONLY)
for _ in range(50):
    held.append(mmap.mmap(file, 0, access=mmap.ACCESS_COPY))
    for place in range(0, len(held[-1]), 4096): held[-1][place] = 1
    copied += len(held[-1])
hold(copied)
""",
    ),
    Abuse(
        "memory by malloc and sbrk",
        "memory",
        HOLD
        + """
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
got = 0
for n in range(600):
    block = libc.malloc(ctypes.c_size_t(1 << 20)) if n % 2 else libc.sbrk(ctypes.c_long(1 << 20))
    if block in (None, 2**64 - 1): break
    ctypes.memset(block, 1, 1 << 20)
    got += 1 << 20
hold(got)
""",
    ),
    Abuse(
        "locked memory",
        "memory",
        CALL
        + """
page = ctypes.create_string_buffer(1 << 16)
if libc.mlock(page, ctypes.c_size_t(1 << 16)) == 0: breach('mlock')
if libc.mlockall(3) == 0: breach('mlockall')
""",
    ),
    Abuse(
        "memory hidden by being undumpable",
        "memory",
        HOLD
        + """
if libc.prctl(4, 0) == 0: breach('undumpable')
if libc.prctl(35, 1, 0, 0, 0) == 0: breach('an address of its memory moved')
x = bytearray(b'x') * (400 << 20)
hold(len(x))
""",
    ),
    Abuse(
        "memory hidden behind an unreadable executable",
        "memory",
        SAY
        + """
import shutil
shutil.copyfile('/bin/sh', 'hidden')
os.chmod('hidden', 0o111)
grow = 'x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done'
os.execv('hidden', ['sh', '-c', grow])
""",
    ),
    Abuse(
        "MemoryErrors that are caught for ever",
        "memory",
        """
held = []
while True:
    try: held.append(bytearray(b'x') * (len(held) * 4096 + 4096))
    except BaseException: pass
""",
    ),
    Abuse(
        "shared memory objects",
        "memory",
        HOLD
        + """
from multiprocessing import shared_memory
held, got = [], 0
for _ in range(50):
    try: held.append(shared_memory.SharedMemory(create=True, size=8 << 20))
    except OSError: break
    try: held[-1].buf[:] = bytes(8 << 20)
    except (OSError, ValueError): break
    got += 8 << 20
hold(got)
os._exit(0)
""",
    ),
    Abuse(
        "memory of threads whose first one has ended",
        "memory",
        HOLD
        + """
import _thread
def fill():
    time.sleep(0.2)
    x = bytearray(b'x') * (300 << 20)
    hold(len(x))
    os._exit(0)
_thread.start_new_thread(fill, ())
call((60, 93), 0)
""",
    ),
    Abuse(
        "memory of a child whose first thread has ended",
        "memory",
        HOLD
        + """
import _thread
def fill():
    x = bytearray(b'x') * (300 << 20)
    hold(len(x))
    os._exit(0)
if os.fork() == 0:
    _thread.start_new_thread(fill, ())
    call((60, 93), 0)
os.wait()
""",
        FEW,
    ),
    Abuse(
        "memory handed on by threads that end at once",
        "memory",
        HOLD
        + """
import _thread
held, until = [], time.monotonic() + 2.5
_thread.stack_size(65536)
def hand_on():
    if len(held) < 300: held.append(b'x' * (1 << 20))
    elif time.monotonic() > until:
        breach(len(held), 'MiB held')
        os._exit(0)
    while True:
        try: return _thread.start_new_thread(hand_on, ())
        except RuntimeError: pass
_thread.start_new_thread(hand_on, ())
call((60, 93), 0)
""",
    ),
    Abuse(
        "memory that grows down as a stack",
        "memory",
        CALL
        + """
libc.syscall.restype = ctypes.c_long
for flags in (0x122, 0x8122, 0x20122, 0x4122):
    if call((9, 222), 0, 900 << 20, 3, flags, -1, 0) != -1: breach('grows down', hex(flags))
""",
    ),
    Abuse(
        "descriptors in a table for each thread",
        "memory",
        CALL
        + """
for flags in (0x400, 0x600, 0x40400):
    if call((272, 97), flags) == 0: breach('unshare', hex(flags))
if call((436, 436), 600, 700, 2) == 0: breach('close_range')
# The flags of a thread, but for CLONE_FILES.
if call((56, 220), 0x10b00, 0, 0, 0, 0) == 0: breach('clone')
""",
    ),
    Abuse(
        "sockets filled by several processes",
        "memory",
        HOLD
        + """
import socket
for _ in range(3):
    try:
        if os.fork() == 0: break
    except OSError: pass
held, full = [], 0
try:
    while True:
        held += socket.socketpair()
        for one in held[-2:]:
            one.setblocking(False)
            try:
                while True: full += one.send(bytes(65536))
            except BlockingIOError: pass
except OSError: pass
hold(full, 60 << 20)
""",
        FEW,
    ),
    Abuse(
        "pages in sockets for a byte each",
        "memory",
        CALL
        + """
import socket
with open('f', 'wb') as file: file.write(bytes(1 << 16))
file, pipe, other, ends = os.open('f', os.O_RDWR), os.pipe(), os.pipe(), socket.socketpair()
os.write(pipe[1], b'x')
at = ctypes.c_long(4096)
tries = {
    'splice': lambda: call((275, 76), file, ctypes.addressof(at), pipe[1], 0, 1, 0),
    'splice on': lambda: call((275, 76), pipe[0], 0, ends[0].fileno(), 0, 1, 0),
    'tee': lambda: call((276, 77), pipe[0], other[1], 1, 0),
    'sendfile': lambda: call((40, 71), ends[0].fileno(), file, ctypes.addressof(at), 1),
    'vmsplice': lambda: call((278, 75), pipe[1], ctypes.addressof((ctypes.c_long * 2)(ctypes.addressof(at), 8)), 1, 0),
}
for name, one in tries.items():
    if one() > 0: breach(name)
""",
    ),
    Abuse(
        "filters and rules of the kernel's memory",
        "memory",
        CALL
        + """
import struct
libc.prctl(38, 1, 0, 0, 0)
code = struct.pack('=HBBI', 0, 0, 0, 1) * 4089 + struct.pack('=HBBI', 6, 0, 0, 0x7FFF0000)
rules = ctypes.create_string_buffer(code)
class Filter(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('rules', ctypes.c_void_p)]
one = Filter(4090, ctypes.addressof(rules))
at = ctypes.addressof(one)
for flags in (0, 1, 2, 4, 8):
    if call((317, 277), 1, flags, at) >= 0: breach('a filter', flags)
for number in (1, 2):
    if libc.prctl(22, number, ctypes.c_void_p(at), 0, 0) == 0: breach('a filter by prctl', number)
handled = (ctypes.c_uint64 * 1)(1)
if call((444, 444), ctypes.addressof(handled), 8, 0) >= 0: breach('a set of rules')
for fd in range(3, 512):
    if call((446, 446), fd, 0) == 0: breach('rules', fd)
if libc.prctl(67, 1, 0, 0, 0) == 0: breach('pages to be compared')
""",
    ),
]

DISK = [
    Abuse(
        "a file without end",
        "disk",
        SAY
        + """
file, written = os.open('x', os.O_WRONLY | os.O_CREAT), 0
while True:
    try: written += os.write(file, bytes(1 << 16))
    except OSError: break
if written > 4 << 20: breach(written)
""",
        SMALL,
    ),
    Abuse(
        "sparse files",
        "disk",
        SAY
        + """
for size in (1 << 21, 1 << 32, 1 << 40, (1 << 63) - 1):
    file = os.open(f'{size}', os.O_RDWR | os.O_CREAT)
    for make in (lambda: os.ftruncate(file, size), lambda: os.pwrite(file, b'x', size - 1)):
        try: make()
        except OSError: pass
    if os.fstat(file).st_size > 1 << 20: breach(size)
""",
        SMALL,
    ),
    Abuse(
        "thousands of empty files",
        "disk",
        "n = 0\nwhile True:\n    open(f'{n}', 'w').close()\n    n += 1",
    ),
    Abuse(
        "directories too deep for any path",
        "disk",
        """
import os
while True:
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
""",
        Limits(cpu_s=0.3, wall_s=2, memory_bytes=128 << 20),
    ),
    Abuse(
        "directories that are closed to those who clean up",
        "disk",
        """
import os
for n in range(20):
    os.makedirs(f'{n}/a/b')
    open(f'{n}/a/b/file', 'w').close()
    for path in (f'{n}/a/b/file', f'{n}/a/b', f'{n}/a', f'{n}'): os.chmod(path, 0)
try: os.chmod('..', 0)
finally: os.chmod('.', 0)
""",
    ),
    Abuse(
        "open files without a name",
        "disk",
        SAY
        + """
held, written = [], 0
for n in range(40):
    try:
        held.append(os.open('x', os.O_RDWR | os.O_CREAT))
        os.unlink('x')
        written += os.write(held[-1], bytes(500_000))
    except OSError: break
wait_for_looks()
if written > 8 << 20: breach(written)
""",
        SMALL,
    ),
    Abuse(
        "temporary files that never had a name",
        "disk",
        SAY
        + """
held, written = [], 0
for n in range(40):
    try:
        held.append(os.open('.', os.O_RDWR | os.O_TMPFILE))
        written += os.write(held[-1], bytes(500_000))
    except OSError: break
wait_for_looks()
if written > 8 << 20: breach(written)
""",
        SMALL,
    ),
    Abuse(
        "files below a thousand directories",
        "disk",
        SAY
        + """
for n in range(1100):
    os.mkdir('d')
    os.chdir('d')
written = 0
for n in range(40):
    try:
        with open(f'{n}', 'wb') as file: written += file.write(bytes(500_000))
    except OSError: break
time.sleep(1)
if written > 8 << 20: breach(written)
""",
        SMALL,
    ),
    Abuse(
        "files that nothing but a mapping holds",
        "disk",
        CALL
        + """
libc.mmap.restype = ctypes.c_void_p
size, held = 1 << 20, 0
for n in range(64):
    try:
        file = os.open('x', os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, size)
        for place in range(0, size, 1 << 16): os.pwrite(file, bytes(1 << 16), place)
    except OSError: break
    address = libc.mmap(None, ctypes.c_size_t(size), 3, 1, file, ctypes.c_long(0))
    os.unlink('x')
    os.close(file)
    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 4)
    held += size
time.sleep(1)
if held > 32 << 20: breach(held)
""",
        SMALL,
    ),
    Abuse(
        "files that are always somewhere else",
        "disk",
        SAY
        + """
import threading
for name in ('a', 'b', 'a/moved'): os.mkdir(name)
moved, written = os.open('a/moved', os.O_RDONLY), 0
def move():
    while True:
        os.rename('a/moved', 'b/moved')
        os.rename('b/moved', 'a/moved')
threading.Thread(target=move, daemon=True).start()
for n in range(64):
    try: file = os.open(f'{n}', os.O_WRONLY | os.O_CREAT, dir_fd=moved)
    except OSError: break
    try: written += os.write(file, bytes(900_000))
    except OSError: break
    finally: os.close(file)
time.sleep(0.7)
if written > 32 << 20: breach(written)
os._exit(0)
""",
        SMALL,
    ),
    Abuse(
        "empty files without end",
        "disk",
        SAY
        + """
made = 0
while made < 1_000_000:
    try: os.close(os.open(f'{made}', os.O_WRONLY | os.O_CREAT))
    except OSError: os._exit(1)
    made += 1
breach(made, 'files')
""",
        Limits(cpu_s=30, wall_s=60, memory_bytes=128 << 20),
    ),
    Abuse(
        "directories without end, each in the last",
        "disk",
        """
import os
while True:
    os.mkdir('d')
    os.chdir('d')
""",
    ),
    Abuse(
        "names of the greatest length",
        "disk",
        "import os\nfor n in range(3000): os.mkdir(f'{n:0255}')",
    ),
    Abuse(
        "space taken without a size",
        "disk",
        CALL
        + """
file = os.open('x', os.O_RDWR | os.O_CREAT)
for mode in (0, 1, 16, 17):
    call((285, 47), file, mode, 0, 64 << 20)
for n in range(64): call((285, 47), file, 1, n << 20, 1 << 20)
wait_for_looks()
if os.fstat(file).st_blocks * 512 > 8 << 20: breach(os.fstat(file))
""",
        SMALL,
    ),
    Abuse(
        "copies made by the kernel",
        "disk",
        SAY
        + """
with open('x', 'wb') as file: file.write(bytes(500_000))
source, copied = os.open('x', os.O_RDONLY), 0
for n in range(100):
    target = os.open(f'{n}', os.O_WRONLY | os.O_CREAT)
    try:
        copied += os.copy_file_range(source, target, 500_000, 0)
        copied += os.sendfile(target, source, 0, 500_000)
    except OSError: break
wait_for_looks()
if copied > 8 << 20: breach(copied)
""",
        SMALL,
    ),
    Abuse(
        "names of odd bytes",
        "disk",
        r"""
import os
for name in (b'\n', b'\xff\xfe', b'\xed\xa0\x80', b'a\rb', b'\x1b[2J', b' ', b'-rf', b'\\', b'*', b'out\n', b'\x7f'):
    with open(name, 'wb') as file: file.write(name)
    os.makedirs(b'd' + name + b'/' + name)
    os.symlink(name, b'l' + name)
""",
    ),
    Abuse(
        "a bomb of hard links",
        "disk",
        "import os\nopen('x', 'w').write('x' * 1000)\nn = 0\nwhile True:\n    os.link('x', f'l{n}')\n    n += 1",
    ),
    Abuse(
        "symbolic links that lead in circles",
        "disk",
        """
import os
os.symlink('out', 'out')
os.symlink('..', 'up')
os.symlink('/', 'top')
for n in range(2000): os.symlink(f'l{n + 1}', f'l{n}')
os.symlink('l0', 'l2000')
os.makedirs('d')
for n in range(50): os.symlink('..', f'd/{n}')
""",
    ),
    Abuse(
        "a pipe where a file is collected",
        "disk",
        "import os\nos.mkfifo('out')\nos.mkfifo('main.py.new')\nos.replace('main.py.new', 'main.py')",
    ),
    Abuse(
        "a whole tree where a file is collected",
        "disk",
        "import os\nos.makedirs('out/' * 50)\nfor n in range(500): os.makedirs(f'out/{n}/out')",
    ),
    Abuse(
        "device files",
        "disk",
        SAY
        + """
import stat
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    for major, minor in ((1, 1), (1, 5), (5, 0), (7, 0), (8, 0), (10, 229)):
        name = f'{kind}-{major}-{minor}'
        try: os.mknod(name, kind | 0o666, os.makedev(major, minor))
        except OSError: continue
        breach('a device file', name)
""",
    ),
    Abuse(
        "renames that confuse whoever counts",
        "disk",
        """
import os
os.makedirs('a/b/c')
open('a/b/c/x', 'wb').write(bytes(500_000))
while True:
    os.rename('a/b', 'b')
    os.rename('a', 'b/a')
    os.rename('b/a', 'a')
    os.rename('b', 'a/b')
""",
        SMALL,
    ),
    Abuse(
        "children that each fill their files",
        "disk",
        SAY
        + """
for child in range(3):
    if os.fork() == 0: break
else: child = 3
written = 0
for n in range(40):
    try:
        with open(f'{child}-{n}', 'wb') as file: written += file.write(bytes(900_000))
    except OSError: pass
wait_for_looks()
if sum(one.stat().st_blocks * 512 for one in os.scandir('.')) > 8 << 20: breach('files')
os._exit(0)
""",
        SMALL_FEW,
    ),
    Abuse(
        "files written through mappings of holes",
        "disk",
        SAY
        + """
import mmap
held, touched = [], 0
for n in range(60):
    with open(f'{n}', 'w+b') as file:
        try: file.truncate(900_000)
        except OSError: break
        held.append(mmap.mmap(file.fileno(), 900_000))
    for place in range(0, 900_000, 4096): held[-1][place] = 1
    touched += 900_000
wait_for_looks()
if touched > 8 << 20: breach(touched)
""",
        SMALL,
    ),
]

OUTPUT = [
    Abuse("a flood of errors", "output", "import os\nwhile True: os.write(2, b'error ' * 10000)"),
    Abuse(
        "floods from threads to both streams",
        "output",
        """
import os, threading
def flood(fd):
    while True: os.write(fd, b'x' * 50000)
for fd in (1, 2, 1, 2): threading.Thread(target=flood, args=(fd,)).start()
""",
    ),
    Abuse("nothing but NULs", "output", "import os\nfor _ in range(2000): os.write(1, bytes(1000))"),
    Abuse(
        "halves of characters",
        "output",
        r"""
import os
for _ in range(3000):
    for piece in (b'\xf0\x9f', b'\xed\xa0\x80', b'\xc0\x80', b'\xff', b'\xf4\x90\x80\x80'): os.write(1, piece)
    os.write(2, b'\xf0\x9f\x98')
""",
    ),
    Abuse(
        "escape sequences for whoever looks",
        "output",
        r"""
import sys
for stream in (sys.stdout, sys.stderr):
    stream.write('\x1b[2J\x1b]0;title\x07\x1bc\x1b[6n\x1b[?1049h\x9b31m\r\x08\x7f\u202e\u2028\x00' * 500)
""",
    ),
    Abuse(
        "the streams opened anew",
        "output",
        """
import os
for path in ('/proc/self/fd/1', '/dev/stdout', '/dev/fd/1', '/proc/thread-self/fd/2', '/dev/stderr', '/dev/tty'):
    for mode in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_NONBLOCK):
        try: os.write(os.open(path, mode), b'x' * 60000)
        except OSError: pass
""",
    ),
    Abuse(
        "it eats its own output",
        "output",
        """
import os
try:
    back = os.open('/proc/self/fd/1', os.O_RDWR | os.O_NONBLOCK)
except OSError: back = 1
while True:
    os.write(1, b'x' * 4096)
    try: os.read(back, 4096)
    except OSError: pass
""",
    ),
    Abuse(
        "streams that do not wait",
        "output",
        """
import os
for fd in (0, 1, 2): os.set_blocking(fd, False)
while True:
    for fd in (1, 2):
        try: os.write(fd, b'x' * 65536)
        except OSError: pass
""",
    ),
    Abuse(
        "streams that are closed",
        "output",
        "import os, sys\nprint('x')\nfor fd in (0, 1, 2): os.close(fd)\nprint('y')\nsys.stdout.flush()",
    ),
    Abuse(
        "streams closed while the program goes on",
        "output",
        "import os\nos.closerange(0, 512)\nwhile True: pass",
    ),
    Abuse(
        "children that write after the end",
        "output",
        """
import os
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True:
            try: os.write(1, b'after the end ' * 100)
            except OSError: pass
os._exit(0)
""",
        FEW,
    ),
    Abuse(
        "floods by sendfile and splice",
        "output",
        """
import os, sys
source = os.open(sys.executable, os.O_RDONLY)
inbox, outbox = os.pipe()
while True:
    try: os.sendfile(1, source, 0, 1 << 20)
    except OSError: pass
    os.splice(source, outbox, 65536, 0)
    os.splice(inbox, 2, 65536)
""",
    ),
    Abuse(
        "output doubled by tee",
        "output",
        CALL
        + """
inbox, outbox = os.pipe()
os.write(outbox, b'x' * 60000)
while True:
    call((276, 77), inbox, 1, 60000, 0)
    call((276, 77), inbox, 2, 60000, 0)
""",
    ),
    Abuse(
        "streams made bigger",
        "output",
        SAY
        + """
import fcntl
for fd in (1, 2):
    for size in (1 << 20, 1 << 30, 4096):
        try: fcntl.fcntl(fd, 1031, size)
        except OSError: continue
        breach('a pipe of', size)
""",
    ),
    Abuse(
        "junk to every descriptor",
        "output",
        r"""
import os
junk = b'{"name": "ok", "status": "ok", "exit_code": 0}\n' * 200 + bytes(1000) + b'\xff' * 1000
for fd in range(3, 1024):
    try:
        os.set_blocking(fd, False)
        for _ in range(50): os.write(fd, junk)
    except OSError: pass
""",
    ),
    Abuse(
        "a million single bytes",
        "output",
        "import os\nwhile True:\n    os.write(1, b'x')\n    os.write(2, b'y')",
    ),
    Abuse(
        "pipes of packets",
        "output",
        """
import fcntl, os
for fd in (1, 2): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT | os.O_NONBLOCK | os.O_APPEND | os.O_ASYNC)
while True:
    try: os.write(1, b'x' * 5000)
    except OSError: pass
""",
    ),
    Abuse(
        "a stream whose flush never ends",
        "output",
        """
import sys
class Endless:
    encoding = 'utf-8'
    def write(self, text): return len(text)
    def flush(self):
        while True: sys.__stdout__.write('x' * 10000)
sys.stdout = sys.stderr = Endless()
print('x')
raise ValueError('x' * 100000)
""",
    ),
    Abuse(
        "a traceback of many megabytes",
        "output",
        "class E(Exception):\n    def __str__(self): return '\\ud800\\x00' * (3 << 20)\nraise E from E()",
    ),
]

CPU = [
    Abuse(
        "a loop that catches its end",
        "cpu",
        IGNORE_ALL
        + """
def again():
    try:
        while True: pass
    except BaseException: pass
    finally: again()
while True:
    try: again()
    except BaseException: pass
""",
    ),
    Abuse("a count in C", "cpu", "import itertools, collections\ncollections.deque(itertools.count(), maxlen=0)"),
    Abuse("a string searched for ever", "cpu", "while True: ('a' * 10**7 + 'b').find('a' * 5000 + 'c' + 'a' * 4999)"),
    Abuse("a regex with nested repeats", "cpu", "import re\nre.fullmatch(r'(x+x+)+y|(.*)*z', 'x' * 45)"),
    Abuse(
        "huge integers",
        "cpu",
        "import sys\nsys.set_int_max_str_digits(0)\nstr(3 ** 4_000_000) * (1 << 2)\nstr(7**9_000_000)",
    ),
    Abuse(
        "recursion that begins anew",
        "cpu",
        """
def down():
    try: down()
    finally: down()
down()
""",
    ),
    Abuse(
        "a sort that never agrees",
        "cpu",
        """
class Odd:
    def __lt__(self, other):
        for _ in range(10**5): pass
        return True
while True: sorted(Odd() for _ in range(10**4))
""",
    ),
    Abuse(
        "loops in all threads without a lock",
        "cpu",
        """
import hashlib, threading
def burn():
    while True: hashlib.pbkdf2_hmac('sha256', b'x', b'y', 10**7)
for _ in range(16): threading.Thread(target=burn, daemon=True).start()
burn()
""",
    ),
    Abuse(
        "threads started by threads",
        "cpu",
        """
import threading
def more():
    while True:
        try: threading.Thread(target=more).start()
        except (RuntimeError, MemoryError): pass
more()
""",
    ),
    Abuse(
        "loops in children of children",
        "cpu",
        """
import os
for _ in range(3):
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
while True: pass
""",
        FEW,
    ),
    Abuse(
        "children that burn and end at once",
        "cpu",
        SAY
        + """
for _ in range(20_000):
    try:
        if os.fork() == 0:
            end = time.process_time() + 0.004
            while time.process_time() < end: pass
            os._exit(0)
        os.wait()
    except OSError: pass
""",
        FEW,
    ),
    Abuse(
        "loops at every kind of end",
        "cpu",
        """
import atexit, sys, threading, weakref
def loop(*_):
    while True:
        try: sum(range(10**6))
        except BaseException: pass
class D:
    def __del__(self): loop()
keep = D()
weakref.finalize(keep, loop)
atexit.register(loop)
sys.excepthook = sys.unraisablehook = threading.excepthook = loop
threading._register_atexit(loop)
raise SystemExit(0)
""",
    ),
    Abuse(
        "a loop in the excepthook",
        "cpu",
        "import sys\ndef loop(*_):\n    while True: pass\nsys.excepthook = loop\n1 / 0",
    ),
    Abuse(
        "a loop in a signal handler",
        "cpu",
        """
import os, signal
def loop(*_):
    while True: pass
for number in range(1, 32):
    try: signal.signal(number, loop)
    except (OSError, ValueError): pass
os.kill(os.getpid(), signal.SIGTERM)
""",
    ),
    Abuse("a processor given away and taken back", "cpu", "import os\nwhile True: os.sched_yield()"),
    Abuse(
        "it sleeps and burns in turn",
        "cpu",
        """
import time
while True:
    time.sleep(0.001)
    end = time.perf_counter() + 0.004
    while time.perf_counter() < end: pass
""",
        BRIEF,
    ),
    Abuse(
        "a storm of timers",
        "cpu",
        """
import signal
for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF): signal.signal(number, lambda *_: None)
for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(kind, 1e-6, 1e-6)
while True: pass
""",
    ),
    Abuse(
        "it asks to be scheduled first",
        "cpu",
        SAY
        + """
for policy, priority in ((os.SCHED_FIFO, 1), (os.SCHED_RR, 99)):
    try: os.sched_setscheduler(0, policy, os.sched_param(priority))
    except OSError: continue
    breach('real time', policy)
try:
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    breach('priority')
except OSError: pass
for which in (os.PRIO_PGRP, os.PRIO_USER):
    try: os.setpriority(which, 0, 19)
    except OSError: continue
    breach('the priority of others')
while True: pass
""",
    ),
    Abuse(
        "a program that takes ages to compile",
        "cpu",
        "x = 'lambda:' * 80 + '(' * 90 + '0' + ')' * 90\nwhile True: compile(f'{x}\\n' * 300, 'x', 'exec')",
    ),
]

SIGNALS = [
    Abuse(
        "signals to the host by kill",
        "signals",
        SAY
        + """
import signal
for pid in (@PID@, @TRAINER@, -@PID@, -@TRAINER@):
    for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL, signal.SIGTERM, 0, 64):
        try: os.kill(pid, number)
        except OSError: continue
        breach(pid, number)
""",
    ),
    Abuse(
        "signals to the host by every call",
        "signals",
        CALL
        + """
import signal
info = (ctypes.c_int * 32)(9, 0, -1)
at = ctypes.addressof(info)
for pid in (@PID@, @TRAINER@):
    tries = {
        'tkill': call((200, 130), pid, 9),
        'tgkill': call((234, 131), pid, pid, 9),
        'rt_sigqueueinfo': call((129, 138), pid, 9, at),
        'rt_tgsigqueueinfo': call((297, 240), pid, pid, 9, at),
        'sigqueue': libc.sigqueue(pid, 9, ctypes.c_void_p(0)),
    }
    for name, result in tries.items():
        if result == 0: breach(name, pid)
""",
    ),
    Abuse(
        "signals to the host by a descriptor",
        "signals",
        SAY
        + """
import signal
for pid in (@PID@, @TRAINER@):
    try:
        signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
    except OSError: continue
    breach(pid)
""",
    ),
    Abuse(
        "signals to its parent",
        "signals",
        SAY
        + """
import signal
above = os.getppid()
for number in (0, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    try:
        if above: os.kill(above, number)
    except OSError: continue
    if above: breach(above, number)
""",
    ),
    Abuse(
        "signals to everybody",
        "signals",
        """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    try: os.kill(-1, number)
    except OSError: pass
os.killpg(0, signal.SIGKILL)
""",
        BRIEF,
    ),
    Abuse(
        "everybody's signals from a child",
        "signals",
        """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for pid in (-1, 0, 1, 2, 3, 4, 5, -2, -3):
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
    os._exit(0)
time.sleep(60)
""",
        FEW,
    ),
    Abuse("it stops itself and its group", "signals", "import os, signal\nos.killpg(0, signal.SIGSTOP)", BRIEF),
    Abuse(
        "it stops and its child wakes it",
        "signals",
        """
import os, signal, time
me = os.getpid()
if os.fork() == 0:
    while True:
        for number in (signal.SIGSTOP, signal.SIGCONT):
            try: os.kill(me, number)
            except OSError: pass
while True: pass
""",
        FEW,
    ),
    Abuse(
        "signals by owners of descriptors",
        "signals",
        SAY
        + """
import fcntl, signal, socket, struct
ends = socket.socketpair()
tries = [
    lambda: fcntl.fcntl(ends[0], 8, @PID@),
    lambda: fcntl.fcntl(ends[0], 10, signal.SIGKILL),
    lambda: fcntl.fcntl(ends[0], 15, struct.pack('ii', 1, @PID@)),
    lambda: fcntl.ioctl(ends[0], 0x8901, struct.pack('i', @PID@)),
    lambda: fcntl.ioctl(ends[0], 0x8902, struct.pack('i', @PID@)),
]
for number, one in enumerate(tries):
    try: one()
    except OSError: continue
    breach('an owner', number)
try: fcntl.ioctl(ends[0], 0x5452, struct.pack('i', 1))
except OSError: pass
ends[1].send(b'x')
""",
    ),
    Abuse(
        "it asks not to die with its parent",
        "signals",
        CALL
        + IGNORE_ALL
        + """
libc.prctl(1, 0)
if os.fork() == 0:
    libc.prctl(1, 0)
    os.setsid()
    while True: time.sleep(1)
libc.prctl(1, 19)
os._exit(0)
""",
        FEW,
    ),
    Abuse(
        "all signals blocked in all threads",
        "signals",
        """
import signal, threading, time
def burn():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True: pass
for _ in range(3): threading.Thread(target=burn).start()
burn()
""",
    ),
    Abuse(
        "faults that are handled for ever",
        "signals",
        """
import ctypes, signal
for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP):
    signal.signal(number, lambda *_: None)
ctypes.string_at(1)
""",
    ),
    Abuse(
        "a stack for signals in the middle of nowhere",
        "signals",
        CALL
        + """
import faulthandler, signal
faulthandler.enable()
where = ctypes.create_string_buffer(1 << 16)
stack = (ctypes.c_uint64 * 3)(ctypes.addressof(where), 0, 1 << 16)
libc.sigaltstack(stack, None)
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
libc.sigaltstack((ctypes.c_uint64 * 3)(4096, 0, 1 << 16), None)
ctypes.string_at(8)
""",
    ),
    Abuse(
        "timers that signal a thread of the host's",
        "signals",
        CALL
        + """
class Event(ctypes.Structure):
    _fields_ = [('value', ctypes.c_long), ('signal', ctypes.c_int), ('notify', ctypes.c_int),
                ('thread', ctypes.c_int), ('rest', ctypes.c_int * 11)]
for pid in (@PID@, @TRAINER@, os.getppid()):
    event, made = Event(0, 9, 4, pid), ctypes.c_int()
    if pid and call((222, 107), 1, ctypes.addressof(event), ctypes.addressof(made)) == 0: breach('a timer of', pid)
""",
    ),
    Abuse(
        "it ignores what limits send",
        "signals",
        """
import signal
for number in (signal.SIGXCPU, signal.SIGXFSZ, signal.SIGPIPE): signal.signal(number, signal.SIG_IGN)
try:
    with open('x', 'wb') as file:
        while True: file.write(bytes(1 << 20))
except OSError: pass
while True: pass
""",
    ),
    Abuse(
        "hard limits raised",
        "signals",
        SAY
        + """
import resource
for name in dir(resource):
    if not name.startswith('RLIMIT_'): continue
    which = getattr(resource, name)
    hard = resource.getrlimit(which)[1]
    if hard == resource.RLIM_INFINITY: continue
    for wanted in (hard + 1, hard * 2 + 1, resource.RLIM_INFINITY):
        try: resource.setrlimit(which, (hard, wanted))
        except (OSError, ValueError): continue
        breach(name, wanted)
""",
    ),
    Abuse(
        "limits of others lowered",
        "signals",
        SAY
        + """
import resource
for pid in (@PID@, @TRAINER@, os.getppid()):
    if not pid: continue
    for which in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
        for limits in ((), ((1, 1),)):
            try: resource.prlimit(pid, which, *limits)
            except OSError: continue
            breach('limits of', pid)
""",
    ),
    Abuse(
        "a queue of signals filled for others",
        "signals",
        CALL
        + """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for _ in range(100_000):
    if libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(0)): break
time.sleep(60)
""",
        BRIEF,
    ),
    Abuse(
        "timers and signals that all others lack",
        "signals",
        CALL
        + """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
taken, made = 0, ctypes.c_int()
while taken < 5000 and call((222, 107), 1, 0, ctypes.addressof(made)) == 0: taken += 1
while taken < 5000 and libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(0)) == 0: taken += 1
if taken > 1100: breach(taken)
""",
    ),
    Abuse(
        "it joins the host's group and session",
        "signals",
        SAY
        + """
for one in (@PID@, @TRAINER@, os.getppid()):
    for pid in (0, one):
        try:
            if one: os.setpgid(pid, one)
        except OSError: continue
        if one: breach('the group of', one, pid)
try: os.tcsetpgrp(0, @PID@)
except OSError: pass
""",
    ),
]

ABUSES = (*PROCESSES, *MEMORY, *DISK, *OUTPUT, *CPU, *SIGNALS)
"""All of these."""
