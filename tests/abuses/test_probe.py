"""The probe tells a sandbox that holds from one that does not."""

import collections
import dataclasses

import pytest

from code_env import ExecutorError, make_executor
from code_env.abuses import ABUSES, SELECTION, Abuse, probe, settle
from code_env.executors.subprocess import UnisolatedSubprocessExecutor

HARMLESS = (
    "reads a secret by its many names",
    "connects to a port of the host's",
    "writes to a file of the host's that anybody may write to",
)


class SaysItIsolates(UnisolatedSubprocessExecutor):
    """Isolates nothing, and says that it does."""

    def submit(self, program):
        # Tests that run at the same time come and go in the machine's own.
        return super().submit(dataclasses.replace(program, code=program.code.replace("listing('/dev/shm')", "None")))

    def describe(self):
        return dataclasses.replace(super().describe(), level="contained")


def test_the_selection_has_some_of_every_kind():
    assert collections.Counter(abuse.kind for abuse in SELECTION) == dict.fromkeys({a.kind for a in ABUSES}, 3)


def test_an_executor_that_isolates_nothing_is_refused():
    with make_executor("subprocess") as executor, pytest.raises(ExecutorError, match="isolates nothing"):
        next(probe(executor))


def test_what_gets_somewhere_is_told():
    abuses = [abuse for abuse in ABUSES if abuse.name in HARMLESS]
    assert len(abuses) == len(HARMLESS)
    with SaysItIsolates(workers=2) as executor:
        findings = {finding.name: finding for finding in probe(executor, abuses)}
    assert not any(finding.held for finding in findings.values())
    assert "a secret came out" in findings[HARMLESS[0]].detail
    assert "something came in" in findings[HARMLESS[1]].detail
    assert "files were changed" in findings[HARMLESS[2]].detail


def test_what_a_program_says_of_itself_is_told(executor):
    (finding,) = probe(executor, [Abuse("says so", "files", "print('BREACH', 42)")])
    assert not finding.held
    assert "BREACH 42" in finding.detail


def test_an_executor_whose_programs_find_different_things_is_not_probed():
    class Forgets(SaysItIsolates):
        number = 0

        def submit(self, program):
            self.number += 1
            return super().submit(dataclasses.replace(program, code=f"{program.code}\nprint({self.number})"))

    with Forgets(workers=2) as executor, pytest.raises(ExecutorError, match="do not find the same"):
        settle(executor)
