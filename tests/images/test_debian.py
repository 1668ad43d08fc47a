"""A root file system of Debian's packages, made here: nothing in it was made for these tests."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from code_env import Program, judge_many, load_suite
from code_env.images import prepare_images
from code_env.testing import CHECKS
from images.in_image import KINDS_OF_ABUSE, InImage, breaches_of_kind
from support import PATIENCE_S

PACKAGES = "bash,coreutils,dash,libc-bin,python3"


def sources(folder):
    """The machine's own sources of packages, without those of source code, which mmdebstrap refuses."""
    places = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.list"))]
    lines = [line for place in places if place.is_file() for line in place.read_text().splitlines()]
    (folder / "kept.list").write_text("\n".join(line for line in lines if line.startswith("deb ")) + "\n")
    kept = [folder / "kept.list"]
    for place in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
        kept.append(folder / place.name)
        kept[-1].write_text(re.sub(r"(?m)^Types:.*$", "Types: deb", place.read_text()))
    return kept


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """An image in the cache. No script of a package has run in it: that takes a tenth of the time."""
    if shutil.which("mmdebstrap") is None:
        pytest.skip("mmdebstrap is not installed: apt-get install mmdebstrap")
    folder = tmp_path_factory.mktemp("debian")
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    made = ["--variant=extract", f"--include={PACKAGES}", release["VERSION_CODENAME"], folder / "debian.tar"]
    done = subprocess.run(
        ["mmdebstrap", "--quiet", *made, *sources(folder)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODE_ENV_CACHE", str(folder / "cache"))
        prepare_images([str(folder / "debian.tar")])
        yield str(folder / "debian.tar")


@pytest.fixture(scope="module")
def inside(image):
    with InImage(image) as executor:
        yield executor


def test_a_program_runs_on_debians_python(inside):
    code = "import sys, platform; print(sys.executable, platform.freedesktop_os_release()['ID'])"
    assert inside.run(Program(code)).stdout == "/usr/bin/python3 debian\n"


def test_all_references_of_humaneval_pass_in_it(inside, data):
    suite = load_suite(data / "humaneval/HumanEval.jsonl.gz")
    verdicts = judge_many([(task, task.reference) for task in suite], inside)
    assert sum(verdict.passed for verdict in verdicts) == len(suite) == 164


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_conforms(check, inside):
    assert check(inside) is None


@pytest.mark.parametrize("kind", KINDS_OF_ABUSE)
def test_no_abuse_gets_anywhere(kind, inside, some, tmp_path):
    # That one reads the image's own /etc/hostname, which mmdebstrap has put there.
    assert breaches_of_kind(inside, kind, some, tmp_path, ["looks into everybody's home"]) == {}
