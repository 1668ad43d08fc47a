"""`container` on a real engine: Podman, with an image that is made here."""

import os
import re
import shutil
import subprocess

import pytest

from code_env import CallTest, ExecutorError, ExecutorMisconfigured, Limits, Program, Status, Task, judge, make_executor
from code_env.executors.container import ContainerExecutor
from code_env.harness.process.watching import descendants
from code_env.integrations.eval_framework import CodeExecutionPassAtOne, CodeExecutionPassAtOneContext, Completion
from code_env.testing import CHECKS, LIFE_CHECKS
from executors.container_image import NAME, write_image
from support import PATIENCE_S, is_alive, wait_until

DECLARED = ("does not enforce processes", "runs no notebooks", "refuses packages")


def podman(*arguments):
    return subprocess.run(["podman", *arguments], check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    if shutil.which("podman") is None:
        pytest.skip("no podman; Debian and Ubuntu: apt-get install podman runc")
    works = subprocess.run(["podman", "info"], capture_output=True, text=True)
    if works.returncode:
        pytest.skip(f"podman does not work for this user: {works.stderr.strip()[-300:]}")
    if subprocess.run(["podman", "image", "exists", NAME]).returncode:
        podman("import", str(write_image(tmp_path_factory.mktemp("image") / "root.tar")), NAME)
    return NAME


@pytest.fixture(scope="module")
def container(image):
    with ContainerExecutor(image, workers=2) as executor:
        yield executor


# All checks hold; each program takes a container, so a sample of them runs here.
@pytest.mark.parametrize("check", [*CHECKS[::20], *LIFE_CHECKS[::4]], ids=lambda check: check.__name__)
def test_it_conforms(check, container, image):
    if check in CHECKS:
        reason = check(container)
    else:
        with ContainerExecutor(image, workers=2) as executor:
            reason = check(executor)
    assert reason is None or reason.startswith(DECLARED)


LOOK = """
import json, os, socket
def tried(do):
    try:
        do()
        return "done"
    except OSError as error:
        return type(error).__name__
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "user": os.getuid(),
    "capabilities": int(status["CapBnd"], 16),
    "gains": status["NoNewPrivs"].strip(),
    "root": tried(lambda: open("/x", "w")),
    "temporary": sorted(os.listdir("/tmp")),
    "line": tried(lambda: socket.create_connection(("1.1.1.1", 53), 2)),
    "links": os.listdir("/sys/class/net") if os.path.isdir("/sys/class/net") else ["lo"],
    "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
}))
"""


def test_a_program_finds_next_to_nothing(container):
    found = container.run(Program(LOOK)).stdout
    for part in ('"user": 65534', '"capabilities": 0', '"gains": "1"', '"root": "OSError"', '"line": "OSError"'):
        assert part in found
    assert '"links": ["lo"]' in found
    # Those that run the program, and what they keep in its own directory.
    assert int(re.search(r'"processes": (\d+)', found)[1]) < 12
    assert len(re.findall("code_env-", found)) == 2


def test_two_programs_have_two_containers(container):
    leave = Program("open('/tmp/left', 'w').write('x'); print(open('/proc/sys/kernel/hostname').read())")
    look = Program("import os; print(os.path.exists('/tmp/left'), open('/proc/sys/kernel/hostname').read())")
    first, second = container.run(leave), container.run(look)
    assert second.stdout.startswith("False")
    assert first.stdout.split()[-1] != second.stdout.split()[-1]


def test_a_hog_ends_itself_only(container):
    hog = Program("x = []\nwhile True: x.append(b'x' * (1 << 20))", limits=Limits(memory_bytes=1 << 28))
    bomb = Program("import os\nwhile True: os.fork()", limits=Limits(cpu_s=1, wall_s=3))
    task = Task("double", "", (CallTest((2,), expected=4),), entry_point="double")
    results = [container.submit(hog), container.submit(bomb)]
    assert results[0].result().status is Status.MEMORY
    assert results[1].result().status is not Status.OK
    assert judge(task, "def double(n): return 2 * n", container).passed


def test_nothing_is_left_over(image):
    others = set(descendants(os.getpid()))
    with ContainerExecutor(image, workers=1, ahead=2) as executor:
        assert executor.run(Program("print(1)")).stdout == "1\n"
        ours = set(descendants(os.getpid())) - others
        assert len(ours) >= 2
    wait_until(lambda: not [pid for pid in ours if is_alive(pid)])


def test_why_no_engine_works_is_said(image, monkeypatch, tmp_path):
    with pytest.raises(ExecutorMisconfigured, match=r"in the image 'localhost/no-such:1': podman: .*; docker"):
        make_executor("container", image="localhost/no-such:1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExecutorMisconfigured, match="podman is not installed; docker is not installed"):
        make_executor("container", image=image)


def test_what_an_engine_says_is_told_once_with_the_next_step(monkeypatch, tmp_path):
    said = "No such image\n\nRun 'docker run --help' for more"
    (tmp_path / "docker").write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 125\n')
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/nowhere")
    with pytest.raises(ExecutorMisconfigured) as refused:
        make_executor("container", image="tools:1", engine="docker")
    assert str(refused.value).count("No such image") == 1
    assert "--help" not in str(refused.value)
    assert "`docker pull tools:1`" in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"image": "--privileged"}, "image must be the name"),
        ({"engine": "lxc"}, "'podman' or 'docker'"),
        ({"workers": 0}, "workers"),
        ({"memory_bytes": 1000}, "memory_bytes"),
        ({"languages": ["cobol"]}, "javascript"),
        ({"network": 1}, "network"),
    ],
)
def test_arguments_are_checked(arguments, words):
    with pytest.raises(ExecutorError, match=words):
        ContainerExecutor(**{"image": NAME} | arguments)


def test_contexts_of_eval_framework_run_in_their_image(image):
    context = CodeExecutionPassAtOneContext(
        run_env=image, code_prompt="", test_code="assert f(2) == 4", package_downloads={"json": None}
    )
    for code, value in (("def f(n): return n * n", 1.0), ("def f(n): return n", 0.0)):
        (result,) = CodeExecutionPassAtOne().calculate(Completion(completion=code, context=context))
        assert result.value == value
