"""verl does not install beside the others, so its agent loop calls the tool in an environment of its own."""

import importlib
import json

import pytest

from own_environment import own_environment

VERL = ["verl==0.9.1", "tensordict>=0.8,<=0.10,!=0.9.0", "pyvers", "orjson", "importlib_metadata", "torchdata"]
"""verl, and of what it needs only what its agent loop imports: the rest is there, or would take another torch."""

SETTINGS = ["codetiming", "hydra-core", "omegaconf>=2.3", "antlr4-python3-runtime==4.9.3"]


def test_its_own_loop_calls_the_tool():
    with own_environment(["--no-deps", *VERL, *SETTINGS]) as call:
        truth = json.dumps({"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]})
        told = call("integrations/verl_tool_script.py", truth)
    assert told["schema"] == "run_cell"
    ran = "It ran without a fault."
    assert told["state"] == [[ran, 0.0], [f"{ran}\nOutput:\n20\nValue:\n21", 0.0]]
    assert "NameError" in told["apart"][0]
    assert sorted(told["together"]) == [f"{ran}\nValue:\n{n}" for n in (21, 22, 23)]
    assert told["no code"] == ["A cell must be text.", 0.0]
    assert told["no task"] == ["Nothing can be handed in with this tool; answer in words.", 0.0]
    (wrong, nothing), (half, share), (last, none) = told["solutions"]
    assert nothing == none == 0.0
    assert "0 of 2 tests passed" in wrong, "a solution finds nothing of the session"
    assert share == 0.5
    assert half.endswith("Solutions that may still be handed in: 0.")
    assert last == "Nothing more can be handed in."
    assert told["released"] == [0, "idle"], "verl releases after each call, and the session stays"
    assert told["gone"] == [0, "dead"], "it ends with the trajectory"
    assert told["before"] == {
        "kept": f"{ran}\nValue:\n5",
        "rewards": [0.0, 0.0, 1.0, 1.0],
        "numbers": {"passed": 1.0, "tests_passed": 1.0, "no_code": 0.0},
        "state": "dead",
    }
    assert told["misspelt"].endswith("did you mean 'rewards'?")


def test_without_verl_the_message_says_so():
    with pytest.raises(ImportError, match=r"integrations\.verl\.tool needs verl, which cannot be imported"):
        importlib.import_module("code_env.integrations.verl.tool")
