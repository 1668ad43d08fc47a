"""Programs in an image: its files and its Python, in the same jail, judged as anywhere."""

import dataclasses
import os
import pickle
import shutil
from pathlib import Path

import pytest

import code_env
from code_env import (
    AssertTest,
    CallTest,
    ImageError,
    ImageNotPrepared,
    Limits,
    Outcome,
    Program,
    Status,
    StdinTest,
    Task,
    TaskError,
    UnsupportedProgram,
    judge_many,
    load_suite,
    make_executor,
)
from code_env.executors.remote.messages import program_data, program_from
from code_env.images import ImageCache, prepare_images
from code_env.testing import CHECKS
from images.archives_made import packed_tar
from images.in_image import KINDS_OF_ABUSE, InImage, breaches_of_kind
from images.rootfs import make_root
from support import kill_servers, local


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return str(make_root(tmp_path_factory.mktemp("image") / "root"))


@pytest.fixture(scope="module")
def inside(image):
    with InImage(image) as executor:
        yield executor


def test_a_program_finds_the_image_and_not_the_host(inside, image):
    code = """
import os, sys, of_the_image
print(of_the_image.ANSWER, sys.executable, open("/etc/motd").read().strip(), sorted(os.listdir("/")))
print(os.path.exists("/tmp/hidden"), os.listdir("/.code_env"))
print(os.path.expanduser("~"), __import__("pwd").getpwuid(os.getuid()).pw_name, os.getcwd())
for name in ("code_env", "numpy", "pytest"):
    try:
        __import__(name)
    except ImportError as error:
        print(error.name)
"""
    result = inside.run(Program(code))
    shown = sorted({*os.listdir(image), ".code_env", "dev", "proc", "sandbox", "tmp", "var"} - {"run"})
    assert result.stdout.splitlines() == [
        f"42 /usr/local/bin/python3 an image {shown}",
        "False []",
        "/sandbox/run/work sandbox /sandbox/run/work",
        *("code_env", "numpy", "pytest"),
    ], result


def test_it_cannot_be_changed(inside, image):
    code = """
import os
for what in (lambda: open("/etc/motd", "a"), lambda: os.unlink("/etc/motd"), lambda: os.mkdir("/usr/new"),
             lambda: os.chmod("/etc/motd", 0), lambda: open("/new", "w"), lambda: os.rename("/usr", "/other")):
    try:
        what()
        print("done")
    except OSError:
        pass
"""
    assert inside.run(Program(code)).stdout == ""
    assert sorted(os.listdir(image + "/etc")) == ["motd", "passwd"]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_conforms(check, inside):
    assert check(inside) is None


@pytest.mark.parametrize("kind", KINDS_OF_ABUSE)
def test_no_abuse_gets_anywhere(kind, inside, some, tmp_path):
    """A part of those that run without an image: what holds them is the same, but for the files."""
    assert breaches_of_kind(inside, kind, some, tmp_path) == {}


ATTACK = """
import ctypes, os, platform
WORKED = []
def attempt(name, what, *arguments):
    try:
        result = what(*arguments)
    except OSError:
        return
    if result != -1:
        WORKED.append(name)
libc = ctypes.CDLL(None)
writable = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
attempt("become root", os.setuid, 0)
for path in (b"/etc", b"/.code_env/code_env", b"/usr", b"/"):
    attempt(f"remount {path}", libc.mount, None, path, None, ctypes.c_ulong(32 | 4096), None)
    attempt(f"set {path}", libc.syscall, 442, -100, path, 0, ctypes.byref(writable), ctypes.c_size_t(32))
    attempt(f"umount {path}", libc.umount2, path, 2)
    attempt(f"write to {path}", open, path.decode() + "/evil", "w")
attempt("change", open, "/etc/motd", "a")
attempt("kill", os.kill, -1, 0)
"""


def test_an_image_that_attacks_gets_nowhere(image, tmp_path):
    """What its interpreter runs when a server starts is not ours either. It has not yet become a program then."""
    hostile = shutil.copytree(image, tmp_path / "root", symlinks=True)
    (library,) = hostile.glob("usr/local/lib/python3*/json/__init__.py")
    library.write_text(library.read_text() + ATTACK)
    before = {path: path.lstat().st_mtime_ns for path in hostile.rglob("*")}
    with make_executor("local", workers=1, min_isolation="full") as executor:
        result = executor.run(Program("import json; print(json.WORKED)", image=str(hostile)))
    assert result.stdout == "[]\n", result
    assert {path: path.lstat().st_mtime_ns for path in hostile.rglob("*")} == before
    assert not (Path(code_env.__file__).parent / "evil").exists()


def test_answers_are_judged_in_it(image):
    tests = (
        CallTest((3,), expected=45, hidden=True),
        AssertTest("assert add(1) == 43", hidden=True),
        StdinTest("", "42\n"),
    )
    task = Task("t", "", tests, entry_point="add", image=image)
    right = "from of_the_image import ANSWER\ndef add(n): return n + ANSWER\nif __name__ == '__main__': print(ANSWER)"
    answers = [(task, right), (task, right.replace("n + ANSWER", "n")), (dataclasses.replace(task, image=""), right)]
    with make_executor("local", workers=2, min_isolation="full") as executor:
        told = [verdict.outcome for verdict in judge_many(answers * 2, executor)]
    assert told == [Outcome.PASS, Outcome.FAIL, Outcome.FAIL] * 2


def test_references_pass_in_it(inside):
    suite = load_suite("starter")
    verdicts = judge_many([(task, task.reference) for task in suite], inside)
    assert [task.id for task, verdict in zip(suite, verdicts, strict=True) if not verdict.passed] == []


def test_its_server_is_ended_and_started_again(inside):
    assert inside.run(Program("print(1)")).stdout == "1\n"
    kill_servers(inside)
    assert inside.run(Program("import of_the_image; print(2)")).stdout == "2\n"


def test_a_session_lives_in_it(image):
    with make_executor("local", min_isolation="full") as executor, executor.open_session(image=image) as session:
        session.run("import of_the_image")
        with session.fork(1)[0] as branch:
            assert branch.run("of_the_image.ANSWER").text == "42"


def test_an_archive_is_prepared_first(image, tmp_path, monkeypatch):
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))
    program = Program("print(open('/etc/motd').read())", image=str(packed_tar(tmp_path / "root.tar", image)))
    with make_executor("local", workers=1, min_isolation="full") as executor:
        with pytest.raises(ImageNotPrepared, match="code-env prepare SUITE"):
            executor.run(program)
        prepare_images([program.image])
        assert executor.run(program).stdout == "an image\n\n"
        assert ImageCache().prune(0) == []  # It is used.
    assert len(ImageCache().prune(0)) == 1


def without_python(root):
    (root / "etc").mkdir(parents=True)
    return str(root)


def with_an_old_python(root):
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/python3").write_text("#!/nothing\n")
    (root / "usr/bin/python3").chmod(0o755)
    return str(root)


UNFIT = {
    "no Python": (without_python, r"has no python3 in .*; programs need Python 3\.11 or newer there"),
    "a Python that does not start": (with_an_old_python, "programs cannot run in the image .*"),
    "nothing": (str, "does not exist"),
}


@pytest.mark.parametrize(("make", "told"), UNFIT.values(), ids=UNFIT)
def test_an_image_that_does_not_work_is_an_error(make, told, tmp_path):
    """And no verdict on a program."""
    with make_executor("local", workers=1, min_isolation="full") as executor:
        with pytest.raises(ImageError, match=told):
            executor.run(Program("1", image=make(tmp_path / "root")))
        assert executor.run(Program("print(1)")).stdout == "1\n"


def test_what_cannot_have_an_image_says_so(image):
    program = Program("1", image=image)
    with local("contained") as executor, pytest.raises(UnsupportedProgram, match="needs isolation level full"):
        executor.submit(program)
    with make_executor("subprocess") as executor, pytest.raises(UnsupportedProgram, match="in images"):
        executor.submit(program)
    with local("full") as executor, pytest.raises(ImageError, match="has no bash in /usr/local/sbin:"):
        executor.submit(dataclasses.replace(program, language="bash"))
    with pytest.raises(TaskError, match="an image has its own packages"):
        Program("1", image=image, packages=("numpy",))
    with pytest.raises(TaskError, match="must be the path or the name of an image"):
        Program("1", image=1)
    with pytest.raises(TaskError, match="which could be any directory of this machine"):
        program_from(pickle.loads(pickle.dumps(program_data(program))), None)


def test_limits_hold_in_it(inside):
    results = inside.run_many(
        [
            Program("while True: pass", limits=Limits(cpu_s=0.3, wall_s=20)),
            Program("x = bytearray(1 << 30)", limits=Limits(memory_bytes=64 << 20)),
        ]
    )
    assert [result.status for result in results] == [Status.TIMEOUT, Status.MEMORY]
