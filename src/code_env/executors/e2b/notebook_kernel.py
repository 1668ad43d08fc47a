"""The code that runs first in a notebook's kernel, before the program. It is sent as text, and never imported here.

It gives the program its input and arguments, and registers hooks that IPython calls before and after each cell. After
each cell it shows one more result, with the run's nonce: if that result is missing, the stream was cut off. It also
writes to a file which cell has begun and which has ended, so that a slow cell can be told from a dead connection.

It has its own namespace and its own copies of built-in functions, and keeps references to what it needs from modules.
So it still shows the end of a cell if the program rebinds names or removes the file.
"""

TEXT = """
def _code_env_begin(nonce, stdin, argv, progress):
    import ast, base64, builtins, io, json, os, sys

    shell = get_ipython()
    progress = os.path.abspath(progress)
    publish, names = shell.display_pub.publish, shell.user_ns
    dumps, encode, parse, children = json.dumps, base64.b64encode, ast.parse, ast.iter_child_nodes
    count = [0]

    sys.argv = ["main.py", *argv]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")), "utf-8", "surrogatepass")

    def read_line(prompt=""):
        sys.stdout.write(str(prompt))
        line = sys.stdin.readline()
        if not line:
            raise EOFError("EOF when reading a line")
        return line[:-1] if line.endswith("\\n") else line

    builtins.input = read_line

    def note(what):
        try:
            with open(progress, "w") as file:
                file.write(f"{nonce} {count[0]} {what}")
        except OSError:  # The program has removed its directory.
            pass

    name, store = ast.Name, ast.Store
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension)

    def sets(tree):
        if isinstance(tree, name):
            return tree.id == "result" and isinstance(tree.ctx, store)
        return any(sets(node) for node in children(tree) if not isinstance(node, inner))

    def variable(text):
        try:
            if "result" in names and sets(parse(text)):
                shown = repr(names["result"])
                return shown if len(shown) <= 65536 else shown[:65536] + "..."
        except BaseException:
            return None

    def before(info):
        count[0] += 1
        note("began")

    def after(result):
        told = {"variable": variable(getattr(getattr(result, "info", None), "raw_cell", ""))}
        note("ended")
        publish({"text/plain": f"{nonce}:{count[0]}:" + encode(dumps(told).encode()).decode()})

    shell.events.register("pre_run_cell", before)
    shell.events.register("post_run_cell", after)
"""

PROGRESS = ".code_env/progress"
"""The file that says which cell has begun or ended, below the home directory of the sandbox's user."""


def beginning(nonce: str, stdin: str, argv: tuple[str, ...]) -> str:
    """The text of the cell that runs first."""
    text = f"{TEXT}\n_code_env_begin({nonce!r}, {stdin!r}, {list(argv)!r}, {PROGRESS!r})\n"
    names = '{"__builtins__": dict(vars(__import__("builtins"))), "get_ipython": get_ipython}'
    return f"exec({text!r}, {names})\n"
