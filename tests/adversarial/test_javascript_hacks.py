"""No hack in JavaScript earns anything, on any executor that runs it; canaries tell whether any got out of its jail.

Each hack is judged on one of the tasks in tasks_javascript.py, and an honest answer to it passes: what a hack gets is
its own doing.
"""

import dataclasses
from functools import partial

import pytest

from adversarial.batches import breaches
from adversarial.loading import javascript_abuses, javascript_answers, javascript_hacks
from code_env import Limits, Outcome, Program, judge_many
from code_env.abuses import SHORT, Abuse, settle
from support import local, somewhere
from tiers import sample

HACKS = javascript_hacks()
HONEST = javascript_answers()
ABUSES = javascript_abuses()


@pytest.fixture(scope="module", params=["full", "contained", "subprocess"])
def executor(request):
    with somewhere(request.param) as made:
        yield made


def on(executor, programs, one_in):
    """The verdict is made by the same code on every executor: all programs run on the best one, a sample on others."""
    return list(programs) if executor.describe().level == "full" else sample(programs, one_in)


def test_honest_answers_pass(executor):
    names = on(executor, HONEST, 8)
    verdicts = dict(zip(names, judge_many([HONEST[name] for name in names], executor), strict=True))
    assert {name: v for name, v in verdicts.items() if (v.outcome, v.fraction) != (Outcome.PASS, 1.0)} == {}


def test_no_hack_earns_anything(executor, some):
    names = some(on(executor, HACKS, 20), 6)
    verdicts = dict(zip(names, judge_many([HACKS[name] for name in names], executor), strict=True))
    earning = {
        name: verdict
        for name, verdict in verdicts.items()
        if verdict.outcome not in (Outcome.FAIL, Outcome.POLICY_ERROR) or verdict.fraction != 0.0
    }
    assert earning == {}


@pytest.mark.parametrize("level", ["full", "contained"])
def test_a_process_cannot_read_its_own_memory(level):
    """Beside tests it would find them there."""
    code = (
        "try { require('fs').openSync('/proc/self/mem'); console.log('open'); }\n"
        "catch (error) { console.log(error.code); }"
    )
    with local(level) as executor:
        assert executor.run(Program(code, language="js")).stdout in ("EACCES\n", "ENOENT\n")


@pytest.fixture(scope="module")
def fresh(jail):
    """What programs find where nothing was done; the servers for JavaScript are there by then."""
    jail.run_many([Program("setTimeout(() => {}, 200)", language="js")] * 4)
    return settle(jail)


def abuse(canaries, name):
    program = canaries.program(Abuse(name, "javascript", ABUSES[name], SHORT))
    return dataclasses.replace(program, language="js")


def test_no_abuse_gets_anywhere(fresh, jail, some, alone, tmp_path):
    programs = {name: partial(abuse, name=name) for name in some(ABUSES, 8)}
    assert breaches(jail, programs, tmp_path, alone, fresh) == {}
    looks = jail.run_many([Program("console.log(require('fs').readdirSync('.'))", language="js")] * 4)
    assert {look.stdout for look in looks} == {"[ 'main.js' ]\n"}


def test_threads_are_counted_in(jail):
    """Their time and their memory are the program's."""
    code = (
        "const { Worker } = require('worker_threads');\n"
        "for (let i = 0; i < 2; i++) new Worker('for (;;);', { eval: true });\nsetTimeout(() => {}, 60000);"
    )
    assert jail.run(Program(code, language="js", limits=Limits(cpu_s=1, wall_s=20))).status == "timeout"


def test_processes_that_a_task_allows_are_counted(jail):
    code = (
        "const { spawn, execSync } = require('child_process');\nconsole.log(String(execSync('echo one')).trim());\n"
        "const children = [0, 1, 2, 3].map(() => spawn('sleep', ['30']));\nlet refused = 0;\n"
        "for (const child of children) child.on('error', () => { refused += 1; });\n"
        "setTimeout(() => { console.log(refused); process.exit(); }, 500);"
    )
    result = jail.run(Program(code, language="js", limits=Limits(processes=2)))
    assert result.stdout == "one\n2\n", result
