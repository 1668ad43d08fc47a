"""Ways to end a program."""

from conformance.idioms.idiom import Idiom

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
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(1), print('thread'))).start()\nprint('main')",
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
    "a file that a class holds is flushed": Idiom("class IO:\n    out = open(1, 'w')\nIO.out.write('a\\n')", "", "a\n"),
    "a file in a cycle of objects is flushed": Idiom(
        "class W:\n    def __init__(self):\n        self.f = open(1, 'w')\n        self.write = self.put\n"
        "    def put(self, s): self.f.write(s)\nw = W()\nw.write('a\\n')",
        "",
        "a\n",
    ),
    "a file under a hidden name is flushed": Idiom("__out = open(1, 'w')\n__out.write('a\\n')", "", "a\n"),
    "a file that builtins holds is flushed": Idiom(
        "import builtins\nbuiltins.out = open(1, 'w')\nbuiltins.out.write('a\\n')", "", "a\n"
    ),
    "a stream over a detached one is flushed": Idiom(
        "import io, sys\nsys.stdout = io.BufferedWriter(sys.stdout.detach())\nsys.stdout.write(b'a\\n')\n"
        "sys.stdout.flush()",
        "",
        "a\n",
    ),
    "__del__ of a cycle of objects": Idiom(
        "class D:\n    def __init__(self): self.me = self\n    def __del__(self): print('del')\nd = D()", "", "del\n"
    ),
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
