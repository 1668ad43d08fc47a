"""Reading and writing as real programs do it: each idiom runs alike on every executor, run or judged.

Five graders that gave programs a mocked `sys.stdin` judged right programs wrong. Here a program has
the descriptors, files and streams that `python main.py < input > output` has.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from code_env import Limits, Program, StdinTest, Task, judge_many
from code_env.executors.loader import loader_environment
from support import LEVELS, executor_of, local
from tiers import sample

EXECUTORS = ("local-full", "local-contained", "subprocess")


@pytest.fixture(scope="module", params=EXECUTORS)
def executor(request, cloud):
    name, _, level = request.param.partition("-")
    with local(level) if level else executor_of(name, cloud) as made:
        yield made


@pytest.fixture(scope="module", params=[*EXECUTORS, "e2b"])
def anywhere(request, cloud):
    """What runs on `e2b` runs there as on `subprocess`; how it is judged is another way."""
    name, _, level = request.param.partition("-")
    with local(level) if level else executor_of(name, cloud) as made:
        yield made


@dataclass(frozen=True)
class Idiom:
    """A program, what it reads and what it must write, to the character."""

    code: str
    stdin: str = ""
    stdout: str = ""
    limits: dict = field(default_factory=dict)
    needs: str = ""


TWO_LINES = "3 4\n5 6\n"
SUMS = "7\n11\n"
FAST_IO = r"""
import io, os, sys
from io import BytesIO, IOBase
BUFSIZE = 8192
class FastIO(IOBase):
    newlines = 0
    def __init__(self, file):
        self._fd = file.fileno()
        self.buffer = BytesIO()
        self.writable = "x" in file.mode or "r" not in file.mode
        self.write = self.buffer.write if self.writable else None
    def read(self):
        while True:
            b = os.read(self._fd, max(os.fstat(self._fd).st_size, BUFSIZE))
            if not b:
                break
            ptr = self.buffer.tell()
            self.buffer.seek(0, 2), self.buffer.write(b), self.buffer.seek(ptr)
        self.newlines = 0
        return self.buffer.read()
    def readline(self):
        while self.newlines == 0:
            b = os.read(self._fd, max(os.fstat(self._fd).st_size, BUFSIZE))
            self.newlines = b.count(b"\n") + (not b)
            ptr = self.buffer.tell()
            self.buffer.seek(0, 2), self.buffer.write(b), self.buffer.seek(ptr)
        self.newlines -= 1
        return self.buffer.readline()
    def flush(self):
        if self.writable:
            os.write(self._fd, self.buffer.getvalue())
            self.buffer.truncate(0), self.buffer.seek(0)
class IOWrapper(IOBase):
    def __init__(self, file):
        self.buffer = FastIO(file)
        self.flush = self.buffer.flush
        self.writable = self.buffer.writable
        self.write = lambda s: self.buffer.write(s.encode("ascii"))
        self.read = lambda: self.buffer.read().decode("ascii")
        self.readline = lambda: self.buffer.readline().decode("ascii")
"""

READING = {
    "input until EOFError": Idiom(
        "try:\n    while True:\n        a, b = map(int, input().split())\n        print(a + b)\n"
        "except EOFError:\n    print('end')",
        TWO_LINES,
        SUMS + "end\n",
    ),
    "input with a prompt": Idiom("name = input('Name? ')\nprint('Hi', name)", "Ann\n", "Name? Hi Ann\n"),
    "input strips the newline only": Idiom("print(repr(input()))", "  a \t\n", "'  a \\t'\n"),
    "input without a final newline": Idiom("print(input(), input())", "a\nb", "a b\n"),
    "input of empty input": Idiom(
        "try:\n    input()\nexcept EOFError as e:\n    print(e)", "", "EOF when reading a line\n"
    ),
    "an empty line is no end": Idiom("print([input(), input(), input()])", "\n\na\n", "['', '', 'a']\n"),
    "sys.stdin.read": Idiom("import sys\nprint(repr(sys.stdin.read()))", "a\nb", "'a\\nb'\n"),
    "sys.stdin.read(n)": Idiom("import sys\nprint(sys.stdin.read(2), sys.stdin.read(1))", "abcd", "ab c\n"),
    "sys.stdin.readline": Idiom(
        "import sys\nprint([sys.stdin.readline() for _ in range(3)])", "a\nb", "['a\\n', 'b', '']\n"
    ),
    "sys.stdin.readlines": Idiom("import sys\nprint(sys.stdin.readlines())", "a\nb", "['a\\n', 'b']\n"),
    "for line in sys.stdin": Idiom(
        "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))", TWO_LINES, SUMS
    ),
    "for line in open(0)": Idiom("for line in open(0):\n    print(sum(map(int, line.split())))", TWO_LINES, SUMS),
    "next(sys.stdin)": Idiom(
        "import sys\nprint(next(sys.stdin).strip())\nprint(list(sys.stdin))", "a\nb\n", "a\n['b\\n']\n"
    ),
    "enumerate(sys.stdin)": Idiom(
        "import sys\nfor i, line in enumerate(sys.stdin, 1): print(i, line, end='')", "a\nb\n", "1 a\n2 b\n"
    ),
    "iter(input, 'end')": Idiom("for line in iter(input, 'end'): print(line)", "a\nb\nend\nc\n", "a\nb\n"),
    "iter(sys.stdin.readline, '')": Idiom(
        "import sys\nfor line in iter(sys.stdin.readline, ''): print(len(line))", "a\nbc", "2\n2\n"
    ),
    "input = sys.stdin.readline": Idiom(
        "import sys\ninput = sys.stdin.readline\nfor _ in range(2): print(sum(map(int, input().split())))",
        TWO_LINES,
        SUMS,
    ),
    "input = sys.stdin.buffer.readline": Idiom(
        "import sys\ninput = sys.stdin.buffer.readline\nprint(int(input()) + int(input()))", "3\n4\n", "7\n"
    ),
    "input = lambda: sys.stdin.readline().rstrip()": Idiom(
        "import sys\ninput = lambda: sys.stdin.readline().rstrip('\\r\\n')\nprint([input(), input()])",
        "a \nb",
        "['a ', 'b']\n",
    ),
    "def input()": Idiom(
        "import sys\ndef input(): return sys.stdin.readline().strip()\nprint(input() + input())", " a\nb", "ab\n"
    ),
    "builtins.input replaced": Idiom(
        "import builtins, sys\nbuiltins.input = sys.stdin.readline\nprint(repr(input()))", "a\n", "'a\\n'\n"
    ),
    "input and sys.stdin mixed": Idiom(
        "import sys\nprint(input())\nprint(sys.stdin.readline(), end='')\nprint(sys.stdin.read())",
        "a\nb\nc\n",
        "a\nb\nc\n\n",
    ),
    "sys.stdin.buffer.read": Idiom("import sys\nprint(sys.stdin.buffer.read())", "a\nb", "b'a\\nb'\n"),
    "sys.stdin.buffer.readline": Idiom(
        "import sys\nread = sys.stdin.buffer.readline\nprint(read(), read(), read())", "a\nb", "b'a\\n' b'b' b''\n"
    ),
    "sys.stdin.buffer lines": Idiom("import sys\nprint(sum(int(line) for line in sys.stdin.buffer))", "3\n4\n", "7\n"),
    "sys.stdin.buffer.readlines": Idiom("import sys\nprint(sys.stdin.buffer.readlines())", "a\nb", "[b'a\\n', b'b']\n"),
    "sys.stdin.buffer.peek": Idiom("import sys\nprint(sys.stdin.buffer.peek(1)[:1], input())", "ab\n", "b'a' ab\n"),
    "sys.stdin.buffer.raw": Idiom("import sys\nprint(sys.stdin.buffer.raw.read())", "ab\n", "b'ab\\n'\n"),
    "sys.__stdin__": Idiom("import sys\nprint(sys.__stdin__ is sys.stdin, sys.__stdin__.readline())", "a", "True a\n"),
    "iter over data of one read": Idiom(
        "import sys\ndata = iter(sys.stdin.read().split())\nn = int(next(data))\n"
        "print(sum(int(next(data)) for _ in range(n)))",
        "3\n1 2\n3\n",
        "6\n",
    ),
    "map over open(0)": Idiom(
        "n, *values = map(int, open(0).read().split())\nprint(n, sum(values))", "2\n3 4", "2 7\n"
    ),
    "open(0, 'rb')": Idiom("print(open(0, 'rb').read())", "a\n", "b'a\\n'\n"),
    "open('/dev/stdin')": Idiom("print(open('/dev/stdin').read())", "a\nb", "a\nb\n"),
    "open('/dev/stdin', 'rb')": Idiom("print(open('/dev/stdin', 'rb').readline())", "a\nb", "b'a\\n'\n"),
    "open('/proc/self/fd/0')": Idiom("print(open('/proc/self/fd/0').read())", "a\nb", "a\nb\n"),
    "os.fdopen(0)": Idiom(
        "import os\nwith os.fdopen(0) as file: print(file.readlines())", "a\nb\n", "['a\\n', 'b\\n']\n"
    ),
    "os.fdopen(os.dup(0))": Idiom("import os\nprint(os.fdopen(os.dup(0), 'rb').read())", "a", "b'a'\n"),
    "os.read in a loop": Idiom(
        "import os\ndata = b''\nwhile piece := os.read(0, 3): data += piece\nprint(data)", "abcdefgh", "b'abcdefgh'\n"
    ),
    "os.fstat(0).st_size": Idiom("import os\nprint(os.fstat(0).st_size)", "abc\n", "4\n"),
    "os.read of the whole size": Idiom(
        "import io, os\ninput = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\nprint(int(input()) + int(input()))",
        "3\n4\n",
        "7\n",
    ),
    "mmap of stdin": Idiom(
        "import mmap\nwith mmap.mmap(0, 0, access=mmap.ACCESS_READ) as m:\n    print(m.readline(), m.read())",
        "a\nbc",
        "b'a\\n' b'bc'\n",
    ),
    "mmap of stdin, private": Idiom(
        "import mmap, os\nm = mmap.mmap(0, os.fstat(0).st_size, mmap.MAP_PRIVATE, mmap.PROT_READ)\nprint(m[:])",
        "ab",
        "b'ab'\n",
    ),
    "sys.stdin.seek(0)": Idiom(
        "import sys\na = sys.stdin.read()\nsys.stdin.seek(0)\nprint(a == sys.stdin.read())", "ab\n", "True\n"
    ),
    "seek and tell": Idiom(
        "import sys\nf = sys.stdin.buffer\nf.read(2)\nprint(f.tell(), f.seek(1), f.read(), f.seekable())",
        "abcd",
        "2 1 b'bcd' True\n",
    ),
    "os.lseek": Idiom(
        "import os\nprint(os.lseek(0, 0, os.SEEK_END), os.lseek(0, 1, 0), os.read(0, 9))", "abc", "3 1 b'bc'\n"
    ),
    "fileinput": Idiom(
        "import fileinput\nfor line in fileinput.input(): print(sum(map(int, line.split())))", TWO_LINES, SUMS
    ),
    "select on stdin": Idiom(
        "import select, sys\nprint(select.select([sys.stdin], [], [], 1)[0] == [sys.stdin], input())", "a\n", "True a\n"
    ),
    "select on an ended stdin": Idiom(
        "import select\nprint(select.select([0], [], [], 1)[0], open(0).read())", "", "[0] \n"
    ),
    "stdin is no terminal": Idiom(
        "import os, sys\nprint(sys.stdin.isatty(), os.isatty(0), sys.stdout.isatty())", "", "False False False\n"
    ),
    "stdin's name, encoding, mode": Idiom(
        "import sys\nprint(sys.stdin.name, sys.stdin.encoding.lower(), sys.stdin.mode, sys.stdin.fileno())",
        "",
        "<stdin> utf-8 r 0\n",
    ),
    "reading past the end": Idiom(
        "import sys\nsys.stdin.read()\nprint([sys.stdin.read(), sys.stdin.readline(), list(sys.stdin)])",
        "a",
        "['', '', []]\n",
    ),
    "CRLF by text": Idiom("import sys\nprint([input(), sys.stdin.read()])", "a\r\nb\r\n", "['a\\r', 'b\\r\\n']\n"),
    "CRLF by bytes": Idiom("import sys\nprint(sys.stdin.buffer.read())", "a\r\nb\r\n", "b'a\\r\\nb\\r\\n'\n"),
    "CR alone ends no line": Idiom("print([input()])", "a\rb\n", "['a\\rb']\n"),
    "NUL": Idiom("print(repr(input()))", "a\0b\n", "'a\\x00b'\n"),
    "other line separators": Idiom("print(ascii(input()))", "a\u2028b\x85c\x0cd\n", "'a\\u2028b\\x85c\\x0cd'\n"),
    "Unicode in": Idiom("s = input()\nprint(len(s), s[::-1])", "añ日𝄞\n", "4 𝄞日ña\n"),
    "bytes that are not UTF-8": Idiom("import sys\nprint(sys.stdin.buffer.read())", "a\ud800", "b'a\\xed\\xa0\\x80'\n"),
    "bytes that are not UTF-8, by text": Idiom(
        "import sys\ntry:\n    sys.stdin.read()\n    print('read')\nexcept UnicodeDecodeError:\n    print('refused')",
        "a\ud800",
        "read\n",
    ),
    "bytes that are not UTF-8, made text": Idiom(
        "import sys\nsys.stdin.reconfigure(errors='replace')\nprint(len(input()))", "a\ud800\n", "4\n"
    ),
    "a byte order mark": Idiom(
        "import sys\nprint(ascii(sys.stdin.buffer.read().decode('utf-8-sig')))", "\ufeffa", "'a'\n"
    ),
    "a byte order mark by text": Idiom("print(ascii(input()))", "\ufeffa\n", "'\\ufeffa'\n"),
    "sys.stdin.reconfigure": Idiom(
        "import sys\nsys.stdin.reconfigure(encoding='latin-1')\nprint(len(input()))", "é\n", "2\n"
    ),
    "TextIOWrapper over stdin": Idiom(
        "import io, sys\nsys.stdin = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8')\nprint(input())", "é\n", "é\n"
    ),
    "codecs over stdin": Idiom(
        "import codecs, sys\nprint(codecs.getreader('utf-8')(sys.stdin.buffer).read())", "é", "é\n"
    ),
    "sys.stdin = StringIO": Idiom(
        "import io, sys\nsys.stdin = io.StringIO('a\\nb')\nprint(input(), input())", "x", "a b\n"
    ),
    "sys.stdin = open(0)": Idiom("import sys\nsys.stdin = open(0)\nprint(input())", "a\n", "a\n"),
    "csv from stdin": Idiom(
        "import csv, sys\nfor row in csv.reader(sys.stdin): print(row)", 'a,"b,c"\n1,2\n', "['a', 'b,c']\n['1', '2']\n"
    ),
    "json from stdin": Idiom("import json, sys\nprint(json.load(sys.stdin)['a'][1])", '{"a": [1, 2]}', "2\n"),
    "struct from stdin": Idiom(
        "import struct, sys\nprint(struct.unpack('<2H', sys.stdin.buffer.read(4)))", "\1\0\2\0", "(1, 2)\n"
    ),
    "array from stdin": Idiom(
        "import array, sys\na = array.array('B')\na.frombytes(sys.stdin.buffer.read())\nprint(a.tolist())",
        "AB",
        "[65, 66]\n",
    ),
    "5 MB by lines": Idiom(
        "import sys\nprint(sum(len(line) for line in sys.stdin))",
        "0123456789" * 9 + "\n" + "123456789\n" * 500_000,
        "5000091\n",
    ),
    "5 MB by input": Idiom(
        "print(sum(len(input()) for _ in range(250000)))", "0123456789012345678\n" * 250_000, "4750000\n"
    ),
    "5 MB by buffer": Idiom(
        "import sys\nprint(len(sys.stdin.buffer.read().split()))", "1234 " * 1_000_000, "1000000\n"
    ),
    "FastIO": Idiom(
        FAST_IO + "sys.stdin, sys.stdout = IOWrapper(sys.stdin), IOWrapper(sys.stdout)\n"
        "input = lambda: sys.stdin.readline().rstrip('\\r\\n')\n"
        "for _ in range(2): print(sum(map(int, input().split())))\nsys.stdout.flush()",
        TWO_LINES,
        SUMS,
    ),
    "FastIO flushed by atexit": Idiom(
        FAST_IO + "import atexit\nsys.stdin, sys.stdout = IOWrapper(sys.stdin), IOWrapper(sys.stdout)\n"
        "atexit.register(sys.stdout.flush)\nprint(sum(map(int, sys.stdin.read().split())))",
        TWO_LINES,
        "18\n",
    ),
    "FastIO flushed by the end": Idiom(
        FAST_IO + "sys.stdout = IOWrapper(sys.stdout)\nprint(sum(map(int, input().split())))", "3 4\n", "7\n"
    ),
    "BytesIO replaces input and print": Idiom(
        "import atexit, io, os, sys\ninput = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\n"
        "out = io.StringIO()\nsys.stdout = out\natexit.register(lambda: os.write(1, out.getvalue().encode()))\n"
        "for _ in range(2): print(sum(map(int, input().split())))",
        TWO_LINES,
        SUMS,
    ),
    "numpy.loadtxt": Idiom(
        "import numpy, sys\nprint(numpy.loadtxt(sys.stdin, dtype=int).sum(axis=1).tolist())",
        TWO_LINES,
        "[7, 11]\n",
        needs="numpy",
    ),
    "numpy.fromstring": Idiom(
        "import numpy, sys\nprint(numpy.fromstring(sys.stdin.read(), dtype=numpy.int64, sep=' ').tolist())",
        TWO_LINES,
        "[3, 4, 5, 6]\n",
        needs="numpy",
    ),
    "numpy.array of split": Idiom(
        "import numpy as np, sys\nprint(np.array(sys.stdin.buffer.read().split(), np.int64).sum())",
        TWO_LINES,
        "18\n",
        needs="numpy",
    ),
    "numpy.fromfile": Idiom(
        "import numpy, sys\nprint(numpy.fromfile(sys.stdin, dtype=int, sep=' ').sum())",
        TWO_LINES,
        "18\n",
        needs="numpy",
    ),
}

WRITING = {
    "print": Idiom("print(1, 'a', sep='-', end='!')", "", "1-a!"),
    "no newline at the end": Idiom("print('x', end='')", "", "x"),
    "print with flush": Idiom("print('a', end='', flush=True)\nprint('b')", "", "ab\n"),
    "nothing": Idiom("pass", "", ""),
    "sys.stdout.write": Idiom("import sys\nsys.stdout.write('a')\nprint(sys.stdout.write('bc\\n'))", "", "abc\n3\n"),
    "sys.stdout.writelines": Idiom("import sys\nsys.stdout.writelines(['a\\n', 'b\\n'])", "", "a\nb\n"),
    "sys.stdout.buffer.write": Idiom("import sys\nsys.stdout.buffer.write(b'a\\n')", "", "a\n"),
    "buffer and text in order": Idiom(
        "import sys\nprint('a')\nsys.stdout.flush()\nsys.stdout.buffer.write(b'b\\n')\nsys.stdout.flush()\nprint('c')",
        "",
        "a\nb\nc\n",
    ),
    "os.write": Idiom("import os\nos.write(1, b'a\\n')", "", "a\n"),
    "os.write before what is buffered": Idiom("import os\nprint('b')\nos.write(1, b'a\\n')", "", "a\nb\n"),
    "open('/dev/stdout', 'w')": Idiom("with open('/dev/stdout', 'w') as out: print('a', file=out)", "", "a\n"),
    "open(1, 'w')": Idiom("open(1, 'w', closefd=False).write('a\\n')", "", "a\n"),
    "open(1, 'wb')": Idiom("out = open(1, 'wb', buffering=0)\nout.write(b'a\\n')", "", "a\n"),
    "os.fdopen(1, 'w')": Idiom("import os\nout = os.fdopen(1, 'w')\nprint('a', file=out)", "", "a\n"),
    "sys.stdout = os.fdopen(1, 'w', big)": Idiom(
        "import os, sys\nsys.stdout = os.fdopen(1, 'w', 1 << 20)\nfor n in range(3): print(n)", "", "0\n1\n2\n"
    ),
    "stderr beside": Idiom("import sys\nprint('no', file=sys.stderr)\nprint('yes')", "", "yes\n"),
    "warnings go to stderr": Idiom("import warnings\nwarnings.warn('careful')\nprint('yes')", "", "yes\n"),
    "logging goes to stderr": Idiom("import logging\nlogging.warning('careful')\nprint('yes')", "", "yes\n"),
    "stdout.reconfigure, line buffered": Idiom(
        "import sys\nsys.stdout.reconfigure(line_buffering=True)\nprint('a')", "", "a\n"
    ),
    "stdout.reconfigure, newline": Idiom(
        "import sys\nsys.stdout.reconfigure(newline='\\r\\n')\nprint('a')", "", "a\r\n"
    ),
    "stdout.reconfigure, encoding": Idiom(
        "import sys\nsys.stdout.reconfigure(encoding='utf-8', errors='replace')\nprint('é', chr(0xd800))", "", "é ?\n"
    ),
    "TextIOWrapper over stdout": Idiom(
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('é')", "", "é\n"
    ),
    "TextIOWrapper over detached stdout": Idiom(
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), write_through=True)\nprint('a')", "", "a\n"
    ),
    "codecs over stdout": Idiom(
        "import codecs, sys\nsys.stdout = codecs.getwriter('utf-8')(sys.stdout.buffer)\nprint('é')", "", "é\n"
    ),
    "print overridden": Idiom(
        "import sys\ndef print(*args): sys.stdout.write(' '.join(map(str, args)) + '\\n')\nprint(1, 2)", "", "1 2\n"
    ),
    "print = lambda": Idiom(
        "import sys\nprint = lambda *a: sys.stdout.write(' '.join(map(str, a)) + '\\n')\nprint(1, 'b')", "", "1 b\n"
    ),
    "builtins.print replaced": Idiom(
        "import builtins, functools\nbuiltins.print = functools.partial(print, end=';')\nprint(1)\nprint(2)", "", "1;2;"
    ),
    "redirect_stdout": Idiom(
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out: print('a')\nprint(out.getvalue() * 2, end='')",
        "",
        "a\na\n",
    ),
    "stdout replaced and put back": Idiom(
        "import io, sys\nold, sys.stdout = sys.stdout, io.StringIO()\nprint('no')\nsys.stdout = old\nprint('yes')",
        "",
        "yes\n",
    ),
    "sys.__stdout__": Idiom(
        "import io, sys\nsys.stdout = io.StringIO()\nprint('yes', file=sys.__stdout__)", "", "yes\n"
    ),
    "dup2 over stdout": Idiom(
        "import os\nsaved = os.dup(1)\nnull = os.open('/dev/null', os.O_WRONLY)\nos.dup2(null, 1)\nprint('no', flush=True)\n"
        "os.dup2(saved, 1)\nprint('yes')",
        "",
        "yes\n",
    ),
    "many small writes": Idiom("import sys\nfor n in range(100000): sys.stdout.write('x')", "", "x" * 100_000),
    "many small writes, flushed": Idiom(
        "for n in range(3000): print(n % 10, end='', flush=True)", "", "0123456789" * 300
    ),
    "1 MB": Idiom("print('x' * 1_000_000)", "", "x" * 1_000_000 + "\n"),
    "1 MB by os.write": Idiom(
        "import os\ndata = b'0123456789' * 100_000\nwhile data: data = data[os.write(1, data):]",
        "",
        "0123456789" * 100_000,
    ),
    "join and one print": Idiom("print('\\n'.join(map(str, range(5))))", "", "0\n1\n2\n3\n4\n"),
    "pprint": Idiom("from pprint import pprint\npprint({'b': 1, 'a': [2]})", "", "{'a': [2], 'b': 1}\n"),
    "Unicode out": Idiom("print('añ日𝄞', '\\u2028')", "", "añ日𝄞 \u2028\n"),
    "NUL out": Idiom("print('a\\0b')", "", "a\0b\n"),
    "a carriage return out": Idiom("print('a\\rb\\r\\nc')", "", "a\rb\r\nc\n"),
    "help() prints": Idiom(
        "def f():\n    'Doc of f.'\nhelp(f)", "", "Help on function f in module __main__:\n\nf()\n    Doc of f.\n\n"
    ),
    "import this": Idiom(
        "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n    import this\nprint(len(s.getvalue()) > 800)",
        "",
        "True\n",
    ),
}

ENDING = {
    "sys.exit(0)": Idiom("import sys\nprint('a')\nsys.exit(0)\nprint('b')", "", "a\n"),
    "sys.exit()": Idiom("import sys\nprint('a')\nsys.exit()", "", "a\n"),
    "exit()": Idiom("print('a')\nexit()", "", "a\n"),
    "exit(0)": Idiom("print('a')\nexit(0)", "", "a\n"),
    "quit()": Idiom("print('a')\nquit()", "", "a\n"),
    "raise SystemExit": Idiom("print('a')\nraise SystemExit", "", "a\n"),
    "raise SystemExit(0)": Idiom("print('a')\nraise SystemExit(0)", "", "a\n"),
    "sys.exit(None)": Idiom("import sys\nprint('a')\nsys.exit(None)", "", "a\n"),
    "sys.exit(False)": Idiom("import sys\nprint('a')\nsys.exit(False)", "", "a\n"),
    "sys.exit(main())": Idiom("import sys\ndef main(): print('a')\nsys.exit(main())", "", "a\n"),
    "os._exit(0) after a flush": Idiom("import os, sys\nprint('a')\nsys.stdout.flush()\nos._exit(0)", "", "a\n"),
    "os._exit(0) loses what is buffered": Idiom("import os\nprint('a')\nos._exit(0)", "", ""),
    "output at exit": Idiom("import atexit\natexit.register(print, 'last')\nprint('first')", "", "first\nlast\n"),
    "exit functions in reverse order": Idiom(
        "import atexit\nfor n in range(3): atexit.register(print, n)", "", "2\n1\n0\n"
    ),
    "output at exit after sys.exit": Idiom(
        "import atexit, sys\n@atexit.register\ndef bye(): print('bye')\nsys.exit()", "", "bye\n"
    ),
    "a thread not joined": Idiom(
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\nprint('main')",
        "",
        "main\nthread\n",
    ),
    "a daemon thread is not waited for": Idiom(
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(3), print('no')), daemon=True).start()\nprint('main')",
        "",
        "main\n",
    ),
    "finally after sys.exit": Idiom(
        "import sys\ntry:\n    sys.exit()\nfinally:\n    print('finally')", "", "finally\n"
    ),
    "closing stdout": Idiom("import sys\nprint('a')\nsys.stdout.close()", "", "a\n"),
    "a file left open is flushed": Idiom("f = open('/dev/stdout', 'w')\nf.write('a\\n')", "", "a\n"),
    "__del__ at the end": Idiom(
        "class A:\n    def __del__(self): print('del')\na = A()\nprint('end')", "", "end\ndel\n"
    ),
    "__del__ at the end uses names": Idiom(
        "import os\nclass A:\n    def __del__(self): os.write(1, b'del' + end())\na = A()\ndef end(): return b'\\n'\nz = A()",
        "",
        "del\ndel\n",
    ),
    "a stream of one's own is flushed": Idiom(
        "import sys\nclass Out:\n    def __init__(self): self.parts = []\n    def write(self, text): self.parts.append(text)\n"
        "    def flush(self):\n        sys.__stdout__.write(''.join(self.parts))\n        self.parts.clear()\nsys.stdout = Out()\nprint('a')",
        "",
        "a\n",
    ),
    "a stream without flush": Idiom(
        "import sys\nclass Out:\n    closed = True\n    def write(self, text): sys.__stdout__.write(text)\nsys.stdout = Out()\nprint('a')",
        "",
        "a\n",
    ),
    "stdout is None": Idiom("import sys\nprint('a')\nsys.stdout.flush()\nsys.stdout = None\nprint('b')", "", "a\n"),
    "stdout deleted": Idiom("import sys\nsys.stdout.write('a\\n')\nsys.stdout.flush()\ndel sys.stdout", "", "a\n"),
    "everything of sys deleted that ends a program": Idiom(
        "import sys\nsys.stdout.write('a\\n')\nsys.stdout.flush()\n"
        "for name in 'stdin stdout stderr __stdin__ __stdout__ __stderr__ argv excepthook'.split(): delattr(sys, name)",
        "",
        "a\n",
    ),
    "stderr deleted": Idiom("import sys\nprint('a')\ndel sys.stderr", "", "a\n"),
    "stderr closed": Idiom("import sys\nprint('a')\nsys.stderr.close()", "", "a\n"),
    "everything printed at the end by __del__": Idiom(
        "import io, sys\nsys.stdout = io.StringIO()\nprint('lost')\nclass A:\n    def __del__(self): print('kept')\na = A()",
        "",
        "kept\n",
    ),
    "threads that print at the end": Idiom(
        "import threading\nlock = threading.Lock()\ndef work():\n    with lock: print('x')\n"
        "for _ in range(8): threading.Thread(target=work).start()",
        "",
        "x\n" * 8,
    ),
    "an exit function that prints to a buffer": Idiom(
        "import atexit, io, sys\nout = io.StringIO()\natexit.register(lambda: sys.__stdout__.write(out.getvalue()))\n"
        "print('a', file=out)",
        "",
        "a\n",
    ),
    "an exception in an exit function is no failure": Idiom(
        "import atexit\natexit.register(lambda: 1 / 0)\nprint('a')", "", "a\n"
    ),
    "an exception in a thread is no failure": Idiom(
        "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nprint('a')", "", "a\n"
    ),
    "an exception in __del__ is no failure": Idiom(
        "class A:\n    def __del__(self): 1 / 0\na = A()\nprint('a')", "", "a\n"
    ),
    "input left unread": Idiom("print(input())", "a\n" * 100_000, "a\n"),
}

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
        "t = threading.Thread(target=lambda: print(depth(3000)))\nt.start()\nt.join()",
        "",
        "3000\n",
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

IDIOMS = {**READING, **WRITING, **ENDING, **RUNNING}
LIMITS = {"cpu_s": 5, "wall_s": 20, "output_bytes": 1_000_000}


ENVIRONMENT = {"PATH": os.defpath, "PYTHONUTF8": "1", **loader_environment(sys.executable)}


def limits_of(idiom):
    return Limits(**{**LIMITS, **idiom.limits})


@pytest.fixture(scope="module")
def idioms(some):
    """Those that are tried, by name; one in six in the quick tier."""
    for module in {idiom.needs for idiom in IDIOMS.values()} - {""}:
        pytest.importorskip(module)
    return {name: IDIOMS[name] for name in some(IDIOMS, 6)}


def in_python(directory, code, stdin=""):
    """`python main.py < input > output`, which all the others are held to."""
    directory.mkdir()
    (directory / "main.py").write_bytes(code.encode())
    (directory / "input").write_bytes(stdin.encode("utf-8", "surrogatepass"))
    with open(directory / "input", "rb") as file:
        command = [sys.executable, "main.py"]
        return subprocess.run(command, stdin=file, capture_output=True, cwd=directory, env=ENVIRONMENT)


def test_an_idiom_is_what_python_does(tmp_path, idioms):
    with ThreadPoolExecutor(2) as threads:
        runs = threads.map(
            lambda number, idiom: in_python(tmp_path / str(number), idiom.code, idiom.stdin),
            range(len(idioms)),
            idioms.values(),
        )
        done = dict(zip(idioms, runs, strict=True))
    wrong = {
        name: one for name, one in done.items() if (one.returncode, one.stdout.decode()) != (0, IDIOMS[name].stdout)
    }
    assert wrong == {}


def test_an_idiom_runs_as_it_does_in_python(executor, idioms):
    programs = [Program(idiom.code, stdin=idiom.stdin, limits=limits_of(idiom)) for idiom in idioms.values()]
    results = dict(zip(idioms, executor.run_many(programs), strict=True))
    wrong = {
        name: result
        for name, result in results.items()
        if (result.status, result.exit_code, result.stdout) != ("ok", 0, idioms[name].stdout)
    }
    assert wrong == {}


def test_an_idiom_passes_when_judged(anywhere, idioms):
    if anywhere.describe().level not in LEVELS:  # They start an interpreter for each, and the judge is the same.
        idioms = {name: idioms[name] for name in sample(idioms, 3)}
    answers = [
        (
            Task(name, "p", (StdinTest(idiom.stdin, idiom.stdout, compare="exact"),), limits=limits_of(idiom)),
            idiom.code,
        )
        for name, idiom in idioms.items()
    ]
    verdicts = dict(zip(idioms, judge_many(answers, anywhere), strict=True))
    assert {name: verdict.cases for name, verdict in verdicts.items() if not verdict.passed} == {}


FAILING = {
    "sys.exit('message')": ("import sys\nprint('a')\nsys.exit('message')", 1, "message\n"),
    "sys.exit(3)": ("import sys\nprint('a')\nsys.exit(3)", 3, ""),
    "sys.exit(-1)": ("import sys\nprint('a')\nsys.exit(-1)", 255, ""),
    "sys.exit(True)": ("import sys\nprint('a')\nsys.exit(True)", 1, ""),
    "sys.exit of a float": ("import sys\nprint('a')\nsys.exit(0.0)", 1, "0.0\n"),
    "sys.exit of a tuple": ("import sys\nprint('a')\nsys.exit((1, 2))", 1, "(1, 2)\n"),
    "raise SystemExit('message')": ("print('a')\nraise SystemExit('message')", 1, "message\n"),
    "exit(1)": ("print('a')\nexit(1)", 1, ""),
    "os._exit(5)": ("import os\nprint('a', flush=True)\nos._exit(5)", 5, ""),
    "os.abort": ("import os\nprint('a', flush=True)\nos.abort()", -6, None),
    "an uncaught exception": ("print('a')\n1 / 0", 1, None),
    "an uncaught exception after a handler at exit": ("import atexit\natexit.register(print, 'a')\n1 / 0", 1, None),
    "an uncaught KeyboardInterrupt": ("print('a', flush=True)\nraise KeyboardInterrupt", None, None),
    "reading past the end": ("print('a')\ninput()", 1, None),
    "a flush that fails": (
        "import sys\nclass Out:\n    write = print\n    def flush(self): 1 / 0\nprint('a', flush=True)\nsys.stdout = Out()",
        120,
        None,
    ),
    "stdout's descriptor closed": ("import os\nprint('a', flush=True)\nos.close(1)\nprint('b')", 120, None),
}


@pytest.fixture(scope="module")
def failed_in_python(tmp_path_factory):
    """What plain Python makes of them."""
    directory = tmp_path_factory.mktemp("failing")
    done = {name: in_python(directory / str(n), code) for n, (name, (code, _, _)) in enumerate(FAILING.items())}
    assert all(one.returncode != 0 and one.stdout == b"a\n" for one in done.values()), done
    return done


def test_a_program_that_fails_does_so_as_in_python(executor, failed_in_python):
    results = executor.run_many([Program(code) for code, _, _ in FAILING.values()])
    task = Task("t", "p", (StdinTest("", "a\n"),), limits=Limits(**LIMITS))
    verdicts = judge_many([(task, code) for code, _, _ in FAILING.values()], executor)
    for (name, (_, exit_code, stderr)), result, verdict in zip(FAILING.items(), results, verdicts, strict=True):
        done = failed_in_python[name]
        assert (result.status == "ok", result.stdout) == (False, "a\n"), (name, result)
        if exit_code is not None:
            ours = result.exit_code if result.signal is None else -result.signal
            assert (ours, done.returncode) == (exit_code, exit_code), (name, result)
        if stderr is not None:
            assert (result.stderr, done.stderr.decode()) == (stderr, stderr), (name, result)
        assert verdict.outcome == "fail", (name, verdict)
