"""What programs do besides: recursion, files, threads, imports, and what they find of themselves."""

from conformance.idioms.idiom import Idiom

RUNNING = {
    "if __name__ == '__main__'": Idiom(
        "def main(): print('main')\nif __name__ == '__main__':\n    main()", "", "main\n"
    ),
    "a main that reads globals": Idiom("N = 3\ndef main():\n    global N\n    N += 1\n    print(N)\nmain()", "", "4\n"),
    "import __main__": Idiom("import __main__\nx = 3\nprint(__main__.x, __name__)", "", "3 __main__\n"),
    "recursion in a thread with a large stack": Idiom(
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(64 * 1024 * 1024)\n"
        "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\n"
        "def main(): print(depth(100000))\nt = threading.Thread(target=main)\nt.start()\nt.join()",
        "",
        "100000\n",
    ),
    "recursion in a thread with 256 MB of stack": Idiom(
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**28)\n"
        "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\n"
        "t = threading.Thread(target=lambda: print(depth(100000)))\nt.start()\nt.join()",
        "",
        "100000\n",
    ),
    "recursion through C in a thread with a large stack": Idiom(
        "import sys, threading\nfrom functools import reduce\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**28)\n"
        "def depth(n): return 0 if n == 0 else reduce(lambda a, b: 1 + depth(n - 1), (0, 0))\n"
        # The first versions of Python 3.12 allow less recursion through C, whatever the stack.
        "most = 300 if sys.version_info[:2] == (3, 12) else 3000\n"
        "t = threading.Thread(target=lambda: print(depth(most) == most))\nt.start()\nt.join()",
        "",
        "True\n",
    ),
    "deep recursion": Idiom(
        "import sys\nsys.setrecursionlimit(10**6)\ndef depth(n): return 0 if n == 0 else 1 + depth(n - 1)\nprint(depth(50000))",
        "",
        "50000\n",
    ),
    "the default depth": Idiom(
        "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\nprint(depth(980))", "", "980\n"
    ),
    "RecursionError can be caught": Idiom(
        "def f(): return f()\ntry:\n    f()\nexcept RecursionError:\n    print('caught')", "", "caught\n"
    ),
    "RLIMIT_STACK is asked for": Idiom(
        "import resource, sys\ntry:\n    resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "except (ValueError, OSError):\n    pass\nsys.setrecursionlimit(10**6)\n"
        "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\nprint(depth(20000))",
        "",
        "20000\n",
    ),
    "RLIMIT_STACK, the soft one": Idiom(
        "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_STACK)\n"
        "resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))\nprint('ok')",
        "",
        "ok\n",
    ),
    "a recursion by lru_cache": Idiom(
        "from functools import lru_cache\n@lru_cache(None)\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(300))",
        "",
        "222232244629420445529739893461909967206666939096499764990979600\n",
    ),
    "a generator as a trampoline": Idiom(
        "from types import GeneratorType\ndef bootstrap(f, stack=[]):\n    def wrapped(*args):\n        if stack: return f(*args)\n"
        "        to = f(*args)\n        while True:\n            if type(to) is GeneratorType:\n                stack.append(to)\n"
        "                to = next(to)\n            else:\n                stack.pop()\n                if not stack: break\n"
        "                to = stack[-1].send(to)\n        return to\n    return wrapped\n"
        "@bootstrap\ndef depth(n):\n    yield 0 if n == 0 else 1 + (yield depth(n - 1))\nprint(depth(20000))",
        "",
        "20000\n",
    ),
    "an f-string over lines": Idiom("x = 3\nprint(f'''a{\nx\n}\nb''')", "", "a3\nb\n"),
    "an encoding cookie": Idiom("# -*- coding: utf-8 -*-\nprint('é')", "", "é\n"),
    "a first line for the shell": Idiom("#!/usr/bin/env python3\nprint('a')", "", "a\n"),
    "a byte order mark in the source": Idiom("\ufeffprint('a')", "", "a\n"),
    "CRLF in the source": Idiom("if True:\r\n    print('a')\r\nprint('''b\r\nc''')\r\n", "", "a\nb\nc\n"),
    "tabs in the source": Idiom("if True:\n\tprint('a')\n", "", "a\n"),
    "a form feed in the source": Idiom("print('a')\n\x0c\nprint('b')", "", "a\nb\n"),
    "from __future__": Idiom(
        "from __future__ import annotations\ndef f(x: Undefined) -> 'int': return x\nprint(f(1), f.__annotations__['x'])",
        "",
        "1 Undefined\n",
    ),
    "a dataclass": Idiom(
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(1))", "", "P(x=1)\n"
    ),
    "typing and __main__": Idiom(
        "import typing\nclass A:\n    x: 'A'\nprint(typing.get_type_hints(A)['x'] is A, A.__module__)",
        "",
        "True __main__\n",
    ),
    "pickle of an own class": Idiom(
        "import pickle\nclass A: x = 1\nprint(pickle.loads(pickle.dumps(A())).x)", "", "1\n"
    ),
    "__file__ and sys.argv": Idiom(
        "import os, sys\nprint(os.path.basename(__file__), os.path.basename(sys.argv[0]), len(sys.argv))",
        "",
        "main.py main.py 1\n",
    ),
    "its own source by __file__": Idiom("print(open(__file__).read().count('count'))", "", "2\n"),
    "its own source by inspect": Idiom(
        "import inspect\ndef f():\n    return 3\nprint(inspect.getsource(f), end='')", "", "def f():\n    return 3\n"
    ),
    "a file written and read": Idiom(
        "with open('a.txt', 'w') as f: f.write(input())\nprint(open('a.txt').read())", "data\n", "data\n"
    ),
    "directories made": Idiom(
        "import os, pathlib\nos.makedirs('a/b')\npathlib.Path('a/b/c').write_text('x')\nprint(sorted(p.name for p in pathlib.Path('a').rglob('*')))",
        "",
        "['b', 'c']\n",
    ),
    "tempfile": Idiom(
        "import tempfile\nwith tempfile.TemporaryFile('w+') as f:\n    f.write('a')\n    f.seek(0)\n    print(f.read())\n"
        "with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as n: print(n.name.startswith(d))",
        "",
        "a\nTrue\n",
    ),
    "sqlite in memory": Idiom(
        "import sqlite3\nc = sqlite3.connect(':memory:')\nprint(c.execute('select 1 + 2').fetchone())", "", "(3,)\n"
    ),
    "sqlite in a file": Idiom(
        "import sqlite3\nc = sqlite3.connect('data.db')\nc.execute('create table t (x)')\n"
        "c.executemany('insert into t values (?)', [(n,) for n in range(1000)])\nc.commit()\nc.close()\n"
        "print(sqlite3.connect('data.db').execute('select sum(x) from t').fetchone())",
        "",
        "(499500,)\n",
    ),
    "copies of files": Idiom(
        "import os, shutil, tempfile\nos.makedirs('a/b')\nopen('a/b/c', 'wb').write(bytes(range(256)) * 1000)\n"
        "shutil.copyfile('a/b/c', 'd')\nshutil.copy2('d', 'e')\nshutil.copytree('a', 'f')\n"
        "shutil.move('f', os.path.join(tempfile.mkdtemp(), 'g'))\n"
        "print([open(name, 'rb').read() == bytes(range(256)) * 1000 for name in ('d', 'e', 'a/b/c')])\n"
        "with open('e', 'rb') as e:\n    os.fsync(e.fileno())\n    os.posix_fadvise(e.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)",
        "",
        "[True, True, True]\n",
    ),
    "files sent through sockets": Idiom(
        "import asyncio, socket\nopen('f', 'w').write('abc')\na, b = socket.socketpair()\n"
        "print(a.sendfile(open('f', 'rb')), b.recv(9))\n"
        "async def main():\n    a.setblocking(False)\n"
        "    print(await asyncio.get_running_loop().sock_sendfile(a, open('f', 'rb')), b.recv(9))\nasyncio.run(main())",
        "",
        "3 b'abc'\n3 b'abc'\n",
    ),
    "random.seed": Idiom(
        "import random\nrandom.seed(1)\nprint(random.randrange(1000), random.random() < 1)", "", "137 True\n"
    ),
    "random without a seed": Idiom(
        "import random\nprint(0 <= random.random() < 1, len({random.random() for _ in range(9)}))", "", "True 9\n"
    ),
    "secrets and uuid": Idiom(
        "import secrets, uuid\nprint(len(secrets.token_hex(4)), len(str(uuid.uuid4())))", "", "8 36\n"
    ),
    "the order of a set of texts": Idiom(
        "print(len({hash(x) for x in 'ab'}), sorted({'b', 'a'}))", "", "2 ['a', 'b']\n"
    ),
    "time.sleep": Idiom(
        "import time\nt = time.perf_counter()\ntime.sleep(0.05)\nprint(time.perf_counter() - t > 0.04)", "", "True\n"
    ),
    "clocks": Idiom(
        "import time, datetime\nprint(time.time() > 1.6e9, datetime.datetime.now().year > 2020, time.process_time() < 5)",
        "",
        "True True True\n",
    ),
    "signal.alarm": Idiom(
        "import signal\nclass Late(Exception): pass\ndef late(*_): raise Late\nsignal.signal(signal.SIGALRM, late)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.05)\ndef work():\n    while True: pass\ntry:\n    work()\nexcept Late:\n    print('late')",
        "",
        "late\n",
    ),
    "SIGINT is handled as Python does": Idiom(
        "import os, signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    print('interrupted')",
        "",
        "interrupted\n",
    ),
    "SIGPIPE at its default": Idiom(
        "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nprint('a')", "", "a\n"
    ),
    "gc.disable": Idiom("import gc\ngc.disable()\nprint(gc.isenabled())", "", "False\n"),
    "gc is on": Idiom("import gc\nprint(gc.isenabled(), gc.get_threshold()[0] > 0)", "", "True True\n"),
    "gc.freeze": Idiom("import gc\ngc.collect()\ngc.freeze()\nprint('a')", "", "a\n"),
    "sys.setswitchinterval": Idiom(
        "import sys\nsys.setswitchinterval(0.1)\nprint(round(sys.getswitchinterval(), 3))", "", "0.1\n"
    ),
    "sys.set_int_max_str_digits": Idiom(
        "import sys\nsys.set_int_max_str_digits(0)\nprint(len(str(10**10000)))", "", "10001\n"
    ),
    "asyncio.run": Idiom(
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01)\n    return n\n"
        "async def main(): print(await asyncio.gather(f(1), f(2)))\nasyncio.run(main())",
        "",
        "[1, 2]\n",
    ),
    "a thread in asyncio": Idiom(
        "import asyncio\nasync def main(): print(await asyncio.to_thread(input))\nasyncio.run(main())", "a\n", "a\n"
    ),
    "ThreadPoolExecutor": Idiom(
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool: print(list(pool.map(abs, [-1, 2, -3])))",
        "",
        "[1, 2, 3]\n",
    ),
    "ThreadPoolExecutor not shut down": Idiom(
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(print, 'a')", "", "a\n"
    ),
    "queue and threads": Idiom(
        "import queue, threading\nq = queue.Queue()\n"
        "threads = [threading.Thread(target=q.put, args=(n,)) for n in range(8)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\nprint(sorted(q.get() for _ in range(8)))",
        "",
        "[0, 1, 2, 3, 4, 5, 6, 7]\n",
    ),
    "threading.Timer": Idiom("import threading\nthreading.Timer(0.05, print, ['late']).start()", "", "late\n"),
    "contextvars and weakref": Idiom(
        "import contextvars, weakref\nv = contextvars.ContextVar('v', default=1)\nclass A: pass\na = A()\nprint(v.get(), weakref.ref(a)() is a)",
        "",
        "1 True\n",
    ),
    "the usual imports": Idiom(
        "import sys, os, math, re, heapq, bisect, itertools, functools, collections, operator, string, random, copy, time, "
        "array, decimal, fractions, statistics, datetime, cmath, typing, enum, dataclasses, abc, io, json, hashlib, zlib, "
        "textwrap, unicodedata, struct, queue, threading, contextlib, numbers, calendar, difflib, pprint, traceback, types\n"
        "h = [3, 1, 2]\nheapq.heapify(h)\nprint(heapq.heappop(h), bisect.bisect([1, 2, 3], 2), math.gcd(4, 6))",
        "",
        "1 2 2\n",
    ),
    "star imports": Idiom(
        "from math import *\nfrom collections import *\nfrom itertools import *\nfrom heapq import *\nfrom bisect import *\n"
        "from functools import *\nfrom sys import *\nprint(gcd(4, 6), Counter('aa'), stdin.readline())",
        "x",
        "2 Counter({'a': 2}) x\n",
    ),
    "from os import *": Idiom("from os import *\nprint(getcwd() != '', path.join('a', 'b'))", "", "True a/b\n"),
    "exec": Idiom("exec('x = 3\\nprint(x)')\nprint(x)", "", "3\n3\n"),
    "eval": Idiom("print(eval(input()))", "2 ** 10 + len('ab')\n", "1026\n"),
    "compile and exec": Idiom(
        "code = compile('def f(): return 4', '<made>', 'exec')\nexec(code)\nprint(f())", "", "4\n"
    ),
    "ast.literal_eval": Idiom(
        "import ast\nprint(ast.literal_eval(input()))", "[1, (2,), {'a': None}]\n", "[1, (2,), {'a': None}]\n"
    ),
    "globals and locals": Idiom(
        "globals()['x'] = 3\nprint(x, 'x' in locals(), 'x' in vars(), 'x' in dir())", "", "3 True True True\n"
    ),
    "nothing of the runner among the names": Idiom(
        "usual = '__annotations__ __builtins__ __cached__ __doc__ __file__ __loader__ __name__ __package__ __spec__'\n"
        "print(set(globals()) - {'usual', *usual.split()}, __doc__, __spec__, __cached__)",
        "",
        "set() None None None\n",
    ),
    "a docstring of the program": Idiom("'What it does.'\nprint(__doc__)", "", "What it does.\n"),
    "annotations at the top": Idiom(
        "x: int = 3\ny: 'str'\nprint(__annotations__)", "", "{'x': <class 'int'>, 'y': 'str'}\n"
    ),
    "builtins are the usual ones": Idiom(
        "import builtins\nprint(__builtins__ is builtins, callable(exit), callable(quit), callable(help), _ if '_' in dir() else '')",
        "",
        "True True True True \n",
    ),
    "a class with slots and a metaclass": Idiom(
        "class M(type): pass\nclass A(metaclass=M):\n    __slots__ = ('x',)\na = A()\na.x = 1\nprint(a.x, type(A).__name__, A)",
        "",
        "1 M <class '__main__.A'>\n",
    ),
    "traceback of its own": Idiom(
        "import traceback\ndef f(): 1 / 0\ntry:\n    f()\nexcept ZeroDivisionError:\n"
        "    print(traceback.format_exc().splitlines()[-1])",
        "",
        "ZeroDivisionError: division by zero\n",
    ),
    "sys.excepthook": Idiom("import sys\nsys.excepthook = print\nprint('a')", "", "a\n"),
    "sys.settrace": Idiom(
        "import sys\ncalls = []\nsys.settrace(lambda f, e, a: calls.append(f.f_code.co_name))\ndef g(): pass\ng()\nsys.settrace(None)\nprint(calls)",
        "",
        "['g']\n",
    ),
    "environment": Idiom(
        "import os\nos.environ['X'] = '1'\nprint(os.getenv('X'), os.environ.get('SURELY_NOT_SET'))", "", "1 None\n"
    ),
    "locale": Idiom(
        "import locale\nprint(locale.getpreferredencoding().lower(), f'{1234567.5:,}')", "", "utf-8 1,234,567.5\n"
    ),
    "platform": Idiom(
        "import platform, sys\nprint(platform.python_implementation(), sys.version_info >= (3, 11))",
        "",
        "CPython True\n",
    ),
    "getpass.getuser and expanduser do not fail": Idiom(
        "import os\nprint(bool(os.path.expanduser('~')), os.getpid() > 0)", "", "True True\n"
    ),
    "numpy": Idiom(
        "import numpy as np\nprint(np.arange(6).reshape(2, 3).sum(axis=0), np.linalg.det(np.eye(3)))",
        "",
        "[3 5 7] 1.0\n",
        needs="numpy",
    ),
    "100 MB of memory": Idiom("x = bytearray(100_000_000)\nprint(len(x))", "", "100000000\n"),
    "tracemalloc": Idiom(
        "import tracemalloc\ntracemalloc.start()\nx = [0] * 1000\nprint(tracemalloc.get_traced_memory()[0] > 1000)",
        "",
        "True\n",
    ),
}
