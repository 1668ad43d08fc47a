"""Ways to read the input."""

from conformance.idioms.idiom import Idiom

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
