"""What a task imports, from its trusted texts: what comes before an answer, the reference, and the tests."""

from __future__ import annotations

from pathlib import Path

from code_env.languages import PYTHON
from code_env.module_names import imported_modules
from code_env.tasks.kinds import AssertTest, CheckerTest
from code_env.tasks.task import Task


def imports_of(task: Task) -> set[str]:
    """Return the full names of the modules that a task imports, and of what it imports from them.

    Example:
        >>> from code_env import OutputTest
        >>> task = Task("one", "Print 1.", (OutputTest("1"),), reference="import json.decoder\\nprint(1)")
        >>> sorted(imports_of(task))
        ['json', 'json.decoder']
    """
    if task.language != PYTHON.name:
        return set()
    texts = [task.prefix, task.program(task.reference or ""), task.setup]
    texts += [test.code for test in task.tests if isinstance(test, AssertTest)]
    texts += [test.checker for test in task.tests if isinstance(test, CheckerTest)]
    return {name for text in texts for name in imported_modules(text)}


def is_there(packages: Path, module: str) -> bool:
    """Return whether a directory with packages has a module. Nothing is imported.

    Args:
        packages: The directory.
        module: The full name of the module.
    """
    path = packages.joinpath(*module.split("."))
    return path.is_dir() or any(path.parent.glob(f"{path.name}.py")) or any(path.parent.glob(f"{path.name}.*.so"))
