"""Programs in other languages in an image: the image's own interpreter runs them, in the same jail."""

import dataclasses
from functools import partial

import pytest

from adversarial.batches import breaches
from adversarial.loading import javascript_abuses, javascript_answers, javascript_hacks
from code_env import AssertTest, CallTest, ImageError, Limits, Program, StdinTest, Task, judge_many
from code_env.abuses import SHORT, Abuse, settle
from code_env.images import prepare_images
from images.in_image import InImage
from images.rootfs import add_programs, make_root
from support import HONEST, local
from tiers import sample

ABUSES = javascript_abuses()


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    root = make_root(tmp_path_factory.mktemp("image") / "root")
    add_programs(root, "bash", "cat", "node")
    return str(root)


@pytest.fixture(scope="module")
def inside(image):
    with InImage(image, ("javascript", "bash")) as executor:
        yield executor


def test_the_images_interpreter_runs_them_on_its_files(inside):
    code = "console.log(process.execPath, require('fs').readFileSync('/etc/motd', 'utf8').trim(), process.cwd())"
    result = inside.run(Program(code, "javascript"))
    assert result.stdout == "/bin/node an image /sandbox/run/work\n", result
    result = inside.run(Program('echo "$BASH" "$(< /etc/motd)" "$PWD"; read line; echo "$line"', "bash", stdin="in\n"))
    assert result.stdout == "/bin/bash an image /sandbox/run/work\nin\n", result


def test_limits_hold(inside):
    ends = {
        "for (;;);": "timeout",
        "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));": "memory",
        "require('fs').writeFileSync('/etc/motd', 'x')": "error",
    }
    # On a slow machine it takes seconds to fill the memory.
    limits = {"timeout": Limits(cpu_s=1, wall_s=60), "memory": Limits(cpu_s=60, wall_s=200)}
    programs = [Program(code, "javascript", limits=limits.get(end, Limits())) for code, end in ends.items()]
    results = inside.run_many(programs)
    assert [str(result.status) for result in results] == list(ends.values()), results


def test_answers_are_judged(image):
    call = CallTest((3,), expected=9)
    add = "const n = require('fs').readFileSync('/etc/motd').length;\nfunction f(x) { return x * n / 3; }"
    tests = (call, AssertTest("assert(f(6) === 18)", language="javascript"))
    functions = Task("f", "", tests, entry_point="f", language="javascript", image=image)
    script = Task("read", "", (StdinTest("a", "an image a"),), language="bash", image=image)
    answers = [(functions, add), (functions, add.replace("/ 3", "/ 2"))]
    answers += [(script, 'read line; echo "$(< /etc/motd) $line"'), (script, "cat")]
    with local("full") as executor:
        told = [(verdict.outcome, verdict.fraction) for verdict in judge_many(answers * 2, executor)]
    assert told == [("pass", 1.0), ("fail", 0.0), ("pass", 1.0), ("fail", 0.0)] * 2


def test_variables_of_the_image_are_there(image, tmp_path, monkeypatch):
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))  # No part of the build, although it is in there.
    build_file = tmp_path / "Dockerfile"
    build_file.write_text(f"FROM {image}\nENV GREETING=hello HOME=/root OPENSSL_CONF=x\n")
    prepare_images([str(build_file)])
    codes = {"javascript": "console.log(process.env.GREETING, process.env.HOME, process.env.OPENSSL_CONF)"}
    codes["bash"] = "echo $GREETING $HOME $OPENSSL_CONF"
    with local("full") as executor:
        told = [executor.run(Program(code, name, image=str(build_file))).stdout for name, code in codes.items()]
    assert told == ["hello /sandbox/run/work /dev/null\n", "hello /sandbox/run/work x\n"]


def test_no_hack_earns_anything(inside, some):
    honest = javascript_answers()
    names = sample(honest, 6)  # What judges them is the same outside.
    verdicts = judge_many([honest[name] for name in names], inside)
    told = {name: [case.message for case in v.cases] for name, v in zip(names, verdicts, strict=True) if not v.passed}
    assert told == {}
    hacks = javascript_hacks()
    names = some(sample(hacks, 16), 16)
    verdicts = judge_many([hacks[name] for name in names], inside)
    assert {name: v.fraction for name, v in zip(names, verdicts, strict=True) if v.fraction != 0.0} == {}


def abuse(canaries, name):
    program = canaries.program(Abuse(name, "javascript", ABUSES[name], SHORT))
    return dataclasses.replace(program, language="javascript")


def test_no_abuse_gets_anywhere(inside, some, tmp_path):
    abuses = some([name for name in ABUSES if name != "reads homes"], 8)  # The image's own can be read.
    programs = {name: partial(abuse, name=name) for name in abuses}
    assert breaches(inside, programs, tmp_path, inside.run_many(HONEST), settle(inside)) == {}


def test_an_image_without_the_interpreter_says_so(tmp_path):
    root = make_root(tmp_path / "root")
    with local("full") as executor, pytest.raises(ImageError, match="has no node in /usr/local/sbin:"):
        executor.run(Program("1", "javascript", image=str(root)))
