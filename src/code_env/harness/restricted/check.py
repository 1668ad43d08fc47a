"""Checks whether an interpreter can make a policy, before any program comes.

The trainer runs this file by its path, in the interpreter of programs, and writes the options as JSON to its stdin. The
file prints one line of JSON: `{"problem": null}`, or a text in place of null that says what is wrong.
"""

import importlib.util
import json
import os
import sys


def main() -> None:
    """Make the policy, and print what is wrong with it."""
    directory = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        "code_env_harness", os.path.join(directory, "__init__.py"), submodule_search_locations=[directory]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no harness in {directory}")
    sys.modules["code_env_harness"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    problem = None
    try:
        import RestrictedPython  # noqa: F401
    except ImportError:
        problem = "RestrictedPython is missing"
    else:
        try:
            from code_env_harness.restricted.policy import Policy  # type: ignore[import-not-found]

            Policy(json.load(sys.stdin)).rehearse()
        except Exception as error:
            problem = (
                str(error)
                if type(error).__name__ in ("UnfitPolicy", "PolicyFault")
                else f"{type(error).__name__}: {error}"
            )
    print(json.dumps({"problem": problem}))  # noqa: T201


if __name__ == "__main__":
    main()
