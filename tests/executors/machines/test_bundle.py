"""What goes to a machine, and what comes back."""

import dataclasses
import io
import json
import subprocess
import sys
import tarfile

import pytest

from code_env import ExecutionResult, Limits, Program, Status
from code_env.executors.machines import supervisor
from code_env.executors.machines.bundle import bundle, order_of, result_from
from code_env.executors.machines.faults import MachineFault, MissingInterpreter
from support import PATIENCE_S


class TestBundle:
    def test_it_is_the_same_each_time_and_holds_no_judge_of_the_hosts(self):
        with tarfile.open(fileobj=io.BytesIO(bundle())) as tar:
            names = tar.getnames()
        assert "code_env/harness/boot.py" in names
        assert "code_env/harness/interpreted/javascript/driver.js" in names
        assert not [name for name in names if "judging" in name or "tasks" in name or "local" in name]
        assert bundle() is bundle()

    def test_it_needs_nothing_but_the_standard_library(self, tmp_path):
        with tarfile.open(fileobj=io.BytesIO(bundle())) as tar:
            # The first releases of 3.11 have no filters, and the last ones want one.
            tar.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        program = Program("print(input())", stdin="x", files={"a": b"\xff"}, collect=("a",), limits=Limits(cpu_s=2))
        (tmp_path / "job.json").write_bytes(order_of(program, "n"))
        command = [sys.executable, "-I", "-S", str(tmp_path / "code_env/executors/machines/supervisor.py")]
        out = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path, timeout=PATIENCE_S)
        lines = out.stdout.decode().split("\n")
        # It says every now and then that it lives, on a slow machine more than once before it begins.
        assert list(dict.fromkeys(lines))[:2] == ["~0", "!"]
        result = result_from(lines[-2], "n")
        assert (result.status, result.stdout, result.files) == (Status.OK, "x\n", {"a": b"\xff"})


class TestResultLine:
    PLAIN = supervisor.plain(ExecutionResult(Status.OK, exit_code=0, stdout="é", files={"a": b"\0"}, wall_s=0.5))

    def line(self, **changes):
        return json.dumps({"nonce": "n", "result": self.PLAIN | changes})

    def test_what_is_said_comes_back(self):
        result = result_from(self.line(), "n")
        assert result == ExecutionResult(Status.OK, exit_code=0, stdout="é", files={"a": b"\0"})
        assert result.wall_s == 0.5

    def test_every_field_is_known_to_both_sides(self):
        names = {item.name for item in dataclasses.fields(ExecutionResult)}
        assert set(self.PLAIN) <= names
        # What a plain run has not, and what is measured on this side.
        assert names - set(self.PLAIN) == {"results", "peer", "queue_s", "start_s"}

    @pytest.mark.parametrize(
        "line",
        [
            "{}",
            "[]",
            "{",
            "null",
            json.dumps({"nonce": "m", "result": PLAIN}),
            json.dumps({"nonce": "n"}),
            json.dumps({"nonce": "n", "result": []}),
            json.dumps({"nonce": "n", "result": PLAIN | {"status": "perfect"}}),
            json.dumps({"nonce": "n", "result": PLAIN | {"status": "refused"}}),
            json.dumps({"nonce": "n", "result": PLAIN | {"stdout": 3}}),
            json.dumps({"nonce": "n", "result": PLAIN | {"files": {"a": "a"}}}),
            json.dumps({"nonce": "n", "result": PLAIN | {"error": ["a"]}}),
            json.dumps({"nonce": "n", "result": PLAIN | {"wall_s": "x"}}),
            "[" * 100_000,
        ],
        ids=range(14),
    )
    def test_what_is_malformed_is_none(self, line):
        assert result_from(line, "n") is None

    def test_faults_of_the_sandbox_are_no_results(self):
        with pytest.raises(MachineFault, match="OSError: full"):
            result_from(json.dumps({"nonce": "n", "fault": ["OSError", "full"]}), "n")
        with pytest.raises(MissingInterpreter, match="node"):
            result_from(json.dumps({"nonce": "n", "fault": ["UnsupportedProgram", "no node"]}), "n")
        with pytest.raises(MachineFault):
            result_from(self.line(status="sandbox_error"), "n")
