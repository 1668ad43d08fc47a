import dataclasses
import json
from concurrent.futures import Future
from functools import partial

import pytest
from typer.testing import CliRunner

from code_env import (
    CodeExecEnv,
    CodeExecVectorEnv,
    ErrorInfo,
    ExecutionResult,
    Status,
    UnsupportedProgram,
    make_executor,
)
from code_env.cli import app
from code_env.cli.console import out
from code_env.testing import CHECKS, LIFE_CHECKS, ConformanceFailure, check_executor, examine
from support import RESTRICTED
from tiers import sample


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_default_executor_conforms(check, executor):
    assert check(executor) is None


@pytest.mark.parametrize("check", LIFE_CHECKS, ids=lambda check: check.__name__)
def test_the_default_executors_life_conforms(check):
    with make_executor("local") as executor:
        assert check(executor) is None


LIMITS = [check for check in CHECKS if check.__module__ == "code_env.testing.limits"]


@pytest.mark.parametrize("check", LIMITS, ids=lambda check: check.__name__)
def test_limits_hold_elsewhere(check, other):
    """At each level other parts of the system keep a program to its limits."""
    is_declared = (other.describe().level, check.__name__) == ("none", "processes_are_limited")
    assert check(other) == ("does not enforce processes" if is_declared else None)


SESSIONS = [check for check in CHECKS if check.__module__ == "code_env.testing.sessions"]


@pytest.mark.parametrize("check", SESSIONS, ids=lambda check: check.__name__)
def test_sessions_by_replay_keep_the_same_promises(check, other):
    assert other.describe().sessions == "replay"
    assert check(other) is None


def test_there_are_enough_checks():
    assert len({check.__name__ for check in CHECKS + LIFE_CHECKS}) == len(CHECKS) + len(LIFE_CHECKS) == 113


class LyingExecutor(type(make_executor("subprocess"))):
    """Claims that everything went well, as a careless third-party executor might."""

    def submit(self, program):
        future = Future()
        future.set_result(ExecutionResult(Status.OK, exit_code=0))
        return future


def test_most_checks_catch_an_executor_that_runs_nothing():
    holds = {found.check for found in examine(LyingExecutor) if found.outcome == "holds"}
    # What can hold without running anything; of languages, those that this machine has an interpreter for.
    assert holds - {"other_languages_are_refused"} == {
        "a_closed_session_is_dead",
        "a_copy_is_the_same_executor",
        "a_file_that_is_not_there_is_an_error",
        "a_program_that_is_no_notebook_shows_nothing",
        "a_released_checkpoint_cannot_be_restored",
        "a_result_can_be_pickled",
        "an_empty_program_is_ok",
        "an_unused_executor_closes",
        "closing_cancels_what_waits",
        "declared_limits_are_limits",
        "no_programs_give_no_results",
        "the_description_is_whole",
        "the_description_stays",
    }


class RefusingExecutor(LyingExecutor):
    """Refuses every program, as a policy might; `policy` and `error` are what it says of that."""

    policy = "nothing"
    error = ErrorInfo("PolicyViolation", "line 1: everything is forbidden")

    def describe(self):
        return dataclasses.replace(super().describe(), policy=self.policy)

    def submit(self, program):
        future = Future()
        future.set_result(ExecutionResult(Status.REFUSED, error=self.error))
        return future


def outcomes(make, names=None):
    return {found.check: found for found in examine(make, names)}


def test_a_policy_may_keep_programs_from_modules_and_not_from_plain_python():
    found = outcomes(RefusingExecutor)
    assert found["streams_are_apart"].outcome == "declared"
    assert found["streams_are_apart"].reason == "nothing: line 1: everything is forbidden"
    assert found["output_comes_back"].outcome == "fails"
    assert "plain Python" in found["output_comes_back"].reason


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("policy", "", "names no policy"),
        ("error", None, "does not say why"),
        ("error", ErrorInfo("PolicyViolation", "forbidden"), "does not name the line"),
    ],
)
def test_a_refusal_has_to_be_declared_and_clear(attribute, value, words):
    found = outcomes(type("Vague", (RefusingExecutor,), {attribute: value}))["streams_are_apart"]
    assert found.outcome == "fails"
    assert words in found.reason


class ModestExecutor(type(make_executor("subprocess"))):
    """Declares that it runs neither notebooks nor peers; whether it refuses them is up to `refuses`."""

    refuses = True

    def describe(self):
        return dataclasses.replace(super().describe(), notebooks=False, peer="none", enforces=TIME)

    def submit(self, program):
        if self.refuses and (program.notebook or program.peer is not None):
            raise UnsupportedProgram("neither notebooks nor peers")
        return super().submit(program)


TIME = frozenset({"cpu_s", "wall_s", "output_bytes"})


def test_what_an_executor_declares_it_has_to_refuse():
    checks = {check.__name__: check for check in CHECKS}
    with ModestExecutor() as modest:
        assert checks["cells_share_the_programs_names"](modest) == "runs no notebooks"
        assert checks["stdin_tests_are_judged"](modest) == "joins no program to a peer"
        assert checks["memory_is_limited"](modest) == "does not enforce memory_bytes"
        assert checks["output_comes_back"](modest) is None
    with type("Careless", (ModestExecutor,), {"refuses": False})() as careless:
        for name in ("cells_share_the_programs_names", "stdin_tests_are_judged"):
            with pytest.raises(ConformanceFailure, match=r"describe\(\) says that it cannot be run"):
                checks[name](careless)


def test_a_failed_check_is_an_assertion_for_test_runners():
    assert issubclass(ConformanceFailure, AssertionError)


def test_one_command_prints_the_table(monkeypatch):
    monkeypatch.setattr(out, "width", 120)  # Where cells are not folded.
    done = CliRunner().invoke(app, ["conformance", f"restricted={json.dumps(RESTRICTED)}"])
    assert done.exit_code == 0, done.output
    lines = [[cell.strip() for cell in line.split("│")] for line in done.output.splitlines()]
    table = {cells[1]: cells[2] for cells in lines if len(cells) == 4}
    assert set(table) == {check.__name__ for check in CHECKS + LIFE_CHECKS}
    assert (table["processes_are_limited"], table["output_comes_back"]) == ("declared", "holds")
    hold = list(table.values()).count("holds")
    assert hold == 61
    assert f"restricted: {hold} of {len(table)} hold, {len(table) - hold} declared, 0 fail" in done.output


def test_some_checks_run_alone():
    chosen = ["closing_is_idempotent_and_final", "output_comes_back"]
    options = [word for name in chosen for word in ("--check", name)]
    done = CliRunner().invoke(app, ["conformance", *options, "--json"])
    assert json.loads(done.stdout) == {"local": {name: {"outcome": "holds", "reason": ""} for name in chosen}}
    done = CliRunner().invoke(app, ["conformance", "--check", "output_comes"])
    assert done.exit_code == 2
    assert "no check 'output_comes'; near are output_comes_back;" in " ".join(done.output.split())
    done = CliRunner().invoke(app, ["conformance", "--check", "output_come_back"])
    assert done.exit_code == 2
    assert "no check 'output_come_back'; did you mean 'output_comes_back'?" in " ".join(done.output.split())


REPLAYED = [f"code_env.testing.{name}" for name in ("reading_and_writing", "sessions", "verdicts")]
"""Where the checks are whose promises other code keeps than that of `e2b`: what it shares with `subprocess`."""


def names_for_e2b():
    """All checks but for a part of those, and for the burst: there a dozen at once show the same as 32."""
    names = {check.__name__: check.__module__ in REPLAYED for check in CHECKS + LIFE_CHECKS}
    del names["a_burst_is_served"]
    chosen = sample([name for name, is_replayed in names.items() if is_replayed], 4)
    return {*chosen, *(name for name, is_replayed in names.items() if not is_replayed)}


def test_all_checks_hold_for_e2b_but_for_what_it_declares(cloud, monkeypatch):
    for variable, value in cloud.environment.items():
        monkeypatch.setenv(variable, value)
    names = names_for_e2b()
    found = outcomes(partial(make_executor, "e2b"), names)
    assert set(found) == names
    assert {name: one.outcome for name, one in found.items() if one.outcome != "holds"} == {
        "processes_are_limited": "declared"
    }


@pytest.mark.parametrize(
    ("executor", "words"),
    [
        ("locl", "did you mean 'local'?"),
        ('local={"worker": 2}', "local does not take these arguments"),
        ("local=[2]", "must be a JSON object"),
        ("local={", "must be a JSON object"),
    ],
)
def test_an_executor_that_cannot_be_made_is_one_line(executor, words):
    done = CliRunner().invoke(app, ["conformance", executor])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_a_failure_is_exit_code_1(monkeypatch):
    monkeypatch.setattr("code_env.cli.conformance.open_executor", lambda name, **_: LyingExecutor())
    done = CliRunner().invoke(app, ["conformance", "local"])
    assert done.exit_code == 1
    assert "output_comes_back: status and output" in done.output


def test_check_executor_raises_with_all_that_fails():
    all_checks = len(CHECKS) + len(LIFE_CHECKS)
    words = rf"(?s)of {all_checks} checks fail:\n.*\noutput_comes_back: the"
    with pytest.raises(ConformanceFailure, match=words) as failed:
        check_executor(RefusingExecutor)
    assert "plain Python" in failed.value.failures["output_comes_back"]
    assert "streams_are_apart" not in failed.value.failures


@pytest.mark.parametrize("make", [CodeExecEnv, CodeExecVectorEnv])
def test_an_environment_refuses_an_executor_that_cannot_judge(make):
    with ModestExecutor() as modest, pytest.raises(UnsupportedProgram, match="joins no program to a peer"):
        make(executor=modest)
    assert modest.describe().peer == "none"
