"""Who may import whom, over the syntax trees: the path of a file says what it may know.

`code_env/harness/__init__.py` says what the folders of the harness are.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import code_env

PACKAGE = Path(code_env.__file__).parent
FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
HARNESS = [name for name in FILES if name.startswith("harness/")]

OPTIONAL = {
    "RestrictedPython": ("harness/restricted/",),
    "matplotlib": ("harness/program/figures.py",),
    "numpy": ("harness/wire/structures.py", "harness/judge/suite.py"),
}
"""Packages that the harness uses where they are installed, and the files or folders that may import each."""

_RUNS_PROGRAMS = ("harness/program", "harness/interpreted", "harness/restricted", "harness/shared_suite")

FORBIDDEN = {
    "harness/process/": ("harness/judge", "harness/program", "harness/interpreted", "harness/wire"),
    "harness/wire/": ("harness/judge", "harness/program", "harness/interpreted"),
    "harness/program/": ("harness/judge", "harness/interpreted"),
    "harness/interpreted/": ("harness/judge",),
    "harness/restricted/": ("harness/judge", "harness/interpreted"),
    "harness/judge/": ("harness/program", "harness/interpreted", "harness/restricted", "harness/shared_suite"),
    # Only executors start what runs the program; what they have beside the harness does not matter to it.
    **dict.fromkeys(
        (
            "abuses/",
            "cli/",
            "encodings/",
            "evaluation/",
            "hardening/",
            "integrations/",
            "judging/",
            "report/",
            "rollout/",
            "wrappers/",
        ),
        _RUNS_PROGRAMS,
    ),
    **dict.fromkeys(
        ("tasks/", "rewards/", "envs/"),
        (*_RUNS_PROGRAMS, "harness/process", "executors/local", "executors/e2b", "executors/machines"),
    ),
}
"""What must not be imported, by the beginning of the path of who imports."""


def imported(name: str) -> Iterator[tuple[str, str | None]]:
    """What a file of the package imports of it: the path of a module or folder, and a name in it if there is one."""
    *folders, _ = name.split("/")
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        modules: list[tuple[str, str | None]] = []
        if isinstance(node, ast.Import):
            modules = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["code_env", *folders[: len(folders) - node.level + 1]] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            modules = [(module, alias.name) for alias in node.names]
        for module, member in modules:
            parts = module.split(".")
            if parts[0] == "code_env_harness":  # The same files, as sandboxes name them.
                parts[:1] = ["code_env", "harness"]
            if parts[0] == "code_env":
                path = "/".join(parts[1:])
                inner = f"{path}/{member}" if path else str(member)
                is_module = member is not None and (f"{inner}.py" in FILES or f"{inner}/__init__.py" in FILES)
                yield (inner, None) if is_module else (path, member)


@pytest.mark.parametrize("name", HARNESS)
def test_the_harness_imports_nothing_but_the_standard_library(name):
    allowed = {"code_env_harness", *(package for package, where in OPTIONAL.items() if name.startswith(where))}
    roots = set()
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            roots.add(node.module.partition(".")[0])
    assert roots <= sys.stdlib_module_names | allowed
    assert all(path.startswith("harness") for path, _ in imported(name))


def test_the_rules_see_imports():
    assert ("harness/judge/suite", "CompiledSuite") in set(imported("harness/shared_suite.py"))
    assert ("harness/process/limits", "set_limits") in set(imported("executors/local/jail/child.py"))
    assert ("harness/program/main_module", None) in set(imported("executors/local/jail/rehearsal.py"))
    assert all(any(name.startswith(room) for name in FILES) for room in FORBIDDEN)
    targets = {target for targets in FORBIDDEN.values() for target in targets}
    assert all(f"{target}.py" in FILES or any(name.startswith(f"{target}/") for name in FILES) for target in targets)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_no_room_imports_what_it_must_not_know(room):
    seen = {
        f"{name} imports {path}"
        for name in FILES
        if name.startswith(room)
        for path, _ in imported(name)
        if f"{path}/".startswith(tuple(f"{target}/" for target in FORBIDDEN[room]))
    }
    assert seen == set()


def test_only_the_shared_suite_lies_between_program_and_judge():
    """`judge="shared"` is the one mode in which tests run in the program's process."""
    importers = {name for name in HARNESS for path, _ in imported(name) if path.startswith("harness/judge/")}
    outside = {name for name in importers if not name.startswith("harness/judge/")}
    assert outside == {"harness/shared_suite.py"}
    assert {name for name in HARNESS for path, _ in imported(name) if path == "harness/shared_suite"} == {
        "harness/program/answering.py"
    }


def test_no_private_name_crosses_a_folder():
    seen = {
        f"{name} imports {member} of {path}"
        for name in FILES
        for path, member in imported(name)
        if member is not None and member.startswith("_") and not member.startswith("__")
        if path.rpartition("/")[0] != name.rpartition("/")[0]
    }
    assert seen == set()
