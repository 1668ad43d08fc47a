"""The process behind a Python context: runs cells one after another and keeps their names.

Started as `python kernel.py FD`; orders come and messages go over a socket, one JSON object a line. What cells
print goes to the standard streams, which the server reads.
"""

import ast
import asyncio
import base64
import builtins
import contextlib
import importlib.util
import json
import linecache
import os
import signal
import socket
import sys
import threading
import time
import traceback
import types

MIME_METHODS = {
    "html": "_repr_html_",
    "markdown": "_repr_markdown_",
    "svg": "_repr_svg_",
    "png": "_repr_png_",
    "jpeg": "_repr_jpeg_",
    "pdf": "_repr_pdf_",
    "latex": "_repr_latex_",
    "json": "_repr_json_",
    "javascript": "_repr_javascript_",
}
MIME_TYPES = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
}
BACKEND = "loopback_inline"


class StdinNotImplementedError(RuntimeError):
    """Cells have no input."""


class Kernel:
    """The names of a context, and what runs cells with them."""

    def __init__(self, channel):
        self._channel = channel
        self._count = 0
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self._names = module.__dict__
        self.shell = Shell(self, self._names)
        self._names.update(__builtins__=builtins, get_ipython=lambda: self.shell, exit=self._leave, quit=self._leave)
        self._leaving = False
        builtins.input = _no_input
        builtins.display = self.display
        _offer_display(self)

    def serve(self):
        """Run cells until the server goes."""
        for line in self._channel.makefile("rb"):
            if self._leaving:
                # As IPython's kernel does: `exit()` succeeds, and the next cell finds it dead.
                os._exit(0)
            order = json.loads(line)
            before = {name: os.environ.get(name) for name in order["envs"]}
            self._count += 1
            self.send({"type": "number_of_executions", "execution_count": self._count})
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.shell.events.trigger("pre_run_cell", order["code"])
            try:
                try:
                    self._run(order["code"])
                finally:
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
            except BaseException as error:
                self._report(error)
            self.shell.events.trigger("post_run_cell", order["code"])
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            _flush()
            self.send({"type": "done"})

    def send(self, message):
        """Tell the server; an interrupt may not tear the message."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._channel.sendall(json.dumps(message, default=str).encode() + b"\n")
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def display(self, *values, main=False):
        """Send rich forms of values."""
        for value in values:
            _flush()
            self.send({"type": "result", **_formats(value), "extra": {}, "is_main_result": main})

    def _run(self, code):
        name = f"<ipython-input-{self._count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        for part, mode in ((tree, "exec"), (last, "eval")):
            if part is None:
                continue
            compiled = compile(part, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            value = eval(compiled, self._names)
            if compiled.co_flags & 0x80:  # CO_COROUTINE
                value = asyncio.run(value)
            if mode == "eval" and value is not None:
                self._names["_"] = value
                self.display(value, main=True)
        self._show_figures()

    def _show_figures(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None and pyplot.get_fignums():
            pyplot.show()

    def _report(self, error):
        name, value = type(error).__name__, str(error)
        if isinstance(error, SystemExit):
            sys.stderr.write("UserWarning: To exit: use 'exit', 'quit', or Ctrl-D.\n")
            parts = ["An exception has occurred, use %tb to see the full traceback.\n", f"\nSystemExit: {value}\n"]
        else:
            frames = [line for line in traceback.extract_tb(error.__traceback__) if line.filename != __file__]
            parts = ["-" * 75, f"{name:<42}Traceback (most recent call last)"]
            parts += [f"File {f.filename}, line {f.lineno}, in {f.name}\n----> {f.lineno} {f.line}\n" for f in frames]
            parts += ["".join(traceback.format_exception_only(error)).rstrip("\n")]
        # The server joins them without newlines.
        self.send({"type": "error", "name": name, "value": value, "traceback": "".join(parts)})

    def _leave(self, *_):
        self._leaving = True


class Shell:
    """What of IPython's shell cells may ask for: its events, its names, and what publishes results."""

    def __init__(self, kernel, names):
        self._kernel = kernel
        self.user_ns = names
        self.events = Events()
        self.display_pub = self

    def publish(self, data, metadata=None, **_):
        """Send a result that is there in several forms."""
        _flush()
        forms = {MIME_TYPES[kind]: _plain(value) for kind, value in data.items() if kind in MIME_TYPES}
        self._kernel.send({"type": "result", **forms, "extra": {}, "is_main_result": False})


class Events:
    """What is called before and after each cell."""

    def __init__(self):
        self._callbacks = {}

    def register(self, event, function):
        """Have a function called at an event."""
        self._callbacks.setdefault(event, []).append(function)

    def unregister(self, event, function):
        """Have it called no more."""
        self._callbacks[event].remove(function)

    def trigger(self, event, code):
        """Call them: with what the cell is, or how it went, which holds that."""
        info = types.SimpleNamespace(raw_cell=code)
        told = info if event == "pre_run_cell" else types.SimpleNamespace(info=info)
        for function in list(self._callbacks.get(event, ())):
            try:
                function(told)
            except Exception:  # As IPython has it: said, and passed over.
                traceback.print_exc()


def _no_input(*_):
    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


def _flush():
    for stream in (sys.stdout, sys.stderr):
        # The cell may have closed or replaced it.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _flush_now_and_then():
    while True:
        time.sleep(0.1)
        _flush()


def _formats(value):
    text = repr(value)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    found = {"text": text}
    bundle = _call(value, "_repr_mimebundle_")
    if isinstance(bundle, tuple):
        bundle = bundle[0]
    for mime, data in (bundle or {}).items():
        if mime in MIME_TYPES:
            found[MIME_TYPES[mime]] = _plain(data)
    for key, method in MIME_METHODS.items():
        data = _call(value, method)
        if data is not None:
            found[key] = _plain(data[0] if isinstance(data, tuple) else data)
    if type(value) in (dict, list) and _is_json(value):
        found["json"] = value
    if type(value).__name__ == "DataFrame" and hasattr(value, "to_json"):
        found["data"] = {str(k): list(v.values()) for k, v in json.loads(value.to_json(date_format="iso")).items()}
    if type(value).__name__ == "Figure" and hasattr(value, "savefig"):
        found["png"] = _picture(value)
    return found


def _picture(figure):
    import io

    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return _plain(file.getvalue())


def _call(value, method):
    if isinstance(value, type):
        return None
    function = getattr(value, method, None)
    if not callable(function):
        return None
    try:
        return function()
    except Exception:  # Whatever an object's own method raises: it has no such form then.
        return None


def _is_json(value):
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _plain(data):
    return base64.b64encode(data).decode() if isinstance(data, bytes) else data


def _offer_display(kernel):
    """What cells import of IPython, where that is not installed."""
    if importlib.util.find_spec("IPython") is None:
        package, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        module.display = kernel.display
        for name in ("html", "markdown", "svg", "latex", "json", "javascript"):
            title = name.title() if name in ("html", "markdown", "latex", "javascript") else name.upper()
            title = "HTML" if name == "html" else title
            setattr(module, title, _rich(title, f"_repr_{name}_"))
        module.Image = _rich("Image", "_repr_png_")
        package.display = module
        package.get_ipython = lambda: None
        # matplotlib looks at it.
        package.version_info = (8, 31, 0)
        sys.modules.update({"IPython": package, "IPython.display": module})
    sys.meta_path.append(_BackendFinder(kernel))
    os.environ["MPLBACKEND"] = f"module://{BACKEND}"


def _rich(name, method):
    def __init__(self, data=None, **_):
        self.data = data

    return type(name, (), {"__init__": __init__, method: lambda self: self.data})


class _BackendFinder:
    """Finds matplotlib's backend, which shows figures as results, when matplotlib asks for it."""

    def __init__(self, kernel):
        self._kernel = kernel

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == BACKEND else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        from matplotlib.backend_bases import FigureManagerBase
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        kernel = self._kernel

        class Manager(FigureManagerBase):
            @classmethod
            def pyplot_show(cls, *, block=None):
                pyplot = sys.modules["matplotlib.pyplot"]
                for number in pyplot.get_fignums():
                    kernel.display(pyplot.figure(number))
                pyplot.close("all")

        class Canvas(FigureCanvasAgg):
            manager_class = Manager

        module.FigureCanvas, module.FigureManager = Canvas, Manager


def main():
    """Serve on the socket whose descriptor is the argument."""
    channel = socket.socket(fileno=int(sys.argv.pop()))
    channel.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.insert(0, "")
    sys.argv[:] = ["ipykernel_launcher.py"]
    kernel = Kernel(channel)
    threading.Thread(target=_flush_now_and_then, daemon=True).start()
    os.register_at_fork(before=_flush)
    kernel.serve()


if __name__ == "__main__":
    main()
