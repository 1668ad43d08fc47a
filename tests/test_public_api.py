import importlib
import subprocess
import sys

import pytest

import code_env
import code_env.harness
from support import PATIENCE_S


def test_all_is_complete_sorted_and_importable():
    assert code_env.__all__ == sorted(code_env.__all__)
    defined_here = {n for n, v in vars(code_env).items() if getattr(v, "__module__", "").startswith("code_env.")}
    public = {name for name in defined_here if not name.startswith("_")}
    assert public <= set(code_env.__all__)
    for name in code_env.__all__:
        assert getattr(code_env, name).__module__.startswith("code_env")


def test_no_public_name_is_one_that_pytest_collects():
    assert [name for name in code_env.__all__ if name.lower().startswith("test")] == []


def test_everything_public_has_a_docstring():
    assert [name for name in code_env.__all__ if not getattr(code_env, name).__doc__] == []


def test_importing_loads_neither_torch_nor_any_extra():
    heavy = ("torch", "stable_baselines3", "trl", "RestrictedPython", "e2b", "ray", "datasets", "pandas", "typer")
    code = f"import sys, code_env; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "system",
    [
        "agentfly",
        "code_eval",
        "code_interpreter",
        "eval_framework",
        "nemo_gym",
        "openrlhf",
        "rewardkit",
        "skyrl_gym",
        "trackers",
        "trl",
        "verl",
    ],
)
def test_an_integration_lists_what_it_offers(system):
    module = importlib.import_module(f"code_env.integrations.{system}")
    assert module.__all__ == sorted(module.__all__)
    defined_here = {n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__}
    assert {name for name in defined_here if not name.startswith("_")} <= set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__
        assert not name.lower().startswith("test")


def test_the_package_loads_nothing_for_terminals():
    code = "import sys, code_env; print([name for name in ('rich', 'typer') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == "[]\n"


def test_an_integration_loads_no_extra_until_it_is_used():
    code = "import sys\nfrom code_env.integrations import agentfly, code_eval, eval_framework, rewardkit\n"
    code += "from code_env.integrations import nemo_gym, openrlhf, trackers, trl, verl\n"
    heavy = ("evaluate", "datasets", "pandas", "e2b", "matplotlib", "torch", "trl", "verl", "openrlhf")
    heavy += ("tensorboard", "wandb", "mlflow")
    code += f"print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == "[]\n"


def test_errors_form_one_tree_and_survive_pickling():
    import pickle

    from code_env import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) >= 9
    for kind in kinds:
        assert issubclass(kind, errors.CodeEnvError)
        again = pickle.loads(pickle.dumps(kind("what happened")))
        assert (type(again), str(again)) == (kind, "what happened")
