"""The first code in a sandbox's interpreter: loads the harness and runs what the executor asked for.

The executor runs this file by its path, `python boot.py FD`, so that the package around it is not imported. FD is the
descriptor of a file with a JSON object that says what this process is; `report`, `channel` and `bell` are descriptors::

    {"role": "program", "file": "main.py", "argv": [], "limits": {...}, "report": 4, "parent": 71}
    {"role": "served",  ..., "channel": 5}     a program that a peer drives: see program/serving.py
    {"role": "loaded",  ..., "channel": 5, "bell": 6}     the same in one process: see program/answering.py

A peer is an ordinary `program` with the channel's number in its environment. In every role, the first line in the
report says that the sandbox works. It is written before the program is examined. If a process ends without this
line, the sandbox is at fault. A second line holds the program's uncaught exception.
"""

import importlib.util
import json
import os
import sys


def main() -> None:
    """Do what the JSON object in the file says."""
    with open(int(sys.argv[1]), "rb") as file:
        order = json.loads(file.read())
    directory = os.path.dirname(os.path.abspath(__file__))
    package = "code_env_harness"
    spec = importlib.util.spec_from_file_location(
        package,
        os.path.join(directory, "__init__.py"),
        submodule_search_locations=[directory],
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no harness in {directory}")
    sys.modules[package] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    from code_env_harness.process.limits import (  # type: ignore[import-not-found]
        ProcessLimits,
        die_with_parent,
        restore_signals,
    )

    restore_signals()
    die_with_parent(order["parent"])
    limits = ProcessLimits(**order["limits"])
    report: int = order["report"]
    os.set_inheritable(report, False)
    sys.path.insert(0, os.getcwd())
    if order["command"] is not None:
        from code_env_harness.interpreted.boot import start  # type: ignore[import-not-found]

        start(order, limits)
    os.write(report, b"{}\n")
    if order["role"] == "served":
        os.close(report)
        from code_env_harness.process.workspace import read_files  # type: ignore[import-not-found]
        from code_env_harness.program.serving import serve  # type: ignore[import-not-found]

        files = read_files()
        limits.of_whole_run(max(map(len, files.values()))).apply()
        serve(files, order["file"], order["argv"], limits, limits.of_tests(), order["channel"])
        return
    if order["role"] == "loaded":
        os.close(report)
        limits.apply()
        from code_env_harness.program.answering import answer_alone  # type: ignore[import-not-found]

        with open(order["file"], "rb") as source:
            answer_alone(source.read(), order["file"], order["argv"], order["channel"], order["bell"])

    from code_env_harness.program.main_module import (  # type: ignore[import-not-found]
        COMPILE_ERRORS,
        compile_program,
        describe_error,
        prepare_main,
        run_as_main,
    )

    def send_report(error: dict[str, object]) -> None:
        view = memoryview(json.dumps(error).encode() + b"\n")
        while view:
            view = view[os.write(report, view) :]

    limits.apply()
    if order["cells"] is not None:
        from code_env_harness.program.notebook import run_as_notebook, run_in_session  # type: ignore[import-not-found]

        with open(order["file"], "rb") as program:
            text = program.read()
        names = prepare_main(order["file"], order["argv"])
        if order["history"] is not None:
            run_in_session(text, names, order["history"], send_report)
        run_as_notebook(text, order["file"], names, order["cells"], send_report)
    try:
        with open(order["file"], "rb") as file:
            code = compile_program(file.read(), order["file"])
    except COMPILE_ERRORS as error:
        described = describe_error(error)
        send_report(described)
        sys.stderr.write(described["traceback"])
        sys.exit(1)
    run_as_main(code, prepare_main(order["file"], order["argv"]), send_report)


if __name__ == "__main__":
    main()
