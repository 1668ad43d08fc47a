"""Ways to write the output."""

from conformance.idioms.idiom import Idiom

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
