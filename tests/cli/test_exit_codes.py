"""What scripts go by: a command that finds an error ends with exit code 1, in whatever form it prints what it found."""

import json

import pytest

from cli.command_line import run

TASK = {
    "id": "double",
    "prompt": "Write double(x).",
    "entry_point": "double",
    "tests": [{"kind": "call", "args": [2], "expected": 4}, {"kind": "call", "args": [5], "expected": 10}],
}
REFERENCES = {"sound": "def double(x): return 2 * x", "wrong": "def double(x): return 4"}


@pytest.mark.parametrize("form", [(), ("--json",), ("--write", "proven.jsonl")], ids=["text", "json", "written"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_validate(tmp_path, reference, form):
    (tmp_path / "suite.jsonl").write_text(json.dumps(TASK | {"reference": REFERENCES[reference]}) + "\n")
    shown = run("validate", "suite.jsonl", "-n", 1, *form, cwd=tmp_path, code=int(reference == "wrong"))
    if form == ("--json",):
        assert json.loads(shown)["sound"] is (reference == "sound")
