"""Ways to fail, each with the exit code and the standard error of plain Python, where they are the same each time."""

FAILING = {
    "sys.exit('message')": ("import sys\nprint('a')\nsys.exit('message')", 1, "message\n"),
    "sys.exit(3)": ("import sys\nprint('a')\nsys.exit(3)", 3, ""),
    "sys.exit(-1)": ("import sys\nprint('a')\nsys.exit(-1)", 255, ""),
    "sys.exit of a number that no C long holds": ("import sys\nprint('a')\nsys.exit(2**70)", 255, None),
    "sys.exit of a number that no C int holds": ("import sys\nprint('a')\nsys.exit(2**40 + 7)", 7, ""),
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
