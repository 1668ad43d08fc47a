"""The site of the documents is built without a warning, and holds what readers and machines look for."""

import importlib
import os
import re
import subprocess

import pytest

import code_env
from support import PATIENCE_S, ROOT


def test_the_reference_has_every_public_name_once():
    listed = re.findall(r"^::: code_env\.(\w+)$", (ROOT / "docs" / "reference.md").read_text(), re.M)
    assert sorted(listed) == sorted(code_env.__all__)


def test_the_reference_names_nothing_else_that_is_not_there():
    deeper = re.findall(r"^::: (code_env\.[\w.]+)\.(\w+)$", (ROOT / "docs" / "reference.md").read_text(), re.M)
    assert ("code_env.rollout", "collect") in deeper
    assert len(set(deeper)) == len(deeper)
    assert [name for module, name in deeper if name not in importlib.import_module(module).__all__] == []


@pytest.mark.packaging
def test_the_site_is_built_without_a_warning(tmp_path):
    """In a copy of the checkout: what others build beside this test is not touched."""
    copy = tmp_path / "checkout"
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, cwd=ROOT)
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    command = "sed -i 's/^install dev$/:/' scripts/site && sh scripts/site"  # This environment has all that it needs.
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        cwd=copy,
        timeout=PATIENCE_S,
        env={
            **os.environ,
            "CODE_ENV_VENV": os.environ.get("VIRTUAL_ENV", os.path.dirname(os.path.dirname(os.sys.executable))),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    site = copy / "build" / "site"
    reference = (site / "docs" / "reference" / "index.html").read_text()
    assert "CPU time of all its processes together, in seconds." in re.sub(r"<[^>]+>", "", reference)
    assert (site / "docs" / "rewards.md").read_text() == (ROOT / "docs" / "rewards.md").read_text()
    machines = (site / "llms.txt").read_text()
    assert machines.startswith("# code_env\n\n> code_env is a Gymnasium environment")
    links = re.findall(r"\]\(([^)]+)\)", machines)
    assert len(links) > 25
    assert [link for link in links if not (site / link).is_file()] == []
    pages = [path.read_text(errors="replace") for path in site.rglob("*.html")]
    outside = {url for page in pages for url in re.findall(r'(?:src|href)="(https?://[^"/]+)', page)}
    assert not {url for url in outside if "font" in url or "cdn" in url}, outside
