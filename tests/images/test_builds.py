"""Images made from build files: each step runs once, in a jail, and nothing but the tree can change."""

import contextlib
import json
import os
import platform
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from code_env import ImageError, ImageNotPrepared, Program, judge_many, load_suite, make_executor
from code_env.images import ImageCache, building, prepare_images
from images.archives_made import packed_tar
from images.rootfs import add_programs, make_root
from support import PATIENCE_S, wait_until

TOOLS = ("sh", "cat", "chown", "chmod", "date", "ls", "ln", "mkdir", "mkfifo", "rm", "sleep")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A root file system with a shell, as a tar."""
    directory = tmp_path_factory.mktemp("base")
    root = make_root(directory / "root")
    add_programs(root, *TOOLS)
    (root / "usr/share").mkdir()
    (root / "usr/share/big").write_bytes(b"x" * 1_000_000)
    return packed_tar(directory / "base.tar", root)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return ImageCache(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def build(tmp_path, base, cache):
    """Builds an image from the lines of a build file after FROM; files in `tmp_path / "env"` can be copied."""
    path = tmp_path / "env/Dockerfile"
    path.parent.mkdir()

    def run(*lines, first=f"FROM {base}"):
        path.write_text("\n".join([first, *lines, ""]))
        return cache.prepare(str(path))[0]

    run.context = path.parent
    return run


def told(image, name):
    return Path(image.root, name).read_text().split()


def test_steps_make_an_image(build):
    (build.context / "app/inner").mkdir(parents=True)
    (build.context / "app/main.py").write_text("main")
    (build.context / "app/inner/run.sh").write_text("#!/bin/sh\n")
    (build.context / "app/empty").mkdir()
    (build.context / "app/inner/run.sh").chmod(0o700)
    (build.context / "data.txt").write_text("data")
    shutil.make_archive(str(build.context / "packed"), "gztar", build.context / "app")
    image = build(
        "ARG NAME=first",
        'ENV GREETING="hello $NAME" \\',
        "    PLACE=/srv/place",
        "LABEL a=b",
        "WORKDIR $PLACE",
        "WORKDIR below",
        "COPY app data.txt ./",
        "COPY data.txt other.txt",
        'COPY ["data.txt", "/opt/a b.txt"]',
        "ADD packed.tar.gz /unpacked",
        "COPY --chown=1:1 --chmod=755 data.txt /bin/tool",
        "USER nobody",
        'RUN echo "$GREETING|$NAME|$PWD" > told && chown 12:12 told && chmod 600 told',
        'SHELL ["/bin/sh", "-e", "-c"]',
        "RUN <<EOF",
        'python3 -c "import of_the_image; print(of_the_image.ANSWER)" > answer',
        "ln -s answer link",
        "EOF",
        'RUN ["/bin/sh", "-c", "cat answer link > both"]',
        'ENTRYPOINT ["x"]',
        "CMD y",
    )
    place = Path(image.root, "srv/place/below")
    assert (place / "told").read_text() == "hello first|first|/srv/place/below\n"
    assert (place / "both").read_text() == "42\n42\n"
    assert sorted(path.name for path in place.iterdir()) == sorted(
        ["answer", "both", "data.txt", "empty", "inner", "link", "main.py", "other.txt", "told"]
    )
    assert Path(image.root, "opt/a b.txt").read_text() == "data"
    assert Path(image.root, "unpacked/inner/run.sh").read_text() == "#!/bin/sh\n"
    executable = [place / "inner/run.sh", Path(image.root, "bin/tool")]
    assert [path.stat().st_mode & 0o777 for path in [*executable, place / "told"]] == [0o755, 0o755, 0o644]
    assert {name: image.variables[name] for name in ("GREETING", "PLACE")} == {
        "GREETING": "hello first",
        "PLACE": "/srv/place",
    }
    assert "NAME" not in image.variables


def test_an_answer_is_judged_in_it(build, tmp_path, cache, monkeypatch):
    build("RUN mkdir /srv/data && echo 7 > /srv/data/number", "ENV FACTOR=6")
    monkeypatch.setenv("CODE_ENV_CACHE", str(cache.directory.parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.jsonl").write_text(
        '{"id": "t", "prompt": "p", "image": "env/Dockerfile", "tests": [{"kind": "output", "expected": "42"}], '
        "\"reference\": \"import os\\nprint(int(open('/srv/data/number').read()) * int(os.environ['FACTOR']))\"}\n"
    )
    (task,) = load_suite("tasks.jsonl")
    with make_executor("local", min_isolation="full") as executor:
        assert [one.passed for one in judge_many([(task, task.reference), (task, "print(41)")], executor)] == [
            True,
            False,
        ]
        (tmp_path / "env/new").touch()  # The build file's directory has changed.
        with make_executor("local", min_isolation="full") as other, pytest.raises(ImageNotPrepared, match="prepare"):
            other.run(Program("1", image="env/Dockerfile"))
        command = [sys.executable, "-m", "code_env", "prepare", "tasks.jsonl"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "images: 1 made now, 0 were there or are directories" in ran.stdout + ran.stderr


def test_a_step_runs_once_for_all_builds(build):
    step = "RUN date +%s%N > /srv/id"
    first = told(build(step, "ENV A=1"), "srv/id")
    (build.context / "file").write_text("1")
    assert told(build(step, "COPY file /srv/"), "srv/id") == first
    (build.context / "file").write_text("2")
    copied = build("ENV B=1", "COPY file /srv/", step)
    assert told(copied, "srv/id") != first
    assert told(copied, "srv/file") == ["2"]
    # A variable is part of what a step depends on.
    assert told(build("ENV A=2", step), "srv/id") != first


def test_a_build_that_failed_goes_on_where_it_failed(build):
    step = "RUN date +%s%N > /srv/id"
    with pytest.raises(ImageError) as error:
        build(step, "RUN cat /srv/id && echo to stderr >&2 && exit 3")
    message = str(error.value)
    seen = message.splitlines()[-2]
    assert "Dockerfile:3: RUN: the exit code is 3" in message
    assert "no network" in message
    assert message.endswith("to stderr\n")
    assert told(build(step, "RUN true_is_no_file || echo mended"), "srv/id") == [seen]


def test_images_share_the_files_that_no_step_has_changed(build):
    one, other = build("RUN echo 1 > /srv/a"), build("RUN echo 1 > /srv/a", "RUN echo 2 >> /usr/share/big")
    kept, changed = (Path(image.root, "usr/share/big") for image in (one, other))
    assert (kept.stat().st_size, changed.stat().st_size) == (1_000_000, 1_000_002)
    names = ("usr/local/bin/python3", "srv/a")
    assert all(Path(one.root, name).samefile(Path(other.root, name)) for name in names)
    # A file with its old time, size and mode can have changed.
    trick = ["RUN python3 <<EOF", "import os", "about = os.stat('/srv/a')", "open('/srv/a', 'w').write('9\\n')"]
    trick += ["os.utime('/srv/a', ns=(about.st_atime_ns, about.st_mtime_ns))", "EOF"]
    assert told(build("RUN echo 1 > /srv/a", *trick), "srv/a") == ["9"]
    assert told(one, "srv/a") == ["1"]


def test_a_directory_to_begin_with_is_copied(build, tmp_path):
    root = tmp_path / "env/root"
    add_programs(root, "sh", "cat")
    (root / "name").write_text("1\n")
    image = build("RUN echo 2 >> /name", first="FROM ./root")
    assert (told(image, "name"), (root / "name").read_text()) == (["1", "2"], "1\n")
    (root / "name").write_text("3\n")
    os.utime(root / "name", (1, 1))
    assert told(build("RUN echo 2 >> /name", first="FROM ./root"), "name") == ["3", "2"]


def test_copy_follows_a_link_and_keeps_names_and_times(build):
    (build.context / "one").write_text("1")
    os.utime(build.context / "one", (1e9, 1e9))
    (build.context / "two").write_text("1")
    (build.context / "link").symlink_to("one")
    begin, first = "WORKDIR /dir", "FROM scratch"
    images = [build(begin, f"COPY {name} /dir", first=first) for name in ("one", "two", "link")]
    assert [os.listdir(f"{image.root}/dir") for image in images] == [["one"], ["two"], ["link"]]
    copied = os.lstat(f"{images[2].root}/dir/link")
    assert (copied.st_size, copied.st_mtime) == (1, 1e9)


def test_a_build_knows_for_which_machine_it_is(build):
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    image = build(
        "ARG TARGETARCH", "ARG TARGETPLATFORM=none", "ENV A=$TARGETARCH-$TARGETPLATFORM", first="FROM scratch"
    )
    assert image.variables["A"] == f"{machine}-linux/{machine}"


def test_an_image_can_begin_with_nothing(build):
    (build.context / "file").write_text("1")
    image = build("COPY file /deep/file", first="FROM scratch")
    assert [str(path.relative_to(image.root)) for path in Path(image.root).rglob("*")] == ["deep", "deep/file"]


@pytest.fixture
def listening():
    """The address of a server on this machine, and who has connected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


def connecting(server, code=""):
    host, port = server.getsockname()
    return f"RUN python3 -c \"import socket; socket.create_connection(('{host}', {port}), 20).sendall(b'x'){code}\""


def test_a_step_has_no_network_unless_it_is_allowed(build, listening, cache):
    with pytest.raises(ImageError, match="Connection refused"):
        build(connecting(listening))
    received = []

    def receive():
        with listening.accept()[0] as connection:
            received.append(connection.recv(1))

    thread = threading.Thread(target=receive)
    thread.start()
    _, made = cache.prepare(str(build.context / "Dockerfile"), network=True)
    thread.join()
    assert (received, made) == ([b"x"], True)


def test_a_step_sees_and_changes_only_its_tree(build, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a secret of this machine")
    code = f"""
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
print("secret", os.path.exists({str(secret)!r}), os.path.exists("/proc/1/root{secret}"))
print("processes", sorted(int(name) for name in os.listdir("/proc") if name.isdigit())[-1] < 100)
print("user", os.getuid(), open("/proc/self/uid_map").read().split()[2])
print("chroot", libc.chroot(b"/srv"))
print("mount", libc.mount(b"none", b"/srv", b"tmpfs", 0, None))
print("unshare", libc.unshare(0x10000000))
print("mknod", libc.mknod(b"/srv/disk", 0o60600, os.makedev(8, 0)))
print("reboot", libc.reboot(0))
print("setuid", libc.setuid(12), libc.chown(b"/etc/motd", 12, 12), os.getuid())
print("net", os.listdir("/sys") if os.path.exists("/sys") else [])
with open("/dev/null", "w") as null, open("/dev/zero", "rb") as zero:
    print("devices", null.write("x"), zero.read(1))
os.makedirs("/srv/locked/inner")
open("/srv/locked/inner/file", "w").write("x")
os.chmod("/srv/locked/inner", 0), os.chmod("/srv/locked", 0)
os.mkfifo("/srv/pipe")
os.symlink("{secret}", "/srv/link")
os.chmod("/srv", 0o1777)
"""
    (build.context / "look.py").write_text(code)
    image = build("COPY look.py /srv/look.py", "RUN python3 /srv/look.py > /srv/told")
    assert Path(image.root, "srv/told").read_text().splitlines() == [
        "secret False False",
        "processes True",
        "user 0 1",
        *(f"{name} -1" for name in ("chroot", "mount", "unshare", "mknod", "reboot")),
        "setuid 0 0 0",
        "net []",
        "devices 1 b'\\x00'",
    ]
    assert sorted(os.listdir(f"{image.root}/srv")) == ["link", "locked", "look.py", "told"]
    assert told(image, "srv/locked/inner/file") == ["x"]
    assert secret.read_text() == "a secret of this machine"


def test_what_a_step_leaves_running_ends_with_it(build):
    beside = "(while :; do echo x >> /srv/beside; sleep 0.05; done) > /dev/null 2>&1 &"
    image = build(f"RUN {beside} sleep 0.3", "RUN ls /proc > /srv/processes")
    grown = Path(image.root, "srv/beside")
    size = grown.stat().st_size
    assert [name for name in told(image, "srv/processes") if name.isdigit()] == ["2", "3"]
    time.sleep(0.3)
    assert grown.stat().st_size == size > 0


def test_a_step_has_a_time_limit(build, monkeypatch):
    monkeypatch.setattr(building, "STEP_S", 1.0)
    with pytest.raises(ImageError, match="Dockerfile:2: RUN: it ran for more than 1 s"):
        build("RUN sleep 1000")


_BUILDS = """
import sys
from pathlib import Path
from code_env.images import ImageCache
print(ImageCache(Path(sys.argv[1])).prepare(sys.argv[2])[1])
"""
"""Prints whether it made the image."""


def test_a_build_that_is_killed_leaves_nothing(build, base, tmp_path):
    """What has made a step's file and waits ends too, the step counts as never run, and the cache can be emptied."""
    first, waits, cache = "RUN echo 1 > /srv/first", f"sleep {random.randrange(10**6, 10**9)}", ImageCache(tmp_path)
    (build.context / "Dockerfile").write_text(f"FROM {base}\n{first}\nRUN echo 2 > /srv/second && {waits}\n")
    directory = cache.layers.directory
    command = [sys.executable, "-c", _BUILDS, str(tmp_path), str(build.context / "Dockerfile")]
    with subprocess.Popen(command) as process:
        wait_until(lambda: list(directory.glob("*.partial/tree/srv/second")) or process.poll() is not None)
        assert running(waits)
        process.kill()
    wait_until(lambda: not running(waits))
    assert [list(path.path.glob("srv/second")) for path in cache.layers.entries()] == [[], []]
    cache.prune(0)
    cache.layers.prune(0)
    assert (list(directory.iterdir()), cache.entries()) == ([], [])
    (build.context / "Dockerfile").write_text(f"FROM {base}\n{first}\n")
    assert told(cache.prepare(str(build.context / "Dockerfile"))[0], "srv/first") == ["1"]


def running(command):
    """Whether a process runs this command of a shell."""
    found = False
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found |= command in path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def test_directories_that_are_too_deep_are_removed_too(build, cache):
    code = "import os\nfor _ in range(3000): os.mkdir('d' * 9), os.chdir('d' * 9)"
    with pytest.raises(ImageError, match=r"Dockerfile:2: RUN: \[Errno 36\] File name too long"):
        build(f"RUN {json.dumps(['python3', '-c', code])}")
    assert list(cache.layers.directory.glob("*.partial")) == []


def test_no_link_of_an_image_leads_a_step_out(build, tmp_path):
    (tmp_path / "outside").mkdir()
    (build.context / "file").write_text("1")
    links = f"RUN ln -s {tmp_path}/outside /srv/out && ln -s ../../../../../..{tmp_path}/outside /srv/up"
    image = build(links, "COPY file /srv/out/a", "WORKDIR /srv/up/b", "COPY file .")
    inside = Path(f"{image.root}{tmp_path}/outside")
    assert sorted(str(path.relative_to(inside)) for path in inside.rglob("*")) == ["a", "b", "b/file"]
    assert os.listdir(tmp_path / "outside") == []
    (build.context / "bad").mkdir()
    add_programs(build.context / "bad", "sh")
    (build.context / "bad/dev").symlink_to(tmp_path / "outside")
    with pytest.raises(ImageError, match="/dev of the image is a link"):
        build("RUN echo", first="FROM ./bad")
    assert os.listdir(tmp_path / "outside") == []


REFUSED = {
    "COPY none /x": "none is not in",
    "COPY ../secret /x": "../secret is not in",
    "COPY out /x": "out is not in",
    "COPY ${x#y} /x": r"\$\{x#y\} is not supported",
    "COPY file": "a source and a target were expected",
    "COPY --chmod=u+x file /x": "--chmod=u\\+x is not supported",
    "ADD https://example.org/x /x": "only files of the build file's directory",
    "SHELL sh": "a JSON array of words was expected",
    'RUN ["none", "x"]': "the image has no program none",
}


@pytest.mark.parametrize(("line", "message"), REFUSED.items(), ids=REFUSED)
def test_an_instruction_that_cannot_be_done_says_why(line, message, build, tmp_path):
    (tmp_path / "secret").touch()
    (build.context / "file").touch()
    (build.context / "out").symlink_to("../secret")
    with pytest.raises(ImageError, match=f"Dockerfile:2: {line.partition(' ')[0]}: .*{message}"):
        build(line)


def test_from_names_what_there_is(build, base, tmp_path):
    for first, message in {
        "FROM ./none.tar": "Dockerfile:1: FROM: the image .*none.tar does not exist",
        "FROM ./other.Dockerfile": "is a build file; FROM needs an image that is built already",
        "FROM a b": "the name of an image was expected",
    }.items():
        (build.context / "other.Dockerfile").touch()
        with pytest.raises(ImageError, match=message):
            build(first=first)
    image = build("RUN echo $TAR > /srv/told", first=f"ARG TAR={base.name}\nFROM {base.parent}/${{TAR}} AS one")
    assert told(image, "srv/told") == []
    image = build("ARG TAR", "RUN echo $TAR > /srv/told", first=f"ARG TAR={base.name}\nFROM {base.parent}/$TAR")
    assert told(image, "srv/told") == [base.name]


@pytest.fixture
def name_in_podman(base):
    """The name of an image that Podman has."""
    if shutil.which("podman") is None:
        pytest.skip("no podman; Debian and Ubuntu: apt-get install podman runc")
    name = "localhost/code_env_test_of_images:1"
    made = subprocess.run(["podman", "import", "--change", "ENV A=engine", base, name], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"podman does not work for this user: {made.stderr.strip()[-300:]}")
    yield name
    subprocess.run(["podman", "rmi", name], capture_output=True)


def test_an_image_of_an_engine_is_taken_by_its_name(name_in_podman, cache, tmp_path):
    (image,), made = prepare_images([name_in_podman], cache=cache)
    assert (made, image.source, image.variables["A"]) == (1, name_in_podman, "engine")
    assert Path(image.root, "usr/share/big").stat().st_size == 1_000_000
    assert cache.find(name_in_podman).root == image.root
    path = tmp_path / "Dockerfile"
    path.write_text(f"FROM {name_in_podman}\nRUN echo $A > /srv/a\n")
    assert told(cache.prepare(str(path))[0], "srv/a") == ["engine"]
    with pytest.raises(ImageError, match=r"podman pull` failed for localhost/code_env_test_of_nothing"):
        cache.prepare("localhost/code_env_test_of_nothing:1")
    with pytest.raises(ImageError, match="--help is neither a path nor the name of an image"):
        cache.prepare("--help")


def test_two_that_build_the_same_do_it_once(build, cache):
    path = build.context / "Dockerfile"
    build()
    path.write_text(path.read_text() + "RUN sleep 0.5; date +%s%N > /srv/id\n")
    command = [sys.executable, "-c", _BUILDS, str(cache.directory.parent), str(path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(one.communicate(timeout=PATIENCE_S)[0] for one in both) == ["False\n", "True\n"]
    assert not list(cache.directory.parent.rglob("*.partial"))
